"""The varying pace of a machine, over times of any length."""

import pytest

from tidegate.sim.pace import DRAWS, SLOT, Pace

ROUND = DRAWS * SLOT


@pytest.mark.parametrize("begin", [0.0, 7.0, 12_345.6])
@pytest.mark.parametrize("length", [3.0, 1000.0, ROUND - 1, ROUND + 100, 5 * ROUND + 77, 1e9])
def test_what_is_done_until_a_time_is_done_then(begin: float, length: float) -> None:
    pace = Pace(seed=3, noise=0.2)
    work = pace.worth(begin, begin + length)
    assert pace.after(begin, work) == pytest.approx(begin + length, rel=1e-9)


def test_whole_rounds_add_up() -> None:
    pace = Pace(seed=3, noise=0.2)
    one = pace.worth(0, ROUND - SLOT) + pace.worth(ROUND - SLOT, ROUND)
    assert pace.worth(0, 3 * ROUND + 40) == pytest.approx(3 * one + pace.worth(0, 40))


def test_years_of_work_are_no_work() -> None:
    # 1e17 seconds have 7e15 slots, which cannot be walked through
    assert Pace(seed=3, noise=0.2).after(0.0, 1e17) == pytest.approx(1e17, rel=0.1)
