"""Spark's progress reports (JSON) into batches, rates and backlog. Pure: no Spark, no clock.

Spark's own `inputRowsPerSecond` is rows *taken* per second, not the arrival rate: under a limit per trigger it hides
the backlog. What had arrived is in each report's `latestOffset`, so the arrival rate is its slope over the times at
which batches were planned, and the backlog is what had arrived less what finished batches held.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any

from tidegate.core import Batch

#: keys under which single-counter sources keep their counter: Tidegate's own, rate-micro-batch, files
COUNTERS = ("record", "offset", "logOffset")
#: name under which a query observes its records
RECORDS = "tidegate_records"


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
class ProgressLog:
    """What the reports of one query say so far; `window` is the least span over which arrivals are taken,
    `smoothing` that for what is processed, which comes in lumps.

    Offsets are exact and planning times are good to a few hundredths of a second, so a short span is true to a
    percent, and a long one would only trail behind a moving load.

    Records are counted from `base`, a source position; by default from the first report's first record.
    """

    window: float = 5.0
    smoothing: float = 15.0
    base: float | None = None
    batch: Batch | None = None
    #: time between the plannings of the last two batches
    trigger: float | None = None
    duration: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    rows_dropped: int = 0
    watermark: str | None = None
    #: where the source stood after the last report
    _position: float | None = None
    #: until when nothing came
    _idle: float | None = None
    #: rows per unit of a source's position: 1 for record counters, the rows per second for Spark's `rate`
    _unit: float = 1.0
    _units: deque[float] = field(default_factory=lambda: deque(maxlen=20))
    #: (time, records arrived) and (time, records finished)
    _arrived: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=5000))
    _finished: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=500))

    def add(self, report: Mapping[str, Any]) -> Batch | None:
        """Take in one report; the batch it tells of, if it tells of one that ran."""
        planned = seconds(report["timestamp"])
        durations = report.get("durationMs") or {}
        rows = int(report.get("numInputRows") or 0)
        begin, end = self._records(report.get("sources") or [], rows)
        latest = _sum(source.get("latestOffset") for source in report.get("sources") or [])
        waiting = None if latest is None or self._position is None else (latest - self._position) * self._unit
        arrived = None if waiting is None else end + max(0.0, waiting)
        self._arrive(planned, arrived)
        if "addBatch" not in durations:
            return None
        spent = durations.get("triggerExecution", 0) / 1000
        times = _times(report)
        self._finish(Batch(int(report["batchId"]), planned, planned + spent, begin, end, arrived, rows, times), spent)
        self._learn_state(report)
        return self.batch

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

    def idle(self, now: float) -> None:
        """The query waits for data: nothing has arrived since the last report."""
        self._idle = now

    @property
    def arrival_rate(self) -> float | None:
        return _slope(self._arrivals(), self.window)

    @property
    def processing_rate(self) -> float | None:
        return _slope(self._finished, self.smoothing)

    def _arrivals(self) -> Sequence[tuple[float, float]]:
        if self._idle is None or not self._arrived or self._idle <= self._arrived[-1][0]:
            return self._arrived
        return [*self._arrived, (self._idle, self._arrived[-1][1])]

    def backlog(self, now: float) -> float | None:
        """Between reports what arrives is taken to come at the last rate; a running batch counts as waiting."""
        if not self._arrived or self.batch is None:
            return None
        time, arrived = self._arrivals()[-1]
        since = (self.arrival_rate or 0.0) * max(0.0, now - time)
        return max(0.0, arrived + since - self.batch.end)

    @property
    def latency(self) -> float | None:
        """Age of the oldest record of the last batch when it finished."""
        if self.batch is None or self.batch.end <= self.batch.begin:
            return None
        arrived_at = self.batch.times[0] if self.batch.times else self._time_of(self.batch.begin)
        return None if arrived_at is None else self.batch.finished - arrived_at

    def _time_of(self, record: float) -> float | None:
        points = list(self._arrived)
        k = bisect_right(points, record, key=lambda point: point[1])
        if k == 0 or k == len(points):  # before the first or after the last: at that one
            return points[min(k, len(points) - 1)][0] if points else None
        (t0, n0), (t1, n1) = points[k - 1], points[k]
        return t0 + (t1 - t0) * (record - n0) / (n1 - n0)

    def _learn_unit(self, start: float | None, stop: float | None, rows: int) -> None:
        if self.base is not None or start is None or stop is None or stop <= start or rows == 0:
            return  # whoever gives a base knows that its source counts records
        self._units.append(rows / (stop - start))
        unit = median(self._units)  # tasks that ran twice make single batches look larger
        # transaction markers make the ratio a little smaller: a counter of records stays one
        self._unit = 1.0 if abs(unit - 1) < 0.05 else unit

    def _arrive(self, planned: float, arrived: float | None) -> None:
        quiet, self._idle = self._idle, None
        if arrived is None:
            return
        if quiet is not None and self._arrived and self._arrived[-1][0] < quiet < planned:
            self._arrived.append((quiet, self._arrived[-1][1]))
        if not self._arrived:
            self._arrived.append((planned, arrived))
        elif planned > self._arrived[-1][0]:
            self._arrived.append((planned, max(arrived, self._arrived[-1][1])))

    def _finish(self, batch: Batch, spent: float) -> None:
        if not self._finished:
            self._finished.append((batch.planned, batch.begin))
        if batch.finished > self._finished[-1][0]:
            self._finished.append((batch.finished, batch.end))
        self.trigger = batch.planned - self.batch.planned if self.batch else None
        self.batch, self.duration = batch, spent

    def _learn_state(self, report: Mapping[str, Any]) -> None:
        self.watermark = (report.get("eventTime") or {}).get("watermark", self.watermark)
        operators = report.get("stateOperators") or []
        if operators:
            self.state_rows = sum(int(o.get("numRowsTotal") or 0) for o in operators)
            self.state_bytes = sum(int(o.get("memoryUsedBytes") or 0) for o in operators)
            self.rows_dropped += sum(int(o.get("numRowsDroppedByWatermark") or 0) for o in operators)


def _times(report: Mapping[str, Any]) -> tuple[float, ...]:
    """When the batch's records were created, where the query observes that; Spark tells it in milliseconds."""
    told = (report.get("observedMetrics") or {}).get(RECORDS) or {}
    return tuple(time / 1000 for time in told.get("times") or ())


def _distance(start: float | None, stop: float | None) -> float:
    return 0.0 if start is None or stop is None else max(0.0, stop - start)


def _slope(points: Sequence[tuple[float, float]], window: float) -> float | None:
    """Between the last point and the youngest one that is at least `window` older, or the oldest there is."""
    if len(points) < 2:
        return None
    last_time, last = points[-1]
    first_time, first = points[0]
    for time, value in reversed(points):
        first_time, first = time, value
        if time <= last_time - window:
            break
    return (last - first) / (last_time - first_time) if last_time > first_time else None
