"""Converts Spark's progress reports (JSON) into batches, rates and backlog. Pure: no Spark, no clock.

Spark's own `inputRowsPerSecond` is the rate at which rows are *read*, not at which they arrive: with a limit per
trigger it hides the backlog. The records arrived so far are in each report's `latestOffset`. So the arrival rate is its
slope over the times at which batches were planned, and the backlog is the records arrived minus those in finished
batches.
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

#: keys of the counter in offsets of sources with a single counter: Tidegate's own, rate-micro-batch, files
COUNTERS = ("record", "offset", "logOffset")


def position(offset: Any) -> float | None:
    """An offset as one number: the counter, or the sum over partitions. None for offsets without numbers.

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
    positions = [position(offset) for offset in offsets]
    numbers = [number for number in positions if number is not None]
    return sum(numbers) if positions and len(numbers) == len(positions) else None


def seconds(timestamp: str) -> float:
    """
    >>> seconds("1970-01-01T00:01:00.250Z")
    60.25
    """
    return datetime.fromisoformat(timestamp).timestamp()


@dataclass(slots=True)
class ReportLog(ProgressLog):
    """A progress log fed by the reports of one query.

    Records are counted from the source position `base`, by default from the first record of the first report.
    """

    base: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    rows_dropped: int = 0
    watermark: str | None = None
    #: position of the source after the last report
    _position: float | None = None
    #: rows per unit of the source's position: 1 for record counters, rows per second for Spark's `rate` source
    _unit: float = 1.0
    _units: deque[float] = field(default_factory=lambda: deque(maxlen=20))

    def add(self, report: Mapping[str, Any]) -> Batch | None:
        """Process one report. Returns its batch, if one ran."""
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
        """The range of a report's records, which follows that of the previous one; its length is from offsets if these
        count records, else from rows.
        """
        start, stop = (_sum(source.get(key) for source in sources) for key in ("startOffset", "endOffset"))
        if start is None:  # the first report of a query without a checkpoint
            start = self.base if self._position is None else self._position
        begin = 0.0 if self.batch is None else self.batch.end
        if start is not None and self._position is not None:
            begin += max(0.0, start - self._position) * self._unit  # records of missed reports
        elif start is not None and self.base is not None:
            begin += start - self.base
        self._learn_unit(start, stop, rows)
        self._position = stop if stop is not None else self._position
        counted = start is not None and stop is not None and self._unit == 1.0
        return begin, begin + (_distance(start, stop) if counted else rows)

    def _learn_unit(self, start: float | None, stop: float | None, rows: int) -> None:
        if self.base is not None or start is None or stop is None or stop <= start or rows == 0:
            return  # with a base, the source is known to count records
        self._units.append(rows / (stop - start))
        unit = median(self._units)  # rerun tasks make single batches look larger
        # transaction markers make the ratio of a record counter slightly smaller than 1
        self._unit = 1.0 if abs(unit - 1) < 0.05 else unit

    def _learn_state(self, report: Mapping[str, Any]) -> None:
        self.watermark = (report.get("eventTime") or {}).get("watermark", self.watermark)
        operators = report.get("stateOperators") or []
        if operators:
            self.state_rows = sum(int(o.get("numRowsTotal") or 0) for o in operators)
            self.state_bytes = sum(int(o.get("memoryUsedBytes") or 0) for o in operators)
            self.rows_dropped += sum(int(o.get("numRowsDroppedByWatermark") or 0) for o in operators)


def creation_times(report: Mapping[str, Any]) -> tuple[float, ...]:
    """Creation times of the batch's records, if the query observes them; Spark reports them in milliseconds."""
    metrics = (report.get("observedMetrics") or {}).get(RECORDS) or {}
    return tuple(time / 1000 for time in metrics.get("times") or ())


def _distance(start: float | None, stop: float | None) -> float:
    return 0.0 if start is None or stop is None else max(0.0, stop - start)
