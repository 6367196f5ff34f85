"""The configuration of a plan as facts, and as blocks to copy."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.flags import attach_bounds, stream_options, submit_flags
from tidegate.planner.spark_configuration.partitions import PartitionPlan
from tidegate.planner.spark_configuration.rules import MIB
from tidegate.report.parts import Fact
from tidegate.report.plan.wording import plural
from tidegate.units import count, seconds, share


@dataclass(frozen=True, slots=True)
class Block:
    """Text to copy. `note` is where it belongs."""

    title: str
    text: str
    note: str = ""


def blocks(configuration: SparkConfiguration) -> tuple[Block, ...]:
    bounds = attach_bounds(configuration)
    scaled = f"between {bounds.min_executors:,} and {plural(bounds.max_executors, 'executor')}"
    return (
        Block("Start", " \\\n  ".join(("spark-submit", *submit_flags(configuration)))),
        Block("Stream", "\n".join(stream_options(configuration).lines), "in the code of the query"),
        Block("Autoscaling", bounds.call, scaled),
    )


def facts(configuration: SparkConfiguration) -> tuple[Fact, ...]:
    executors, memory, trigger = configuration.executors, configuration.memory, configuration.trigger
    fixed = "" if trigger.fixed_share is None else f"{share(trigger.fixed_share)} of it without records"
    heap = f"{memory.heap / MIB:,.0f} of them heap"
    state = configuration.state
    listed = (
        Fact("Executors", f"{executors.executors:,}", f"of {plural(executors.cores, 'core')}"),
        Fact("Memory of an executor", f"{memory.total / MIB:,.0f} MiB", heap),
        Fact("Source partitions", f"{configuration.source.partitions:,}", _tasks(configuration.source)),
        *((Fact("State partitions", f"{state.partitions:,}", _tasks(state)),) if state else ()),
        *((Fact("State", configuration.provider.value),) if configuration.provider else ()),
        Fact("Trigger", seconds(trigger.trigger), fixed),
        Fact("Latency", f"up to {seconds(trigger.latency)}"),
        Fact("Records of a batch", f"at most {count(configuration.batch_limit)}"),
    )
    return tuple(listed)


def _tasks(plan: PartitionPlan) -> str:
    return f"{plan.waves} a slot, the largest task takes {share(plan.largest_task)} of the trigger"
