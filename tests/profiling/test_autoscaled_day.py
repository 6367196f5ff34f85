from dataclasses import replace

import pytest

from tidegate.capacity.profiletext import text
from tidegate.core import InvalidInput, ProfilePoint, UnknownName
from tidegate.planner.averaging import Interval
from tidegate.profiling.autoscaled_day import Day, autoscaled_day
from tidegate.sim.batch_model import BatchModel
from tidegate.workloads import Steps, Wave

#: a day in an hour: 10,000 to 70,000 records/s
LOAD = Wave(3600, mean=40_000, swing=30_000, period=3600, shift=0.5)
MODEL = BatchModel("q1", fixed=0.3, overhead=0.02, cost=1e-4, tasks=24, noise=0.0)
PACE = Interval(70_000.0, 80_000.0, 90_000.0)
DAY = Day(LOAD, trigger=4.0, slo=20.0, maximum=8)


def test_the_policy_against_static_executors() -> None:
    day = autoscaled_day(MODEL, PACE, DAY)
    assert (day.policy, day.seconds, day.minimum, day.maximum, day.slo) == ("hpa-cpu", 3600.0, 1, 8, 20.0)
    # 8 * 3,600
    assert day.static.worker_seconds == 28_800.0
    assert day.static.mean == 8.0
    assert day.static.late == 0.0
    assert 3.0 < day.scaled.mean < 7.5
    assert day.saved == pytest.approx(1 - day.scaled.worker_seconds / 28_800.0)
    # the less they can do, the more there must be
    assert day.strong.mean < day.scaled.mean < day.weak.mean
    assert day.executors == (day.strong.mean, day.weak.mean)


def test_the_same_day_is_the_same_again() -> None:
    assert autoscaled_day(MODEL, PACE, DAY) == autoscaled_day(MODEL, PACE, DAY)


def test_it_stays_within_its_bounds() -> None:
    day = autoscaled_day(MODEL, PACE, replace(DAY, minimum=6))
    assert day.strong.mean >= 6.0
    assert max(day.scaled.most, day.weak.most, day.strong.most) <= 8


def test_options_of_the_policy_count() -> None:
    busy = autoscaled_day(MODEL, PACE, replace(DAY, options={"target": 0.9}))
    assert busy.scaled.mean < autoscaled_day(MODEL, PACE, replace(DAY, options={"target": 0.5})).scaled.mean


def test_a_policy_that_takes_a_profile_has_that_of_the_plan() -> None:
    profile = text([ProfilePoint(n, 10_000.0 * n, 8.0, saturated=True) for n in (1, 2, 8)])
    day = autoscaled_day(MODEL, PACE, replace(DAY, policy="phoebe", profile=profile))
    assert day.policy == "phoebe"
    # without a profile it knows no capacity, and keeps the executors of the start
    assert day.scaled.mean != autoscaled_day(MODEL, PACE, replace(DAY, policy="phoebe")).scaled.mean


def test_what_cannot_be_simulated() -> None:
    with pytest.raises(InvalidInput, match=r"^autoscaled day: need 1 <= minimum <= 8 executors, got 9$"):
        replace(DAY, minimum=9)
    with pytest.raises(InvalidInput, match=r"^autoscaled day: need a trace of more than 15 s, it has 8$"):
        autoscaled_day(MODEL, PACE, replace(DAY, load=Steps(8, levels=(1e4, 2e4))))
    with pytest.raises(UnknownName):
        autoscaled_day(MODEL, PACE, replace(DAY, policy="hpa-cup"))
