"""Every preset in the closed loop, on a simulated query that needs 1 to 8 executors: what it must reach.

A record is late after 30 s: with a trigger of 10 s a query that keeps up needs at most 20. Cost is worker-seconds, as a
share of eight executors all the time. Bounds are what was measured, and some room; a new preset gets `UNKNOWN` until it
has a row of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tidegate.control import ticks as ticks_of
from tidegate.core import Limits, Tick
from tidegate.presets import PRESETS, autoscaler
from tidegate.score import Cumulative
from tidegate.score.latency import LatencyDistribution
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.workloads import Shape, Steps, Wave, named

LIMITS = Limits(1, 8)
LATE = 30.0
#: an executor does 10,000 records/s, less a half second of every batch
MODEL = BatchModel(
    "simulated", fixed=0.5, overhead=0.0, cost=1e-4, tasks=48, stages=2, first=0.7, passed=0.5, startup=8.0, leave=0.0,
    cold=3.0, noise=0.03,
)  # fmt: skip
#: seconds between observations
PERIOD = 3.0
#: time to finish after the workload's end
DRAIN = 300.0
WORKLOADS: Mapping[str, Shape] = {
    "step": Steps(2400, levels=(15_000, 60_000, 25_000)),
    "sine": Wave(2400, mean=35_000, swing=27_000, period=2400, shift=0.5),
    "spike": Steps(2400, levels=(20_000, 20_000, 20_000, 60_000, *[20_000] * 6)),
    "walk": Steps(2400, levels=named("random").levels[:40]).scaled(peak=60_000),  # type: ignore[attr-defined]
}
#: records of a batch: those of eight executors in a trigger interval
MOST = 800_000
#: durations of an hour's run for policies whose own are made for days
HOUR = {
    "metrics-window": 120.0,
    "stabilization-interval": 30.0,
    "catch-up-duration": 300.0,
    "restart-time": 10.0,
    "scale-down-interval": 120.0,
}


@dataclass(frozen=True)
class Bound:
    """At most this share late and this cost, on the worst of the workloads; with these options."""

    late: float
    cost: float
    options: Mapping[str, float | str] = field(default_factory=dict)


UNKNOWN = Bound(late=0.9, cost=1.0)
BOUNDS: Mapping[str, Bound] = {
    # it gives one of two back as the sine begins to rise, and leaves each rescale alone for three minutes
    "daedalus": Bound(late=0.80, cost=0.70),
    "dhalion": Bound(late=0.95, cost=0.65),
    "ds2": Bound(late=0.70, cost=0.65),
    "dstreams": Bound(late=0.30, cost=0.80),
    "flink-operator": Bound(late=0.40, cost=0.75, options=HOUR),
    "flink-reactive": Bound(late=0.05, cost=0.99),
    "hpa-cpu": Bound(late=0.20, cost=0.80),
    "hpa-varga": Bound(late=0.20, cost=0.80),
    "keda-lag": Bound(late=0.05, cost=0.65),
    "phoebe": Bound(late=0.55, cost=0.90, options={"interval": 120.0, "downtime": 20.0}),
    # it gives back when there is nothing to do at all, which is after the load
    "spark-dra": Bound(late=0.05, cost=0.95),
    "static": Bound(late=0.0, cost=1.0),
    "twres": Bound(late=0.80, cost=0.88, options={"interval": 120.0, "window": 300.0}),
}


@dataclass(frozen=True)
class Result:
    offered: int
    processed: float
    late: float
    cost: float
    rescales: int
    most: int


def run(policy: str, workload: str, profile: str = "") -> Result:
    """`profile` is a file, for the policies that need one."""
    shape, bound = WORKLOADS[workload], BOUNDS.get(policy, UNKNOWN)
    arrivals = Cumulative.of(shape)
    engine = MicroBatchEngine(MODEL, Query(10.0, MOST, drain=DRAIN), arrivals, 2, seed=1)
    further = {"profile": profile} if "profile" in PRESETS[policy].own else {}
    scaler = autoscaler(policy, LIMITS, {**bound.options, **further})
    ticks = list(ticks_of(engine, scaler, engine, period=PERIOD))
    return result(shape, ticks, LatencyDistribution.at(engine.finished(), arrivals).share_above(LATE))


def profiled() -> str:
    """What profiling would show of the simulated query with 2, 4 and 8 executors, as CSV: the latency at a half, at
    three quarters and at all but all of what it can do, and what it does with too much.
    """
    rows = ["executors,rate,latency,saturated"]
    for executors in (2, 4, 8):
        most = 9_500 * executors  # 9.5 s of work in a trigger of 10 s
        rows += [f"{executors},{most * load:.0f},{10.5 + 9.5 * load:.2f},0" for load in (0.5, 0.75, 0.98)]
        rows += [f"{executors},{most},60,1"]
    return "\n".join(rows) + "\n"


def result(shape: Shape, ticks: list[Tick], late: float) -> Result:
    executors = [tick.observation.executors for tick in ticks]
    return Result(
        offered=shape.total(shape.duration),
        processed=sum(batch.end - batch.begin for tick in ticks for batch in tick.observation.batches),
        late=late,
        cost=sum(executors) / len(executors) / LIMITS.maximum,
        rescales=sum(tick.acted for tick in ticks),
        most=max(executors),
    )


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("policy", sorted(PRESETS))
def test_every_preset_reaches_its_bounds(policy: str, workload: str, tmp_path: Path) -> None:
    (tmp_path / "profile.csv").write_text(profiled())
    bound, found = BOUNDS.get(policy, UNKNOWN), run(policy, workload, str(tmp_path / "profile.csv"))
    assert found.processed >= 0.999 * found.offered
    assert found.late <= bound.late
    assert found.cost <= bound.cost
