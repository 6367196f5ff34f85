"""StreamBed's selection."""

import math

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.least_squares import LINEAR, PAPER
from tidegate.planner.measurement import Measurement
from tidegate.planner.selection import best_prefix, extrapolation_error, loo_error, select, split_by_slots


def points(*pairs: tuple[int, float]) -> list[Measurement]:
    return [Measurement(slots, 512, rate) for slots, rate in pairs]


def test_the_leave_one_out_error_is_a_root_mean_square() -> None:
    # lines through the other two: 2 * 20 - 33 = 7 at 1, (10 + 33) / 2 = 21.5 at 2, 30 at 3; errors -3, 1.5, -3
    data = points((1, 10.0), (2, 20.0), (3, 33.0))
    assert loo_error(LINEAR, data) == pytest.approx(math.sqrt((9 + 2.25 + 9) / 3))
    assert loo_error(LINEAR, data, error="mae") == pytest.approx((3 + 1.5 + 3) / 3)


def test_the_lower_half_predicts_the_upper_half() -> None:
    # the line through (1, 1) and (2, 2) predicts 3 and 4 where 5 and 7 were measured
    data = points((4, 7.0), (1, 1.0), (3, 5.0), (2, 2.0))
    assert extrapolation_error(LINEAR, data) == pytest.approx(math.sqrt((4 + 9) / 2))
    assert extrapolation_error(LINEAR, data, error="mae") == pytest.approx(2.5)


def test_of_an_odd_number_the_middle_one_has_few_slots() -> None:
    few, many = split_by_slots(points((3, 3.0), (1, 1.0), (2, 2.0)))
    assert [m.slots for m in few] == [1, 2]
    assert [m.slots for m in many] == [3]


def test_the_released_code_splits_at_half_the_largest_number_of_slots() -> None:
    # 9 // 2 = 4: few are less than 4
    few, many = split_by_slots(points((9, 9.0), (3, 3.0), (4, 4.0), (2, 2.0), (8, 8.0)), split="slots")
    assert [m.slots for m in few] == [2, 3]
    assert [m.slots for m in many] == [4, 8, 9]


@pytest.mark.parametrize("split", ["half", "slots"])
@pytest.mark.parametrize("name", [model.name for model in PAPER])
def test_the_model_that_made_the_data_is_selected(name: str, split: str) -> None:
    model = next(model for model in PAPER if model.name == name)
    truth = model.fit(points((1, 100.0), (16, 400.0)))
    data = points(*((s, truth.predict(s, 512)) for s in (1, 2, 4, 8, 12, 16)))
    assert select(PAPER, data, split).name == name


def test_the_prefix_with_the_smallest_error_is_kept() -> None:
    # exact until the seventh
    data = points(*((s, 10.0 * s) for s in (1, 9, 3, 5, 7, 2)), (4, 70.0), (6, 10.0))
    assert len(best_prefix(LINEAR, data)) in {5, 6}
    assert len(best_prefix(LINEAR, data, shortest=7)) == 7
    assert len(best_prefix(LINEAR, data[:3])) == 3


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(InvalidInput, match="leave-one-out error: need at least 2 measurements, got 1"):
        loo_error(LINEAR, points((1, 1.0)))
    with pytest.raises(InvalidInput, match="need measurements with few and with many slots, got 2 at 4 slots"):
        extrapolation_error(LINEAR, points((4, 1.0), (4, 1.0)), split="slots")
    with pytest.raises(InvalidInput, match="need split to be one of half, slots, got 'middle'"):
        extrapolation_error(LINEAR, points((1, 1.0), (2, 2.0)), split="middle")
    with pytest.raises(InvalidInput, match="need error to be one of rmse, mae, got 'mape'"):
        loo_error(LINEAR, points((1, 1.0), (2, 2.0)), error="mape")
