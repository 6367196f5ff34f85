"""A configuration of Spark for a rate, from figures of one small run."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

from tidegate.planner.spark_configuration.feasibility import NoConfiguration, refusal, slot_time
from tidegate.planner.spark_configuration.limiting_factor import Arrangement, LimitingFactor, limiting_factors
from tidegate.planner.spark_configuration.memory import ExecutorMemory, Layout, Provider, executor_memory
from tidegate.planner.spark_configuration.partitions import PartitionPlan, TaskLoad, plan_partitions
from tidegate.planner.spark_configuration.requirement import Requirement
from tidegate.planner.spark_configuration.rules import ConfigurationRules
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures
from tidegate.planner.spark_configuration.trigger import BatchTime, TriggerPlan, batch_limit, plan_trigger
from tidegate.units import count


@dataclass(frozen=True, slots=True)
class ExecutorPlan:
    """`fewest` for the lowest rate and `most` for the peak: the bounds of an autoscaler."""

    executors: int
    cores: int
    fewest: int
    most: int

    @property
    def slots(self) -> int:
        return self.executors * self.cores


@dataclass(frozen=True, slots=True)
class SparkConfiguration:
    """`state` is None for a query without a shuffle. `notes` are what a reader should know, as sentences."""

    needed: Requirement
    executors: ExecutorPlan
    memory: ExecutorMemory
    #: where state is to be; None without state
    provider: Provider | None
    source: PartitionPlan
    state: PartitionPlan | None
    trigger: TriggerPlan
    #: most records of a batch
    batch_limit: int
    limits: tuple[LimitingFactor, ...]
    notes: tuple[str, ...]


def configure(
    run: RunFigures, needed: Requirement, rules: ConfigurationRules | None = None
) -> SparkConfiguration | NoConfiguration:
    """
    >>> stages = (StageFigures(8, 4e-5, per_task=0.05), StageFigures(8, 2e-5, per_task=0.05))
    >>> run = RunFigures(3e4, 2, 1, stages, trigger=5.0, batch_seconds=4.0, batch_records=1.5e5, keyed=1, fixed=0.9)
    >>> configuration = configure(run, Requirement(rate=3e5, slots=24, capacity=3.2e5, least_rate=1e5))
    >>> configuration.executors
    ExecutorPlan(executors=24, cores=1, fewest=8, most=48)
    >>> configuration.state.partitions, configuration.trigger.trigger, configuration.batch_limit
    (48, 5.0, 1600000)
    """
    rules, run = rules or ConfigurationRules(), _plausible(run, needed)
    # partitions depend on the trigger, which depends a little on their waves
    first = plan_trigger(_batch(run, needed, run.fixed), run.trigger, needed.slo, rules).trigger
    refused = refusal(run, needed, first)
    if refused is not None:
        return refused
    executors = _executors(run, needed, rules)
    source, state = _partitions(run, needed, executors, first, rules)
    fixed = _fixed(run, source, state)
    trigger = plan_trigger(_batch(run, needed, fixed), run.trigger, needed.slo, rules)
    limit = batch_limit(_capacity(run, needed, trigger.trigger), needed.rate, trigger.trigger)
    layout = Layout(needed.rate, limit, executors.executors, executors.cores, (state or source).partitions)
    memory = executor_memory(run, layout, needed.provider, needed.heap, rules)
    stateful = None if state is None else state.partitions
    busy = _load(run.keyed_stages, run, needed, rules).busy
    arranged = Arrangement(executors.slots, source.partitions, stateful, run.skew, busy, run.fixed, run.trigger)
    provider, reasons = _provider(run, memory, needed, rules)
    broken = (*source.broken, *(state.broken if state else ()), *_contradiction(run, needed))
    return SparkConfiguration(
        needed=needed,
        executors=executors,
        memory=memory,
        provider=provider,
        source=source,
        state=state,
        trigger=trigger,
        batch_limit=limit,
        limits=limiting_factors(arranged, rules),
        notes=tuple(dict.fromkeys((*trigger.notes, *broken, *reasons, *filter(None, [memory.unjudged])))),
    )


def _plausible(run: RunFigures, needed: Requirement) -> RunFigures:
    """Batches of one size do not tell tasks from records, so that a record seems to take more than it does in larger
    ones: slots that are planned for the rate are not more than busy.
    """
    busy = needed.rate * run.each
    if run.costs_known or busy <= needed.slots:
        return run
    part = needed.slots / busy
    return replace(run, stages=tuple(replace(stage, each=part * stage.each) for stage in run.stages))


def _executors(run: RunFigures, needed: Requirement, rules: ConfigurationRules) -> ExecutorPlan:
    cores = needed.cores or run.cores
    executors = -(-needed.slots // cores)
    peak = needed.peak_slots
    if peak is None:
        # the query cannot grow beyond partitions that are given
        peak = min(math.ceil(needed.slots * rules.growth - 1e-9), _most_slots(run, needed))
    fewest = 1
    if needed.least_rate is not None:
        fewest = min(executors, math.ceil(executors * needed.least_rate / needed.rate - 1e-9))
    return ExecutorPlan(executors, cores, fewest, max(executors, -(-peak // cores)))


def _most_slots(run: RunFigures, needed: Requirement) -> int:
    """That partitions can keep busy, if their number is given: those of state, which are fixed for ever."""
    given = needed.state_partitions if run.keyed is not None else None
    return given or sys.maxsize


def _partitions(
    run: RunFigures, needed: Requirement, executors: ExecutorPlan, trigger: float, rules: ConfigurationRules
) -> tuple[PartitionPlan, PartitionPlan | None]:
    slots, peak = executors.slots, executors.most * executors.cores

    def planned(stages: tuple[StageFigures, ...], given: int | None) -> PartitionPlan:
        load = _load(stages, run, needed, rules)
        if given is None:
            return plan_partitions(load, slots, peak, trigger, rules)
        return PartitionPlan(given, slots, load.largest_task(given, trigger), load.task_share(given, slots, trigger))

    source = planned(run.source_stages, needed.source_partitions)
    return source, None if run.keyed is None else planned(run.keyed_stages, needed.state_partitions)


def _load(
    stages: tuple[StageFigures, ...], run: RunFigures, needed: Requirement, rules: ConfigurationRules
) -> TaskLoad:
    """Where a capacity is believed that the run contradicts, slots are busy, and not more."""
    most = needed.slots / run.each if run.each else math.inf
    busy = min(needed.rate, most) * math.fsum(stage.each for stage in stages)
    per_task = math.fsum(rules.task_seconds if stage.per_task is None else stage.per_task for stage in stages)
    skews = [stage.skew for stage in stages if stage.skew is not None]
    return TaskLoad(busy, per_task, max(skews, key=lambda skew: skew.over_mean, default=None))


def _fixed(run: RunFigures, source: PartitionPlan, state: PartitionPlan | None) -> float | None:
    """Of a planned batch: what the driver takes, and the planned waves of empty tasks."""
    if run.driver is None:
        return None
    waves = math.fsum(source.waves * (stage.per_task or 0.0) for stage in run.source_stages)
    if state is not None:
        waves += math.fsum(state.waves * (stage.per_task or 0.0) for stage in run.keyed_stages)
    return run.driver + waves


def _batch(run: RunFigures, needed: Requirement, fixed: float | None) -> BatchTime:
    """At capacity a batch lasts for a whole trigger: what is not fixed then is for records."""
    whole = max(0.0, 1 - (run.fixed or 0.0) / run.trigger)
    return BatchTime(fixed, whole * min(1.0, needed.rate / (needed.capacity or needed.rate)))


def _capacity(run: RunFigures, needed: Requirement, trigger: float) -> float:
    """The lower bound with another trigger than that of the run: less with a shorter one. What a longer one adds was
    not measured, and does not count.
    """
    capacity = needed.capacity or needed.rate
    if run.fixed is None or run.fixed >= run.trigger:
        return capacity
    return capacity * min(1.0, max(0.0, 1 - run.fixed / trigger) / (1 - run.fixed / run.trigger))


def _provider(
    run: RunFigures, memory: ExecutorMemory, needed: Requirement, rules: ConfigurationRules
) -> tuple[Provider | None, tuple[str, ...]]:
    if run.state is None:
        return None, ()
    if needed.provider is Provider.MEMORY and memory.state and memory.state * rules.versions > rules.large_state:
        size = memory.state * rules.versions / 1e6
        reason = (
            f"{size:,.0f} MB of state on the heap of an executor make long garbage collections: RocksDB keeps it "
            "beside the heap (a query's provider is fixed when it first starts, and capacity is to be measured with it)"
        )
        return Provider.ROCKSDB, (reason,)
    return needed.provider, ()


def _contradiction(run: RunFigures, needed: Requirement) -> tuple[str, ...]:
    """A capacity that comes from laws may be contradicted by what a record takes in this run."""
    busy = needed.rate * run.each
    if not run.costs_known or busy <= needed.slots * (1 + 1e-9):
        return ()
    return (
        f"in this run a record took {slot_time(run.each)} of a slot, which for {count(needed.rate)} records/s keeps "
        f"{busy:,.1f} slots busy, more than the {needed.slots:,} that are planned",
    )
