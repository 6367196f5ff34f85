import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.score import Cumulative, Finished, RunTrace
from tidegate.score.provision import Provision, provision

NONE = np.array([])


def trace(executors: list[float]) -> RunTrace:
    seen = np.array(executors)
    times = np.array([0.0, 10.0, 30.0, 40.0])
    return RunTrace(Cumulative(NONE, NONE), Finished(NONE, NONE, NONE), times, seen, seen, 40.0)


def test_too_many_and_too_few_do_not_make_up_for_each_other() -> None:
    # 10 s with 2 too many, 20 s with 1 too few, 10 s right; the last tick lasts no time
    found = provision(trace([4, 1, 2, 9]), np.array([2.0, 2.0, 2.0, 2.0]))
    assert found == Provision(over=20.0, under=20.0)


def test_the_oracle_needs_a_number_for_each_tick() -> None:
    with pytest.raises(InvalidInput, match=r"each tick, got 3 for 4"):
        provision(trace([1, 1, 1, 1]), np.array([1.0, 1.0, 1.0]))
