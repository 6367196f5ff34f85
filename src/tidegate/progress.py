"""What the batches of a query have shown so far: rates, backlog and latency. Real queries and simulated ones share it.

Arrivals are known at the times at which batches were planned, and what is processed when they finish; between these
points straight lines are drawn.

>>> log = ProgressLog()
>>> log.plan(10.0, arrived=100.0)
>>> log.finish(Batch(0, planned=10.0, finished=12.0, begin=0.0, end=100.0))
>>> log.plan(20.0, arrived=300.0)
>>> log.arrival_rate, log.backlog(25.0)  # 200 in 10 s; 200 wait at 20 s and 100 more are expected by 25 s
(20.0, 300.0)
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidegate.core import Batch

#: (time, total)
Points = deque[tuple[float, float]]


@dataclass(slots=True)
class ProgressLog:
    """`window` is the shortest span over which the arrival rate is taken, `smoothing` that of the processing rate,
    which comes in lumps.

    Offsets are exact and planning times are good to a few hundredths of a second, so a short span is true to a percent,
    and a long one would only trail behind a moving load.
    """

    window: float = 5.0
    smoothing: float = 15.0
    #: points that are kept of arrivals; a record that arrived before the first counts as arrived then
    points: int = 5000
    #: the last that finished
    batch: Batch | None = None
    #: time between the plannings of the last two batches
    trigger: float | None = None
    duration: float | None = None
    #: from the end of the batch before the last one to the planning of the last one
    pause: float | None = None
    #: until when nothing came, where the query looked since the last planning
    idle: float | None = None
    _arrived: Points = field(default_factory=deque)
    _finished: Points = field(default_factory=lambda: deque(maxlen=500))
    #: whether the last report contradicted the last point: an earlier time, or fewer records
    _doubted: bool = False

    def plan(self, time: float, arrived: float | None) -> None:
        """A batch was planned, or the source was looked at, when so many records had arrived.

        Time goes on and arrivals only add up, so a report that says otherwise is not believed. If the next one does
        too, the earlier points were wrong: one report with an offset or a time far ahead must not count for ever.
        """
        quiet, self.idle, points = self.idle, None, self._arrived
        if arrived is None:
            return
        if points:
            last_time, last = points[-1]
            if quiet is not None and last_time < quiet < time:
                self._arrive(quiet, last)
            doubted, self._doubted = self._doubted, time < last_time or arrived < last
            if self._doubted and doubted:
                self._doubted = False
                _drop_ahead(points, time, arrived)
            elif time <= points[-1][0]:
                return
            else:
                arrived = max(arrived, last)
        self._arrive(time, arrived)

    def finish(self, batch: Batch, took: float | None = None) -> None:
        """A batch has finished; `took` is how long, where that is known better than by the clock."""
        last, finished = self.batch, self._finished
        self.trigger = batch.planned - last.planned if last is not None and batch.planned > last.planned else None
        follows = last is not None and batch.id == last.id + 1
        self.pause = max(0.0, batch.planned - last.finished) if last is not None and follows else None
        # batches finish one after another: earlier ones that seem to finish later had wrong times
        _drop_ahead(finished, batch.finished, batch.end)
        self.batch = batch
        self.duration = batch.finished - batch.planned if took is None else took
        if not finished:
            finished.append((batch.planned, batch.begin))
        if batch.finished > finished[-1][0]:
            finished.append((batch.finished, batch.end))

    def forget(self) -> None:
        """As if nothing had been seen yet."""
        self.batch = self.trigger = self.duration = self.pause = self.idle = None
        self._doubted = False
        self._arrived.clear()
        self._finished.clear()

    def _arrive(self, time: float, total: float) -> None:
        self._arrived.append((time, total))
        if len(self._arrived) > self.points:
            self._arrived.popleft()

    @property
    def arrival_rate(self) -> float | None:
        return _slope(self._arrived, self.window, self.idle)

    @property
    def processing_rate(self) -> float | None:
        return _slope(self._finished, self.smoothing, None)

    @property
    def cycle(self) -> float | None:
        """Seconds from batch to batch, over which a batch's work is spread; None before the first."""
        if self.duration is None:
            return None
        return max(self.trigger or 0.0, self.duration) or None

    def backlog(self, now: float, rate: float | None = None) -> float | None:
        """Records that arrived and are in no finished batch. Since the last planning they are taken to come at the last
        rate (`rate`, if the caller has it already); those of a running batch are waiting.
        """
        if self.batch is None or not self._arrived:
            return None
        time, arrived = self._arrived[-1]
        if self.idle is not None and self.idle > time:
            time = self.idle
        if now <= time:
            return max(0.0, arrived - self.batch.end)
        since = (self.arrival_rate if rate is None else rate) or 0.0
        return max(0.0, arrived + since * (now - time) - self.batch.end)

    @property
    def latency(self) -> float | None:
        """Age of the oldest record of the last batch when it finished."""
        last = self.batch
        if last is None or last.end <= last.begin:
            return None
        if last.times:  # by clocks of other machines, which may be ahead
            return max(0.0, last.finished - last.times[0])
        return max(0.0, self._age(last)) if self._arrived else None

    def _age(self, last: Batch) -> float:
        record, before = last.begin, self._arrived[0]
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


def _drop_ahead(points: Points, time: float, total: float) -> None:
    """Remove the latest points that are not before a point, in time and in total."""
    while points and (points[-1][0] >= time or points[-1][1] > total):
        points.pop()


def _slope(points: Points, window: float, idle: float | None) -> float | None:
    """From the youngest point that is at least `window` older than the last, or the oldest there is, to the last."""
    count = len(points)
    if not count or (count < 2 and idle is None):
        return None
    last_time, last = points[-1]
    if idle is not None and idle > last_time:
        last_time = idle
    for time, value in reversed(points):
        if time <= last_time - window:
            return (last - value) / (last_time - time)
    time, value = points[0]
    return (last - value) / (last_time - time) if last_time > time else None
