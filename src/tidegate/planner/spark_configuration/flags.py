"""A configuration as flags of `spark-submit`, options of the stream, and bounds of `tidegate.attach`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.memory import Provider
from tidegate.planner.spark_configuration.rules import MIB

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True)
class AttachBounds:
    """Keyword arguments of `tidegate.attach`.

    >>> AttachBounds(min_executors=8, max_executors=48, slo=10.0).call
    'tidegate.attach(query, min_executors=8, max_executors=48, slo=10.0)'
    """

    min_executors: int
    max_executors: int
    slo: float | None = None

    @property
    def arguments(self) -> dict[str, float]:
        bounds: dict[str, float] = {"min_executors": self.min_executors, "max_executors": self.max_executors}
        return bounds if self.slo is None else {**bounds, "slo": self.slo}

    @property
    def call(self) -> str:
        return f"tidegate.attach(query, {', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


def attach_bounds(configuration: SparkConfiguration) -> AttachBounds:
    """Between the lowest rate and the peak for which partitions are planned."""
    executors = configuration.executors
    return AttachBounds(executors.fewest, executors.most, configuration.needed.slo)


def submit_flags(configuration: SparkConfiguration) -> tuple[str, ...]:
    """What comes after `spark-submit`, each with its value."""
    executors = configuration.executors
    return (
        f"--num-executors {executors.executors}",
        f"--executor-cores {executors.cores}",
        f"--executor-memory {_mib(configuration.memory.heap)}",
        *(f"--conf {key}={value}" for key, value in _conf(configuration)),
    )


def _conf(configuration: SparkConfiguration) -> Iterator[tuple[str, str]]:
    if configuration.memory.overhead is not None:
        yield "spark.executor.memoryOverhead", _mib(configuration.memory.overhead)
    if configuration.state is not None:
        yield "spark.sql.shuffle.partitions", str(configuration.state.partitions)
    if configuration.provider is Provider.ROCKSDB:
        # Spark's default is the provider in memory
        yield "spark.sql.streaming.stateStore.providerClass", ROCKSDB
    # it would undo what an autoscaler does
    yield "spark.dynamicAllocation.enabled", "false"


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What the query itself states, in its own code."""

    processing_time: str
    #: records; of the source `kafka` it is the option maxOffsetsPerTrigger
    max_offsets_per_trigger: int
    source_partitions: int

    @property
    def lines(self) -> tuple[str, ...]:
        return (
            f".trigger(processingTime={self.processing_time!r})",
            f'.option("maxOffsetsPerTrigger", {self.max_offsets_per_trigger})',
        )


def stream_options(configuration: SparkConfiguration) -> StreamOptions:
    """
    >>> _interval(4.0), _interval(2.5)
    ('4 seconds', '2500 milliseconds')
    """
    trigger = configuration.trigger.trigger
    return StreamOptions(_interval(trigger), configuration.batch_limit, configuration.source.partitions)


def _interval(trigger: float) -> str:
    if trigger == int(trigger):
        return f"{int(trigger)} seconds"
    return f"{round(1000 * trigger)} milliseconds"


def _mib(size: int) -> str:
    return f"{math.ceil(size / MIB)}m"
