import pytest

from tidegate.core import InvalidInput
from tidegate.planner.tasks import Tasks


def test_the_largest_task_bounds_what_slots_are_worth() -> None:
    # 100 tasks, the largest 1.25 times the mean: never more than 100 / 1.25 = 80 slots' worth
    tasks = Tasks(partitions=100, skew=0.25)
    assert tasks.effective(50) == 50
    assert tasks.effective(99) == 50  # still two waves
    assert tasks.effective(100) == 80


def test_partitions_for_an_amount_of_work() -> None:
    assert Tasks(100).partitions_for(120.0) == 120
    assert Tasks(100, skew=0.25).partitions_for(120.0) == 150  # 120 * 1.25


def test_no_partitions_and_negative_skew_are_refused() -> None:
    with pytest.raises(InvalidInput, match="tasks: need partitions >= 1, got 0"):
        Tasks(0)
    with pytest.raises(InvalidInput, match="tasks: need 0 <= skew, got -1"):
        Tasks(8, skew=-1.0)
