"""What a configuration has to keep to. A testbed's figures say what things cost, these say how much is acceptable."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import check, parameter

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ConfigurationRules:
    """
    >>> ConfigurationRules(growth=0.5)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: Spark configuration: need 1 <= growth <= 100, got 0.5
    """

    growth: float = parameter(
        2.0, "", "peak that the query may grow to, over the target; state partitions are for it", least=1, most=100
    )
    fixed_share: float = parameter(
        0.25, "share", "of the trigger, at most, for what a batch takes without records", above=0, most=0.9
    )
    largest_task: float = parameter(
        0.3, "share", "of the trigger, at most, that the largest task of a stage may take", above=0, most=1
    )
    task_share: float = parameter(
        0.1, "share", "of the trigger, at most, for starting and ending tasks", above=0, most=1
    )
    idle_share: float = parameter(
        0.1, "share", "of the slots' time, at most, lost in a last wave that is not full", least=0, most=1
    )
    task_seconds: float = parameter(
        0.05, "s", "time of a task apart from records, where the run does not show it", least=0, most=60
    )
    record_bytes: float = parameter(500.0, "bytes", "of a record in memory", least=1)
    memory_fraction: float = parameter(
        0.6, "share", "of the heap without the reserved part that Spark uses: spark.memory.fraction", above=0, most=1
    )
    reserved: float = parameter(300.0 * MIB, "bytes", "of the heap that Spark reserves", least=0)
    least_heap: float = parameter(512.0 * MIB, "bytes", "smallest heap of an executor", least=450.0 * MIB)
    versions: float = parameter(
        2.0, "", "versions of state that the in-memory provider keeps on the heap", least=1, most=100
    )
    large_state: float = parameter(
        256.0 * MIB, "bytes", "of state on the heap of an executor, from which on it belongs into RocksDB", above=0
    )

    def __post_init__(self) -> None:
        check(self, "Spark configuration")
