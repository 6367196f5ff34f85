"""One progress report of Spark as typed values. What cannot be used is left out, with a sentence that says why.

Reports come from many versions of Spark, from vendors' builds, and through wrappers that users write. So nothing in
them is taken for granted: not the keys, not the types, not the clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from tidegate.core.observed import RECORDS
from tidegate.core.reading import shown
from tidegate.spark.offsets import count, total, waiting

#: a report that is received earlier than this after its batch was planned, or later, has a wrong time
FUTURE, PAST = 60.0, 86_400.0
#: quantiles of creation times that a report may hold; Tidegate's own sources write about a hundred
QUANTILES = 10_000
#: RocksDB's files of an operator
SST = "rocksdbSstFileSize"
#: stores that a batch loaded from the checkpoint, and the milliseconds that took, as a sum
LOADED, LOADING = "rocksdbNumLoadedFromDfs", "rocksdbLoadLatencyMs"
#: bytes of a store from which on the time it takes to load says something about its size
TELLING = 5e6
#: most milliseconds that a batch can take: a year
LONGEST = 366 * 86_400_000.0


@dataclass(frozen=True, slots=True)
class State:
    """The state operators of a query together."""

    rows: int
    #: in memory
    bytes: int
    #: rows that this batch dropped, because they were older than the watermark
    dropped: int
    #: bytes that an executor reads if it loads all of it
    size: int = 0
    #: bytes per second at which this batch loaded stores from the checkpoint; None without large ones
    load_rate: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """None is unknown. Times are epoch seconds, positions those of `offsets`."""

    #: when the batch was planned; None if the report says nothing about when anything happened
    planned: float | None = None
    batch: int | None = None
    #: whether a batch ran; otherwise the source was only looked at
    ran: bool = False
    #: seconds from planning to commit
    spent: float = 0.0
    rows: int | None = None
    start: float | None = None
    stop: float | None = None
    latest: float | None = None
    #: records left to read after this batch, from the metrics of the sources
    waiting: float | None = None
    #: creation times of the records, quantiles from first to last
    times: tuple[float, ...] = ()
    watermark: str | None = None
    state: State | None = None
    #: what could not be used, as sentences
    problems: tuple[str, ...] = ()


def parsed(text: str) -> Mapping[str, Any] | None:
    """The JSON object in a text; None if there is none.

    >>> parsed('{"batchId": 7}'), parsed("[1]"), parsed('{"batchId"'), parsed("[" * 100_000)
    ({'batchId': 7}, None, None, None)
    """
    try:
        values = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def seconds(timestamp: Any) -> float | None:
    """An ISO 8601 time as epoch seconds. Without a zone it is UTC, as everything that Spark reports.

    >>> seconds("1970-01-01T00:01:00.250Z"), seconds("1970-01-01 00:01:00"), seconds("yesterday"), seconds(None)
    (60.25, 60.0, None, None)
    """
    try:
        time = datetime.fromisoformat(timestamp)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def read(report: Any, received: float | None = None) -> Report:
    """The values of a report. `received` is when it came, in epoch seconds: the time of a report without a usable one.

    >>> read({"timestamp": "2026-11-16T02:33:37Z", "numInputRows": "many"}).problems
    ("need a count as numInputRows, got 'many'",)
    """
    if not isinstance(report, Mapping):
        return Report(problems=(f"need an object, got {shown(report)}",))
    return _Reader(report).read(received)


@dataclass(slots=True)
class _Reader:
    report: Mapping[str, Any]
    problems: list[str] = field(default_factory=list)

    def read(self, received: float | None) -> Report:
        durations = self.table(self.report, "durationMs")
        rows, batch = self.count(self.report, "numInputRows"), self.count(self.report, "batchId")
        spent = self.spent(durations)
        sources = self.tables(self.report, "sources")
        return Report(
            planned=self.planned(spent, received),
            batch=None if batch is None else int(batch),
            # rows show that a batch ran, if the durations are missing
            ran="addBatch" in durations or bool(rows),
            spent=spent,
            rows=None if rows is None else int(rows),
            start=total(source.get("startOffset") for source in sources),
            stop=total(source.get("endOffset") for source in sources),
            latest=total(source.get("latestOffset") for source in sources),
            waiting=_sum([waiting(source) for source in sources]),
            times=self.times(),
            watermark=self.watermark(),
            state=self.state(),
            problems=tuple(self.problems),
        )

    def planned(self, spent: float, received: float | None) -> float | None:
        value = self.report.get("timestamp")
        planned = seconds(value)
        if planned is None:
            self.problems.append(f"need a time like 2026-11-16T02:33:37.945Z as timestamp, got {shown(value)}")
        elif received is not None and not -FUTURE <= received - planned - spent <= PAST:
            self.problems.append(f"timestamp {shown(value)} and {spent:g} s of work do not fit the time of receipt")
            planned = None
        if planned is None and received is not None:
            return received - spent
        return planned

    def spent(self, durations: Mapping[str, Any]) -> float:
        """Seconds. A report that has no `triggerExecution` has the same in `batchDuration`."""
        for table, name in ((durations, "triggerExecution"), (self.report, "batchDuration")):
            milliseconds = self.count(table, name)
            if milliseconds is not None and milliseconds <= LONGEST:
                return milliseconds / 1000
        return 0.0

    def times(self) -> tuple[float, ...]:
        values = self.table(self.table(self.report, "observedMetrics"), RECORDS).get("times") or ()
        if not isinstance(values, list | tuple) or len(values) > QUANTILES:
            self.problems.append(f"need a list of times as {RECORDS}.times, got {shown(values)}")
            return ()
        times = [time for value in values if (time := count(value)) is not None]
        if len(times) < len(values) or any(a > b for a, b in pairwise(times)):
            self.problems.append(f"need increasing times as {RECORDS}.times, got {shown(values)}")
            return ()
        return tuple(time / 1000 for time in times)

    def watermark(self) -> str | None:
        watermark = self.table(self.report, "eventTime").get("watermark")
        return watermark if isinstance(watermark, str) else None

    def state(self) -> State | None:
        operators = self.tables(self.report, "stateOperators")
        if not operators:
            return None
        names = ("numRowsTotal", "memoryUsedBytes", "numRowsDroppedByWatermark")
        rows, memory, dropped = (int(sum(self.count(op, name) or 0 for op in operators)) for name in names)
        files = sum(self.count(self.table(operator, "customMetrics"), SST) or 0 for operator in operators)
        return State(rows, memory, dropped, size=int(files) or memory, load_rate=self.load_rate(operators))

    def load_rate(self, operators: Sequence[Mapping[str, Any]]) -> float | None:
        size, took = 0.0, 0.0
        for operator in operators:
            metrics, stores = self.table(operator, "customMetrics"), self.count(operator, "numStateStoreInstances")
            loaded, files = self.count(metrics, LOADED), self.count(metrics, SST)
            if stores and loaded and files and files / stores >= TELLING:
                size += loaded * files / stores
                took += (self.count(metrics, LOADING) or 0.0) / 1000
        return size / took if took > 0 else None

    def count(self, table: Mapping[str, Any], name: str) -> float | None:
        """A number of at least 0. That there is none is no problem, what else may stand there is."""
        value = table.get(name)
        number = count(value)
        if value is not None and number is None:
            self.problems.append(f"need a count as {name}, got {shown(value)}")
        return number

    def table(self, table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        value = table.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.problems.append(f"need an object as {name}, got {shown(value)}")
        return value if isinstance(value, Mapping) else {}

    def tables(self, table: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
        """A list of objects; if one of them is none, the sum over all is unknown, and so the list is left out."""
        value = table.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
            self.problems.append(f"need a list of objects as {name}, got {shown(value)}")
            return ()
        return value


def _sum(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None
