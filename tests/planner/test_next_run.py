import math

import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.planner.averaging import AveragedCapacity, SlotsInterval, average
from tidegate.planner.measurement import Measurement
from tidegate.planner.next_run import Narrowing, best_run, narrowing
from tidegate.planner.validation import validate


def noisy(runs: int, rng: np.random.Generator) -> AveragedCapacity:
    slots = ((48, 1, 5, 47, 12, 2, 18, 46) * 4)[:runs]
    return average([measured(s, rng) for s in slots])


def measured(slots: int, rng: np.random.Generator) -> Measurement:
    return Measurement(slots, 512, 1000 * slots**0.85 * math.exp(0.05 * rng.standard_normal()))


def width(interval: SlotsInterval) -> float:
    assert interval.low is not None
    assert interval.high is not None
    return math.log(interval.high / interval.low)


def test_the_expected_interval_is_what_runs_then_give_on_average() -> None:
    before, expected, actual = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        capacity = noisy(10, rng)
        run = narrowing(capacity, 96, 150_000)
        before.append(width(run.before))
        expected.append(width(run.after))
        actual += [width(capacity.with_measurement(measured(96, rng)).slots_interval(150_000)) for _ in range(4)]
    assert np.mean(expected) < 0.9 * np.mean(before)
    assert np.mean(expected) == pytest.approx(float(np.mean(actual)), rel=0.25)


def test_a_run_between_testbed_and_target_is_worth_more_than_another_in_the_testbed() -> None:
    capacity = noisy(10, np.random.default_rng(1))
    assert best_run(capacity, (1, 48, 96), 150_000).slots == 96


def test_the_sentence() -> None:
    before = SlotsInterval(100, 150, 200)
    assert Narrowing(96, 512, before, SlotsInterval(120, 150, 180)).sentence == (
        "one more run at 96 slots would narrow the answer from 100-200 slots to 120-180"
    )
    assert Narrowing(1, 512, before, SlotsInterval(99, 150, 201)).sentence == (
        "one more run at 1 slot is not expected to narrow the answer, 100-200 slots"
    )
    unbounded = SlotsInterval(1_000, None, None)
    assert Narrowing(96, 512, unbounded, SlotsInterval(1_200, 1_500, 1_800)).sentence == (
        "one more run at 96 slots would narrow the answer from 1,000 or more slots to 1,200-1,800"
    )


def test_nothing_to_choose_from_is_refused() -> None:
    with pytest.raises(InvalidInput, match="next run: need at least one number of slots to choose from, got none"):
        best_run(noisy(3, np.random.default_rng(1)), (), 150_000)


def test_a_validation_run_agrees_or_not() -> None:
    capacity = average([Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16, 32)])
    assert validate(capacity, Measurement(128, 512, 125_000.0)).agrees
    hidden_limit = validate(capacity, Measurement(128, 512, 64_000.0))
    assert not hidden_limit.agrees
    assert hidden_limit.sentence.startswith("the run with 128 slots reached 64 k records/s, below the ")
