"""Memory of an executor: its heap, and what it needs beside the heap.

State is taken in proportion to the rate. In RocksDB it is native memory, which belongs to the overhead of the container
and grows with the number of stores, too, as each has buffers of its own. The in-memory provider keeps several versions
of it on the heap. Beside state, the heap holds the records of the tasks that run, where these sort or group them;
without a shuffle records only pass through.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from tidegate.planner.spark_configuration.rules import MIB, ConfigurationRules
from tidegate.planner.spark_configuration.run_figures import RunFigures

#: heaps are multiples of it
STEP = 64 * MIB
#: what Spark adds to a heap by default: a share of it, and at least so much
OVERHEAD_SHARE, LEAST_OVERHEAD = 0.1, 384 * MIB


class Provider(StrEnum):
    """Where a query has its state."""

    ROCKSDB = "RocksDB"
    MEMORY = "in memory"


@dataclass(frozen=True, slots=True)
class ExecutorMemory:
    """Bytes. `state` is what an executor with the largest partition holds, of one version; `unjudged` says why memory
    could not be judged by state; empty if it was.
    """

    heap: int
    #: beside the heap; None if what Spark adds by default is enough
    overhead: int | None = None
    state: float | None = None
    unjudged: str = ""

    @property
    def total(self) -> int:
        """With the overhead."""
        return self.heap + (self.overhead or default_overhead(self.heap))


@dataclass(frozen=True, slots=True)
class Layout:
    """What the executors share: the rate, the records of a batch, and the partitions of state."""

    rate: float
    batch_records: float
    executors: int
    cores: int
    partitions: int


def default_overhead(heap: float) -> int:
    return max(LEAST_OVERHEAD, math.ceil(OVERHEAD_SHARE * heap))


def executor_memory(
    run: RunFigures,
    layout: Layout,
    provider: Provider = Provider.ROCKSDB,
    least: float = 0.0,
    rules: ConfigurationRules | None = None,
) -> ExecutorMemory:
    """`least` is a heap that was enough in the run, below which none is planned.

    >>> from tidegate.planner.spark_configuration.run_figures import StageFigures
    >>> stages = (StageFigures(8, 1e-5), StageFigures(8, 1e-5))
    >>> run = RunFigures(1e4, 2, 1, stages, trigger=5.0, batch_seconds=2.0, batch_records=5e4, keyed=1)
    >>> memory = executor_memory(run, Layout(rate=1e5, batch_records=5e5, executors=20, cores=1, partitions=60))
    >>> memory.heap // MIB, memory.unjudged
    (512, 'the run reported no size of state, so memory is that of running tasks alone')
    """
    rules = rules or ConfigurationRules()
    state = _state(run, layout, provider)
    on_heap = rules.versions * state if state is not None and provider is Provider.MEMORY else 0.0
    flying = rules.record_bytes * _running(run, layout)
    heap = _rounded(max(rules.least_heap, least, rules.reserved + (on_heap + flying) / rules.memory_fraction))
    native = state if state is not None and provider is Provider.ROCKSDB else 0.0
    overhead = _rounded(default_overhead(heap) + native) if native else None
    return ExecutorMemory(heap, overhead, state, _unjudged(run))


def _state(run: RunFigures, layout: Layout, provider: Provider) -> float | None:
    """Of an executor that holds the largest partition and others of the mean."""
    if run.state is None or run.state.size is None:
        return None
    growth = layout.rate / run.rate
    if provider is Provider.ROCKSDB:
        growth = max(growth, layout.partitions / run.keyed_stages[0].tasks if run.keyed_stages else 0.0)
    held = max(1.0, layout.partitions / layout.executors)
    # a hot key has many records, but few rows of an aggregation
    over = 0.0 if run.skew is None or run.skew.key else run.skew.over_mean
    return run.state.size * growth / layout.executors * (1 + over / held)


def _running(run: RunFigures, layout: Layout) -> float:
    """Records of the tasks that an executor runs at a time, the largest among them."""
    if run.keyed is None:
        return 0.0
    largest = run.skew.share_of_largest(layout.partitions) if run.skew else 1 / layout.partitions
    return layout.batch_records * (largest + (layout.cores - 1) / layout.partitions)


def _unjudged(run: RunFigures) -> str:
    if run.state is None or run.state.size is None:
        return (
            "the run reported no size of state, so memory is that of running tasks alone"
            if run.keyed is not None
            else ""
        )
    if run.state.growing:
        return "state was still growing at the end of the run, so it may need more: a longer run would tell"
    return ""


def _rounded(size: float) -> int:
    return math.ceil(size / STEP - 1e-9) * STEP
