"""A configuration as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.flags import attach_bounds, stream_options, submit_flags
from tidegate.planner.spark_configuration.partitions import PartitionPlan
from tidegate.planner.spark_configuration.rules import MIB
from tidegate.units import count, seconds, share


def describe(configuration: SparkConfiguration) -> Iterator[str]:
    """What to start the query with, what limits it, and what to know."""
    executors, memory = configuration.executors, configuration.memory
    yield (
        f"{_number(executors.executors, 'executor')} of {_number(executors.cores, 'core')} and "
        f"{memory.total / MIB:,.0f} MiB, {memory.heap / MIB:,.0f} of them heap"
    )
    yield from _partitions(configuration)
    trigger = configuration.trigger
    fixed = "" if trigger.fixed_share is None else f", {share(trigger.fixed_share)} of it without records"
    yield (
        f"a trigger of {seconds(trigger.trigger)}{fixed}; latency up to {seconds(trigger.latency)}; "
        f"at most {count(configuration.batch_limit)} records in a batch"
    )
    yield from (factor.sentence for factor in configuration.limits)
    yield from (f"note: {note}" for note in configuration.notes)
    yield f"spark-submit {' '.join(submit_flags(configuration))}"
    yield from stream_options(configuration).lines
    yield attach_bounds(configuration).call


def _partitions(configuration: SparkConfiguration) -> Iterator[str]:
    yield f"{configuration.source.partitions:,} source partitions, {_tasks(configuration.source)}"
    if configuration.state is not None:
        yield (
            f"{configuration.state.partitions:,} state partitions, {_tasks(configuration.state)}; "
            f"fixed when the query first starts, and enough for {_number(_enough_for(configuration), 'executor')}"
        )


def _enough_for(configuration: SparkConfiguration) -> int:
    """Executors; those of the peak, unless the number of partitions is not the planner's own."""
    executors, state = configuration.executors, configuration.state
    return executors.most if state is None else min(executors.most, state.partitions // executors.cores)


def _number(number: int, what: str) -> str:
    """
    >>> _number(1, "core"), _number(1_200, "executor")
    ('1 core', '1,200 executors')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def _tasks(plan: PartitionPlan) -> str:
    return f"{plan.waves} for each slot, the largest task takes {share(plan.largest_task)} of the trigger"
