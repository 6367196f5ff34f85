import math

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.inverse import smallest_slots
from tidegate.planner.least_squares import LINEAR, LOGARITHM
from tidegate.planner.measurement import Measurement


def test_a_rate_is_planned_with_ten_percent_more() -> None:
    fit = LINEAR.fit([Measurement(s, 512, 100.0 * s) for s in (2, 4)])
    assert smallest_slots(fit, 5_000, 512) == 55  # 1.1 * 5000 / 100
    assert smallest_slots(fit, 5_001, 512) == 56
    assert smallest_slots(fit, 1, 512) == 1


def test_the_limit_is_a_sentence_with_what_can_be_reached() -> None:
    fit = LOGARITHM.fit([Measurement(s, 512, 100 * math.log(s) + 1) for s in (2, 4)])
    # 100 ln 1599 + 1 = 738.7
    sentence = (
        "plan: no number of slots up to 1,599 holds 1 k records/s and 10 % more, "
        "the highest prediction is 739 records/s at 1,599 slots"
    )
    with pytest.raises(InvalidInput) as error:
        smallest_slots(fit, 1_000, 512, most=1_599)
    assert str(error.value) == sentence


@pytest.mark.parametrize(("rate", "headroom"), [(0, 1.1), (-1, 1.1), (math.nan, 1.1), (10, 0.9), (10, math.inf)])
def test_impossible_rates_and_headroom_are_refused(rate: float, headroom: float) -> None:
    fit = LINEAR.fit([Measurement(1, 512, 100.0)])
    with pytest.raises(InvalidInput, match=r"plan: need (a finite rate > 0|headroom >= 1), got"):
        smallest_slots(fit, rate, 512, headroom)
