import math

import pytest

from tidegate.planner.estimator.belief import Belief
from tidegate.planner.estimator.verdict import Limit, Outcome


def belief(*outcomes: Outcome, noise: float = 0.02) -> Belief:
    return Belief.of(outcomes, noise, threshold=0.01)


def sustained(rate: float) -> Outcome:
    return Outcome(rate, True, rate)


def failed(rate: float, reached: float = 0.0) -> Outcome:
    return Outcome(rate, False, reached)


def test_the_median_of_two_bounds_is_half_way_between_their_logarithms() -> None:
    # both bounds are equally blurred, and shifted by 0.01 - 0.02 / sqrt(2 pi) = 0.002
    assert belief(sustained(100.0), failed(400.0)).median == pytest.approx(200 / math.exp(0.002), rel=0.01)


def test_a_rate_that_almost_passed_measures_the_capacity() -> None:
    result = belief(sustained(90.0), failed(105.0, reached=100.0))
    assert result.median == pytest.approx(100, rel=0.002)
    # normal with a deviation of 2 %
    assert result.quantile(0.84) / 100 - 1 == pytest.approx(0.02, abs=0.004)
    assert result.error == pytest.approx(0.02, abs=0.004)


def test_a_heavy_overload_is_a_hint_only() -> None:
    bounds = (sustained(50.0), failed(200.0))
    hinted = belief(*bounds[:1], failed(200.0, reached=80.0))
    assert hinted.median == pytest.approx(80, rel=0.02)
    assert hinted.error > 0.05
    # the hint was wrong: 110 was sustained, and the median is well above it
    assert belief(sustained(110.0), failed(200.0, reached=80.0)).median > 115


def test_an_outcome_that_all_others_contradict_is_wrong() -> None:
    outcomes = [sustained(100.0), sustained(101.0), failed(104.0), failed(106.0)]
    assert belief(*outcomes, noise=0.01).median == pytest.approx(102, rel=0.01)
    assert belief(*outcomes, failed(90.0), noise=0.01).median == pytest.approx(102, rel=0.01)


def test_contradicting_outcomes_leave_a_wide_distribution_with_its_median_between_them() -> None:
    agreeing = belief(sustained(100.0), failed(110.0), noise=0.01)
    contradicting = belief(sustained(110.0), failed(100.0), sustained(50.0), failed(200.0), noise=0.01)
    assert contradicting.error > 2 * agreeing.error
    assert 90 < contradicting.median < 120


def test_latency_and_failures_say_nothing_about_how_far_below_the_capacity_is() -> None:
    late = Outcome(200.0, False, reached=199.0)
    dead = Outcome(200.0, False, reached=0.0, limit=Limit.FAILURE)
    assert (
        belief(sustained(100.0), late).median == belief(sustained(100.0), dead).median == pytest.approx(141, rel=0.01)
    )


def test_what_varies_more_says_less() -> None:
    outcomes = (sustained(100.0), failed(110.0, reached=104.0))
    assert belief(*outcomes, noise=0.01).error < belief(*outcomes, noise=0.03).error


def test_quantiles_stay_on_the_grid() -> None:
    result = belief(sustained(100.0))
    assert result.quantile(0.0) == pytest.approx(50)
    assert result.quantile(1.0) == pytest.approx(200)
