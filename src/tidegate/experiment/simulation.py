"""Simulators configured from an experiment: engines, their capacity, and their oracles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment
from tidegate.score.engine_limits import EngineLimits, Terms
from tidegate.score.oracle import Oracle, Task
from tidegate.score.oracle import oracles as solve
from tidegate.score.trace import Array, Cumulative
from tidegate.sim.batch_model import BatchModel, Query, model
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.sim.operators import OperatorEngine
from tidegate.sim.pace import Pace
from tidegate.sim.papers import paper_query
from tidegate.workloads import Shape

SimulatedEngine = MicroBatchEngine | OperatorEngine


def simulator(e: Experiment) -> SimulatedEngine:
    """The engine, which is also its own clock."""
    return _micro_batches(e, offered(e)) if e.engine == "sim" else _operators(e)


def offered(e: Experiment) -> Cumulative:
    return _offered(e.load())


@lru_cache(maxsize=16)
def _offered(load: Shape) -> Cumulative:
    return Cumulative.of(load)


def batch_model(e: Experiment) -> BatchModel:
    """The model named by the experiment, or that of its job, with the experiment's partitions. That new executors were
    faster, as a quota holds only after a while, is not a gain of scaling out.
    """
    fitted = model(e.model or e.job)
    return replace(fitted, tasks=e.partition_count, young=max(0.0, fitted.young))


def capacity(e: Experiment, executors: int) -> float:
    """Records per second that a number of executors can sustain, with state where it is placed."""
    if e.engine == "operators":
        return paper_query(e.model or e.job).graph.capacity_of(executors)
    if e.engine != "sim":
        raise InvalidInput(f"engine {e.engine}: its capacity is unknown before it runs")
    batches = batch_model(e)
    # the largest batches that still meet the objective, as the fixed cost counts least in them
    empty, per_record = batches.placed(executors)
    records = max(1.0, (max(e.trigger, e.slo / 2) - empty) / per_record)
    return records / max(e.trigger, empty + per_record * records)


def oracles(es: Sequence[Experiment]) -> list[Oracle]:
    """The oracle of each experiment. All must share job and limits."""
    first = es[0]
    tasks = [Task(offered(e), run_length(e), _paces(e)) for e in es]
    terms = Terms(limits=first.limits, initial=first.first, slo=first.slo, step=first.period)
    return solve(_engine_limits(first), tasks, terms)


def _engine_limits(e: Experiment) -> EngineLimits:
    if e.engine == "operators":
        query = paper_query(e.model or e.job)
        curve = [0.0, *(query.graph.capacity_of(n) for n in range(1, e.maximum + 1))]
        return EngineLimits(
            tuple(curve),
            startup=0.0,
            outage=min(query.settings.outage_up, query.settings.outage_down),
            floor=query.settings.floor,
        )
    batches = batch_model(e)
    curve = [0.0, *(_highest_rate(batches, e, n) for n in range(1, e.maximum + 1))]
    return EngineLimits(tuple(curve), startup=batches.quickest, floor=batches.fixed)


def _highest_rate(batches: BatchModel, e: Experiment, executors: int) -> float:
    """Records per second of the fastest batch: the largest one, with executors at their fastest, young or not."""
    empty, per_record = batches.parts(executors)
    return e.max_batch_records / (
        batches.fixed + (empty - batches.fixed + per_record * e.max_batch_records) * min(1.0, 1 + batches.young)
    )


def _paces(e: Experiment) -> Array | None:
    """Speed of the machine in each step, relative to its usual speed."""
    if e.engine != "sim":
        return None
    batches = batch_model(e)
    pace, steps = Pace(e.seed, batches.noise), range(math.floor(run_length(e) / e.period + 1e-9))
    spans = [(k * e.period, (k + 1) * e.period) for k in steps]
    faster = np.array([pace.worth(begin, end) / e.period for begin, end in spans])
    # the fixed part does not depend on the pace, so a slow step loses less, least of all with the most executors
    durations = [batches.fixed + work for work in _work(batches, e)]
    bounds = [duration / (batches.fixed + (duration - batches.fixed) / faster) for duration in durations]
    slower: Array = np.maximum(*bounds)
    return np.where(faster > 1, faster, slower)


def _work(batches: BatchModel, e: Experiment) -> list[float]:
    """Seconds that the tasks of the largest batch take, with the fewest and with the most executors."""
    return [
        (batches.batch_time(e.max_batch_records, n) - batches.fixed) * min(1.0, 1 + batches.young)
        for n in (e.minimum, e.maximum)
    ]


def run_length(e: Experiment) -> float:
    """Seconds from the workload's start to the end of the run."""
    return e.duration + (e.drain if e.engine == "spark" else 0.0)


def _micro_batches(e: Experiment, arrivals: Cumulative) -> MicroBatchEngine:
    query = Query(e.trigger, float(e.max_batch_records), failures=e.failures, spread=e.spread, load_seconds=e.slo / 2)
    return MicroBatchEngine(batch_model(e), query, arrivals, e.first, seed=e.seed)


def _operators(e: Experiment) -> OperatorEngine:
    query = paper_query(e.model or e.job)
    start = query.graph.best(max(e.first, len(query.graph.operators)))
    return OperatorEngine(query.graph, e.load(), start, query.settings, failures=e.failures, seed=e.seed)
