"""A run on a simulated engine, from its settings to what it leaves behind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tidegate.control import Autoscaler, control
from tidegate.core import Clock, Engine, InvalidInput, Tick
from tidegate.experiment.settings import Experiment
from tidegate.score.engine_limits import EngineLimits, Terms
from tidegate.score.oracle import Oracle, Task
from tidegate.score.oracle import oracles as solve
from tidegate.score.trace import Array, Cumulative, Finished, Move, RunTrace
from tidegate.sim.batch_model import BatchModel, Query, model
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.sim.operators import OperatorEngine
from tidegate.sim.pace import Pace
from tidegate.sim.papers import paper_query
from tidegate.workloads import Shape

#: told every tick
Watch = Callable[[Tick], None]


def simulate(e: Experiment, scaler: Autoscaler | None = None, watch: Watch = lambda tick: None) -> RunTrace:
    """Run the experiment on its simulator, with its own policy unless another autoscaler is given. A policy that needs
    a profile and has none gets that of profiling runs on the same simulator.
    """
    arrivals = offered(e)
    engine = _micro_batches(e, arrivals) if e.engine == "sim" else _operators(e)
    return _trial(e, arrivals, engine, _ticks(e, engine, scaler or _autoscaler(e), watch))


def _autoscaler(e: Experiment) -> Autoscaler:
    from tidegate.profiling.profile import with_profile  # noqa: PLC0415, which simulates too

    return with_profile(e).autoscaler()


def offered(e: Experiment) -> Cumulative:
    return _offered(e.load())


@lru_cache(maxsize=16)
def _offered(load: Shape) -> Cumulative:
    return Cumulative.of(load)


def batch_model(e: Experiment) -> BatchModel:
    """The model that the experiment names, or that of its job, with the experiment's partitions."""
    found = model(e.model or e.job)
    return replace(found, tasks=e.partition_count)


def capacity(e: Experiment, executors: int) -> float:
    """Records per second that so many executors can keep up."""
    if e.engine == "operators":
        return paper_query(e.model or e.job).graph.capacity_of(executors)
    if e.engine != "sim":
        raise InvalidInput(f"engine {e.engine}: its capacity is not known before it runs")
    found = batch_model(e)
    # batches that still end within the objective: the larger, the less what is fixed counts
    empty, each = found.parts(executors)
    records = max(1.0, (max(e.trigger, e.slo / 2) - empty) / each)
    return found.capacity(executors, e.trigger, records)


def oracles(es: Sequence[Experiment]) -> list[Oracle]:
    """The limit of each: what the fewest worker-seconds would be if all were known. They share job and limits."""
    first = es[0]
    tasks = [Task(offered(e), _until(e), _paces(e)) for e in es]
    terms = Terms(limits=first.limits, initial=first.first, slo=first.slo, step=first.period)
    return solve(_plant(first), tasks, terms)


def _plant(e: Experiment) -> EngineLimits:
    if e.engine == "operators":
        found = paper_query(e.model or e.job)
        curve = [0.0, *(found.graph.capacity_of(n) for n in range(1, e.maximum + 1))]
        return EngineLimits(
            tuple(curve),
            startup=0.0,
            outage=min(found.settings.outage_up, found.settings.outage_down),
            floor=found.settings.floor,
        )
    made = batch_model(e)
    curve = [0.0, *(_most(made, e, n) for n in range(1, e.maximum + 1))]
    return EngineLimits(tuple(curve), startup=made.startup, floor=made.fixed)


def _most(made: BatchModel, e: Experiment, executors: int) -> float:
    """The most that any batch can do: the largest, with executors at their fastest, young or not."""
    empty, each = made.parts(executors)
    return e.max_batch_records / (
        made.fixed + (empty - made.fixed + each * e.max_batch_records) * min(1.0, 1 + made.young)
    )


def _paces(e: Experiment) -> Array | None:
    """How much more than usual can be done in each step, at the machine's pace of that moment."""
    if e.engine != "sim":
        return None
    made = batch_model(e)
    pace, steps = Pace(e.seed, made.noise), range(math.floor(_until(e) / e.period + 1e-9))
    spans = [(k * e.period, (k + 1) * e.period) for k in steps]
    faster = np.array([pace.worth(begin, end) / e.period for begin, end in spans])
    # what is fixed stays: in a slow moment it makes less of a difference, most for the largest number
    whole = [made.fixed + work for work in _work(made, e)]
    bounds = [all / (made.fixed + (all - made.fixed) / faster) for all in whole]
    least: Array = np.maximum(*bounds)
    return np.where(faster > 1, faster, least)


def _work(made: BatchModel, e: Experiment) -> list[float]:
    """Seconds of tasks of the largest batch, with the fewest and the most executors."""
    return [
        (made.batch_time(e.max_batch_records, n) - made.fixed) * min(1.0, 1 + made.young)
        for n in (e.minimum, e.maximum)
    ]


def _until(e: Experiment) -> float:
    return e.duration + (e.drain if e.engine == "spark" else 0.0)


def _micro_batches(e: Experiment, arrivals: Cumulative) -> MicroBatchEngine:
    query = Query(e.trigger, float(e.max_batch_records), failures=e.failures)
    return MicroBatchEngine(batch_model(e), query, arrivals, e.first, seed=e.seed)


def _operators(e: Experiment) -> OperatorEngine:
    found = paper_query(e.model or e.job)
    start = found.graph.best(max(e.first, len(found.graph.operators)))
    return OperatorEngine(found.graph, e.load(), start, found.settings, failures=e.failures, seed=e.seed)


class _Ticks:
    """What is kept of the ticks: a few numbers each."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.executors: list[int] = []
        self.requested: list[int] = []
        self.moves: list[Move] = []

    def add(self, tick: Tick) -> None:
        obs = tick.observation
        self.times.append(obs.time)
        self.executors.append(obs.executors)
        self.requested.append(obs.requested)
        if tick.acted:
            decision = tick.steps[-1].decision
            self.moves.append(Move(obs.time, obs.requested, decision.executors, decision.reason))


def _ticks(e: Experiment, engine: Engine, scaler: Autoscaler, watch: Watch) -> _Ticks:
    kept = _Ticks()
    clock: Clock = engine  # type: ignore[assignment]
    for tick in control(engine, scaler, clock, period=e.period, act=e.mode == "active"):
        kept.add(tick)
        watch(tick)
    return kept


def _trial(e: Experiment, arrivals: Cumulative, engine: MicroBatchEngine | OperatorEngine, kept: _Ticks) -> RunTrace:
    done: Finished = engine.finished()
    return RunTrace(
        arrivals,
        done,
        np.array(kept.times),
        np.array(kept.executors, dtype=float),
        np.array(kept.requested, dtype=float),
        _until(e),
        tuple(kept.moves),
        e.failures,
    )
