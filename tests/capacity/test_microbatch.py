"""Waves of tasks, and how they spread the work over slots."""

import pytest

from tidegate.capacity.microbatch import Layout

EIGHT_TASKS = Layout(((8, 1.0),))


def test_waves_and_spread() -> None:
    # 8 tasks: 8 waves on 1 slot, 3 on 3 (the last with 2 tasks), 2 on 4 to 7, 1 from 8 on
    assert [EIGHT_TASKS.waves(n) for n in (1, 2, 3, 4, 7, 8, 20)] == [8, 4, 3, 2, 2, 1, 1]
    # 1 / 4 on 4 and still on 7 slots; 1 / 8 from 8 on
    assert [EIGHT_TASKS.spread(n) for n in (1, 4, 7, 8, 20)] == [1, 0.25, 0.25, 0.125, 0.125]
    # with 2 cores each, 2 executors are 4 slots
    assert Layout(((8, 1.0),), cores=2).spread(2) == 0.25


def test_stages_run_one_after_the_other() -> None:
    # 4 slots: 2 waves of 8 tasks and 1 of 3; three quarters of the work at 2 / 8, one quarter at 1 / 3
    layout = Layout(((8, 0.75), (3, 0.25)))
    assert layout.waves(4) == 3
    assert layout.spread(4) == pytest.approx(0.75 / 4 + 0.25 / 3)


def test_without_stages_all_slots_are_used() -> None:
    assert (Layout().waves(5), Layout().spread(5)) == (1, 0.2)
