"""What the reports of a simulated query have told so far, read as `spark.progress` reads Spark's.

Arrivals are known at the times at which batches were planned, and what is processed when they finish; between them
straight lines are drawn. A test compares every figure with what the real reader finds in reports of the same form.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidegate.core import Batch

#: spans over which the Spark engine takes arrivals and what is processed
ARRIVALS, PROCESSED = 5.0, 15.0

Points = deque[tuple[float, float]]


@dataclass(slots=True)
class Seen:
    """`idle` is when the query last looked and nothing had come."""

    last: Batch | None = None
    #: time between the plannings of the last two batches
    trigger: float | None = None
    idle: float | None = None
    _arrived: Points = field(default_factory=lambda: deque(maxlen=64))
    _finished: Points = field(default_factory=lambda: deque(maxlen=64))

    def plan(self, time: float, arrived: float) -> None:
        """A batch was planned when so many records had come."""
        if self.idle is not None and self._arrived and self._arrived[-1][0] < self.idle < time:
            self._arrived.append((self.idle, self._arrived[-1][1]))
        self.idle = None
        self._arrived.append((time, arrived))

    def finish(self, batch: Batch) -> None:
        self.trigger = None if self.last is None else batch.planned - self.last.planned
        self.last = batch
        if not self._finished:
            self._finished.append((batch.planned, batch.begin))
        self._finished.append((batch.finished, batch.end))

    def arrival_rate(self) -> float | None:
        return _slope(self._arrived, ARRIVALS, self.idle)

    def processing_rate(self) -> float | None:
        return _slope(self._finished, PROCESSED, None)

    def backlog(self, now: float, rate: float | None) -> float | None:
        """Since the last planning records are taken to come at the last rate."""
        if self.last is None:
            return None
        time, arrived = self._arrived[-1]
        since = (rate or 0.0) * max(0.0, now - max(time, self.idle or 0.0))
        return max(0.0, arrived + since - self.last.end)

    def latency(self) -> float | None:
        """Age of the last batch's oldest record when it was done."""
        last = self.last
        if last is None:
            return None
        record = last.begin
        before = self._arrived[0]
        for point in reversed(self._arrived):
            if point[1] <= record:
                before = point
                break
            after = point
        else:
            return last.finished - before[0]
        if before[1] == record or before is self._arrived[-1]:
            return last.finished - before[0]
        share = (record - before[1]) / (after[1] - before[1])
        return last.finished - before[0] - share * (after[0] - before[0])


def _slope(points: Points, window: float, idle: float | None) -> float | None:
    """From the youngest point that is old enough to the last."""
    count = len(points)
    if not count or (count < 2 and idle is None):
        return None
    last_time, last = points[-1]
    if idle is not None and idle > last_time:
        last_time, count = idle, count + 1
    for time, value in reversed(points):
        if time <= last_time - window:
            return (last - value) / (last_time - time)
    time, value = points[0]
    return (last - value) / (last_time - time) if last_time > time else None
