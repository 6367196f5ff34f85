"""`format("tidegate")`: a stream whose record *i* is a pure function of *i* and a seed, offered at the rate of a
workload.

Options: `events` (name of the records), `workload` (JSON of a workload's `spec()`), `seed`, `skew`, `partitions`,
`maxRowsPerTrigger`, `eventRate` (records per second of event time), `start` (epoch seconds of the workload's start,
default: now), `first` (number of the first record). Instead of `workload` and `maxRowsPerTrigger` a `schedule` can be
given, a file (`sources.schedule`) that may change while the query runs. Batch reads take the record numbers `begin` and
`end`. Records that are defined as JSON are read as text in the column `value`.

Offsets contain the start: a query restarted from its checkpoint continues with the next record on the same timeline.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from tidegate.core import InvalidInput
from tidegate.jobs.event_kinds import Events, Packed, events
from tidegate.sources.schedule import ScheduleFile
from tidegate.workloads import Shape, from_spec

#: records per Arrow batch: large enough to be fast, small enough for an executor of 512 MB
CHUNK = 65_536


@dataclass(frozen=True)
class Range(InputPartition):
    begin: int
    end: int


def split(begin: int, end: int, parts: int) -> list[Range]:
    """
    >>> [(r.begin, r.end) for r in split(10, 20, 3)]
    [(10, 13), (13, 16), (16, 20)]
    """
    edges = [begin + (end - begin) * k // parts for k in range(parts + 1)]
    return [Range(a, b) for a, b in pairwise(edges) if b > a]


def generate(kind: Events, numbers: Range) -> Iterator[pa.RecordBatch]:
    _freeze_heap()
    make = kind.pack if isinstance(kind, Packed) else kind.make
    for begin in range(numbers.begin, numbers.end, CHUNK):
        yield make(np.arange(begin, min(begin + CHUNK, numbers.end), dtype=np.int64))


@cache
def _freeze_heap() -> None:
    """Freeze the GC heap once per Python worker: Spark's worker collects garbage after every task, which takes 20 ms of
    CPU for the loaded modules.
    """
    gc.collect()
    gc.freeze()


def kind_of(options: Mapping[str, str]) -> Events:
    rate, seed = float(options.get("eventRate", 10_000)), int(options.get("seed", 0))
    return events(options.get("events", "bids"), seed=seed, rate=rate, skew=options.get("skew", "default"))


class TidegateSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "tidegate"

    def schema(self) -> str:
        kind = kind_of(self.options)
        if isinstance(kind, Packed):
            return kind.packed_schema
        return "value string" if kind.text else kind.schema

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _Stream(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Table(self.options)


class _Stream(DataSourceStreamReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self._kind = kind_of(options)
        if "workload" not in options and "schedule" not in options:
            raise InvalidInput("source tidegate: need the option workload, the JSON of a workload's spec()")
        self._file = ScheduleFile(options["schedule"]) if "schedule" in options else None
        self._workload: Shape | None = None if self._file else from_spec(json.loads(options["workload"]))
        self._parts = int(options.get("partitions", 8))
        self._limit = int(options.get("maxRowsPerTrigger", 0))
        self._first = int(options.get("first", 0))
        self._start = float(options["start"]) if "start" in options else time.time()

    def __getstate__(self) -> dict[str, Any]:
        """Only what a task needs. The workload, possibly a long trace, stays on the driver."""
        return {"_kind": self._kind}

    def initialOffset(self) -> dict[str, Any]:
        return {"record": self._first, "start": self._start}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._limit) if self._limit > 0 else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        self._start = float(start["start"])
        offered, begin = self._offered(), int(start["record"])
        # Spark reads the default limit once, but the limit of a schedule can change
        most = self._file.read().limit if self._file else limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        if most:
            offered = min(offered, begin + most)
        return {"record": max(offered, begin), "start": self._start}

    def reportLatestOffset(self) -> dict[str, Any]:
        return {"record": self._offered(), "start": self._start}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return split(int(start["record"]), int(end["record"]), self._parts)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        return generate(self._kind, partition)

    def _offered(self) -> int:
        if self._workload is None:
            assert self._file is not None
            return max(self._file.read().total(time.time()), self._first)
        return self._workload.total(time.time() - self._start)


class _Table(DataSourceReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self._kind = kind_of(options)
        self._range = (int(options.get("begin", 0)), int(options["end"]))
        self._parts = int(options.get("partitions", 8))

    def partitions(self) -> Sequence[InputPartition]:
        return split(*self._range, self._parts)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        return generate(self._kind, partition)


def register(spark: SparkSession) -> None:
    spark.dataSource.register(TidegateSource)
