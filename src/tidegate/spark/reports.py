"""Spark's progress reports (JSON) into batches, rates and backlog. Pure: no Spark, no clock.

Spark's own `inputRowsPerSecond` is the rate at which rows are *taken*, not at which they arrive: with a limit per
trigger it hides the backlog. What had arrived is in each report's `latestOffset`, so the arrival rate is its slope over
the times at which batches were planned, and the backlog is what had arrived less what finished batches held.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any

from tidegate.core import Batch
from tidegate.core.observed import RECORDS
from tidegate.progress import ProgressLog

#: keys under which single-counter sources keep their counter: Tidegate's own, rate-micro-batch, files
COUNTERS = ("record", "offset", "logOffset")


def position(offset: Any) -> float | None:
    """How far an offset is, as one number: the counter, or the sum over partitions. Unknown for offsets without
    numbers.

    >>> position({"bids": {"0": 40, "1": 2}}), position('{"record": 7, "start": 1.7e9}'), position("abc")
    (42.0, 7.0, None)
    """
    if isinstance(offset, str):
        try:
            return position(json.loads(offset))
        except ValueError:
            return None
    if isinstance(offset, Mapping):
        counter = next((offset[key] for key in COUNTERS if key in offset), None)
        return position(counter) if counter is not None else _sum(offset.values())
    return float(offset) if isinstance(offset, int | float) and not isinstance(offset, bool) else None


def _sum(offsets: Any) -> float | None:
    known = [position(offset) for offset in offsets]
    numbers = [number for number in known if number is not None]
    return sum(numbers) if known and len(numbers) == len(known) else None


def seconds(timestamp: str) -> float:
    """
    >>> seconds("1970-01-01T00:01:00.250Z")
    60.25
    """
    return datetime.fromisoformat(timestamp).timestamp()


@dataclass(slots=True)
class ReportLog(ProgressLog):
    """A progress log fed by the reports of one query.

    Records are counted from `base`, a source position; by default from the first report's first record.
    """

    base: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    rows_dropped: int = 0
    watermark: str | None = None
    #: where the source stood after the last report
    _position: float | None = None
    #: rows per unit of a source's position: 1 for record counters, the rows per second for Spark's `rate`
    _unit: float = 1.0
    _units: deque[float] = field(default_factory=lambda: deque(maxlen=20))

    def add(self, report: Mapping[str, Any]) -> Batch | None:
        """Take in one report; the batch it tells of, if it tells of one that ran."""
        planned = seconds(report["timestamp"])
        durations = report.get("durationMs") or {}
        rows = int(report.get("numInputRows") or 0)
        begin, end = self._records(report.get("sources") or [], rows)
        latest = _sum(source.get("latestOffset") for source in report.get("sources") or [])
        waiting = None if latest is None or self._position is None else (latest - self._position) * self._unit
        arrived = None if waiting is None else end + max(0.0, waiting)
        self.plan(planned, arrived)
        if "addBatch" not in durations:
            return None
        spent = durations.get("triggerExecution", 0) / 1000
        batch = Batch(
            int(report["batchId"]), planned, planned + spent, begin, end, arrived, rows, creation_times(report)
        )
        self.finish(batch, spent)
        self._learn_state(report)
        return batch

    def _records(self, sources: Sequence[Mapping[str, Any]], rows: int) -> tuple[float, float]:
        """The numbers of a report's records: after those of the last one, by offsets where these count records, else
        by rows.
        """
        start, stop = (_sum(source.get(key) for source in sources) for key in ("startOffset", "endOffset"))
        if start is None:  # the first report of a query that started afresh
            start = self.base if self._position is None else self._position
        begin = 0.0 if self.batch is None else self.batch.end
        if start is not None and self._position is not None:
            begin += max(0.0, start - self._position) * self._unit  # reports that were missed
        elif start is not None and self.base is not None:
            begin += start - self.base
        self._learn_unit(start, stop, rows)
        self._position = stop if stop is not None else self._position
        counted = start is not None and stop is not None and self._unit == 1.0
        return begin, begin + (_distance(start, stop) if counted else rows)

    def _learn_unit(self, start: float | None, stop: float | None, rows: int) -> None:
        if self.base is not None or start is None or stop is None or stop <= start or rows == 0:
            return  # whoever gives a base knows that its source counts records
        self._units.append(rows / (stop - start))
        unit = median(self._units)  # tasks that ran twice make single batches look larger
        # transaction markers make the ratio a little smaller: a counter of records stays one
        self._unit = 1.0 if abs(unit - 1) < 0.05 else unit

    def _learn_state(self, report: Mapping[str, Any]) -> None:
        self.watermark = (report.get("eventTime") or {}).get("watermark", self.watermark)
        operators = report.get("stateOperators") or []
        if operators:
            self.state_rows = sum(int(o.get("numRowsTotal") or 0) for o in operators)
            self.state_bytes = sum(int(o.get("memoryUsedBytes") or 0) for o in operators)
            self.rows_dropped += sum(int(o.get("numRowsDroppedByWatermark") or 0) for o in operators)


def creation_times(report: Mapping[str, Any]) -> tuple[float, ...]:
    """When the batch's records were created, where the query observes that; Spark tells it in milliseconds."""
    told = (report.get("observedMetrics") or {}).get(RECORDS) or {}
    return tuple(time / 1000 for time in told.get("times") or ())


def _distance(start: float | None, stop: float | None) -> float:
    return 0.0 if start is None or stop is None else max(0.0, stop - start)
