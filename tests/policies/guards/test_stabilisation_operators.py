"""Windows in both directions for isolated operators, which stay between what was needed and what would have done."""

import pytest

from tidegate.core import Decision, Observation, OperatorSample, Target
from tidegate.policies.guards import Stabilisation


def wish(workers: int) -> Decision:
    return Decision(Target(workers, {"map": workers}), "wished")


def at(time: float, workers: int) -> Observation:
    operator = OperatorSample("map", parallelism=workers)
    return Observation(time, workers, workers, operators=(operator,), isolated=True)


@pytest.mark.parametrize(
    ("now", "settled"),
    [
        (3, 3),  # between the lowest and the highest wish of the windows
        (1, 2),  # two were the least
        (9, 5),  # five the most
        (2, 2),
        (5, 5),
    ],
)
def test_an_operator_stays_between_the_lowest_and_the_highest_of_its_windows(now: int, settled: int) -> None:
    guard = Stabilisation(down=60, up=60)
    guard.temper(wish(5), at(0, now))
    guard.temper(wish(2), at(10, now))
    assert guard.temper(wish(4), at(20, now)).executors == settled


def test_windows_end_each_at_its_own_time() -> None:
    guard = Stabilisation(down=60, up=30)
    guard.temper(wish(5), at(0, 3))
    guard.temper(wish(2), at(10, 3))
    assert guard.temper(wish(4), at(40, 3)).executors == 4  # the 2 is 30 s old: 4 is the least
    assert guard.temper(wish(4), at(60, 9)).executors == 4  # and the 5 is 60 s old: 4 is the most
