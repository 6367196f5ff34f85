"""What the needs promise, on simulated micro-batches: a peak that an SLO absorbs, and a recovery in time."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tidegate.core import Batch
from tidegate.planner.averaging import Interval
from tidegate.planner.needs.peak import absorbed, peak_of
from tidegate.planner.needs.recovery import RecoveryTarget
from tidegate.profiling.autoscaled_day import Day, autoscaled_day
from tidegate.profiling.learnt_model import paced
from tidegate.score.trace import Cumulative
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.workloads import Steps

MODEL = BatchModel("q1", fixed=0.5, overhead=0.02, tasks=30, noise=0.0)
TRIGGER = 4.0


@pytest.mark.parametrize("slo", [10.0, 40.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bursts_that_the_slo_absorbs_make_no_record_late(seed: int, slo: float) -> None:
    random = Random(seed)
    # a tenth of the steps of 2 s has up to nine times as many records as the others
    levels = tuple(5e4 + 4e5 * random.random() * (random.random() < 0.1) for _ in range(1800))
    load = Steps(3600, levels)
    peak = peak_of(load, absorbed(TRIGGER, slo))
    assert slo < 20.0 or peak.rate < 0.5 * load.highest()
    day = Day(load, TRIGGER, slo, maximum=10, policy="static")
    assert autoscaled_day(MODEL, Interval(peak.rate, peak.rate, peak.rate), day).static.late == 0.0
    little = 0.5 * peak.rate
    assert (autoscaled_day(MODEL, Interval(little, little, little), day).static.late or 0.0) > 0.0


def recovery(capacity: float, rate: float, target: RecoveryTarget) -> float:
    """Seconds without the outage, with batches of at most a trigger, as a plan limits them."""
    # after 100 s everything is there at once that an outage and two triggers leave behind
    left = rate * (target.outage + target.uncommitted)
    load = Steps(500, (rate,) * 100 + (rate + left,) + (rate,) * 399)
    query = Query(TRIGGER, limit=capacity * TRIGGER)
    engine = MicroBatchEngine(paced(MODEL, 10, TRIGGER, capacity), query, Cumulative.of(load), 10)
    batches: list[Batch] = []
    for time in np.arange(1.0, 499.0):
        engine.sleep_until(float(time))
        batches += engine.observe().batches
    full = [batch for batch in batches if batch.end - batch.begin > 0.999 * query.limit]
    return full[-1].finished - full[0].planned


def test_recovery_takes_the_time_that_was_planned() -> None:
    target, rate = RecoveryTarget(within=180.0, outage=60.0, trigger=TRIGGER), 50_000.0
    needed = target.capacity_for(rate)
    # 120 s remain after the outage; the last batches are not full
    assert recovery(needed, rate, target) == pytest.approx(120.0, abs=2 * TRIGGER)
    # 68 s of 50,000/s at 90 % of 78,333, less 50,000: 166 s
    assert recovery(0.9 * needed, rate, target) == pytest.approx(166.0, abs=2 * TRIGGER)
    assert target.seconds(0.9 * needed, rate) == pytest.approx(60 + 166, abs=1)
