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
from tests.conformance.simulated import Simulated

from tidegate.control import control
from tidegate.core import Batch, Decision, Limits, QueryEnded, Tick
from tidegate.presets import PRESETS, autoscaler
from tidegate.score import Latencies
from tidegate.workloads import Constant, Shape, Steps, Wave, named

LIMITS = Limits(1, 8)
LATE = 30.0
#: an executor does 10,000 records/s, less a half second of every batch
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
    # jumps of the walk every minute: it believes its forecasts, and leaves each rescale alone for three minutes
    "daedalus": Bound(late=0.70, cost=0.75),
    "dhalion": Bound(late=0.90, cost=0.70),
    "ds2": Bound(late=0.80, cost=0.65),
    "dstreams": Bound(late=0.40, cost=0.90),
    "flink-operator": Bound(late=0.55, cost=0.85, options=HOUR),
    "flink-reactive": Bound(late=0.05, cost=0.99),
    "hpa-cpu": Bound(late=0.20, cost=0.80),
    "hpa-varga": Bound(late=0.20, cost=0.80),
    "keda-lag": Bound(late=0.20, cost=0.75),
    "phoebe": Bound(late=0.85, cost=0.65, options={"interval": 120.0, "downtime": 20.0}),
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
    engine = Simulated(shape, executors=2, most=MOST)
    further = {"profile": profile} if "profile" in PRESETS[policy].own else {}
    scaler = autoscaler(policy, LIMITS, {**bound.options, **further})
    return result(shape, list(control(engine, scaler, engine)))


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


def result(shape: Shape, ticks: list[Tick]) -> Result:
    batches = [batch for tick in ticks for batch in tick.observation.batches]
    executors = [tick.observation.executors for tick in ticks]
    return Result(
        offered=shape.total(shape.duration),
        processed=sum(batch.end - batch.begin for batch in batches),
        late=Latencies(batches, shape.total).share_above(LATE),
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


def observed(engine: Simulated, until: int) -> list[Batch]:
    """The batches that finish until then."""
    found: list[Batch] = []
    for second in range(until + 1):
        engine.sleep_until(second)
        found.extend(engine.observe().batches)
    return found


def test_a_batch_takes_its_overhead_and_its_records_share_of_the_slots() -> None:
    engine = Simulated(Constant(100, level=10_000), executors=2, noise=0, warmup=0)
    spans = [(b.planned, round(b.finished - b.planned, 6), b.end) for b in observed(engine, 36)]
    # nothing has arrived at 0; then 100,000 records every 10 s: 0.5 + 100000 * 0.0001 / 2
    assert spans == [(10, 5.5, 100_000), (20, 5.5, 200_000), (30, 5.5, 300_000)]


def test_a_slot_runs_whole_tasks() -> None:
    engine = Simulated(Constant(100, level=10_000), executors=5, noise=0, warmup=0, tasks=48)
    (first, *_) = observed(engine, 20)
    assert first.finished - first.planned == pytest.approx(0.5 + 10 * 10 / 48)  # 48 = 3 * 10 + 2 * 9


def test_a_late_batch_is_followed_at_once_and_then_by_the_grid() -> None:
    engine = Simulated(Constant(20, level=12_000), executors=1, noise=0, warmup=0)
    spans = [(b.planned, round(b.finished, 6)) for b in observed(engine, 60)]
    # 120,000 at 10: 0.5 + 12 s; 120,000 by 20, taken at 22.5: until 35
    assert spans == [(10, 22.5), (22.5, 35)]


def test_a_batch_takes_no_more_than_its_limit() -> None:
    engine = Simulated(Constant(20, level=12_000), executors=8, noise=0, warmup=0, most=90_000)
    assert [b.end for b in observed(engine, 60)] == [90_000, 180_000, 240_000]
    assert observed(engine, 20) == []


def test_executors_come_after_their_time_and_their_first_batch_is_slow() -> None:
    engine = Simulated(Constant(100, level=10_000), executors=1, noise=0, startup=8, warmup=3)
    observed(engine, 5)
    engine.scale(Decision(2, "more"))
    assert (engine.observe().requested, engine.observe().executors) == (2, 1)
    engine.sleep_until(12.9)
    assert engine.observe().executors == 1
    engine.sleep_until(13)
    assert engine.observe().executors == 2
    took = [round(b.finished - b.planned, 6) for b in observed(engine, 45)]
    # 100,000 on one: 0.5 + 10 + 3; from 23.5 on two, of which one is new: 135,000 records, 0.5 + 6.75 + 3
    assert took[:2] == [13.5, 10.25]


def test_executors_leave_between_two_batches() -> None:
    engine = Simulated(Constant(100, level=10_000), executors=4, noise=0, warmup=0)
    engine.sleep_until(11)
    engine.scale(Decision(1, "fewer"))
    assert (engine.observe().requested, engine.observe().executors) == (1, 4)
    engine.sleep_until(13)  # the batch of 10 took 0.5 + 2.5 s
    assert engine.observe().executors == 1


def test_figures_are_those_of_the_load() -> None:
    engine = Simulated(Constant(200, level=20_000), executors=4, noise=0, warmup=0)
    observed(engine, 100)
    obs = engine.observe()
    assert obs.arrival_rate == pytest.approx(20_000)
    assert obs.processing_rate == pytest.approx(20_000)
    assert obs.latency == pytest.approx(15.5)  # 10 s until the trigger, 0.5 + 200000 * 0.0001 / 4 s of work
    assert (obs.trigger, obs.batch_duration) == (10, 5.5)
    assert sum(stage.busy or 0 for stage in obs.operators) == pytest.approx(2.0)  # 20 slot-seconds in 10 s


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    def ticks(seed: int) -> list[Tick]:
        engine = Simulated(WORKLOADS["walk"], executors=2, seed=seed, drain=0)
        return list(control(engine, autoscaler("hpa-cpu", LIMITS), engine))

    assert ticks(1) == ticks(1)
    assert ticks(1) != ticks(2)


def test_the_query_ends_after_its_workload_and_the_drain() -> None:
    engine = Simulated(Constant(10, level=1), drain=5)
    engine.sleep_until(15)
    assert engine.observe().time == 15
    engine.sleep_until(16)
    with pytest.raises(QueryEnded):
        engine.observe()


def test_no_load_means_no_batches() -> None:
    engine = Simulated(Constant(60, level=0), executors=1)
    assert observed(engine, 60) == []
