"""How good a run was, from its ticks: latency over records, SLO violations, worker-seconds, rescales, backlog.

Latency is exact without touching a record. Batch *b* held records `[begin, end)` and finished at `T`; a record's
latency is at most `x` if it arrived at `T - x` or later; and `arrived(t)` records had arrived by `t`. So the share of
records within any latency is a sum over batches, and a percentile is where that share crosses its level. Where the
records say themselves when they were created (Kafka's do), the batch's quantiles of that take the place of `arrived`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tidegate.core import Batch, Tick

#: records that had arrived by a time
Arrived = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Latency:
    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Workers:
    mean: float
    max: int
    #: executor-seconds, counted from observed executors
    seconds: float


@dataclass(frozen=True, slots=True)
class Rescales:
    count: int = 0
    up: int = 0
    down: int = 0


@dataclass(frozen=True, slots=True)
class Backlog:
    max: float
    final: float


@dataclass(frozen=True, slots=True)
class Slo:
    """`violated` is the share of records that took longer than `target`."""

    target: float
    violated: float | None


@dataclass(frozen=True, slots=True)
class Score:
    processed: int
    lost: int
    latency: Latency | None
    slo: Slo
    workers: Workers | None
    rescales: Rescales = field(default_factory=Rescales)
    backlog: Backlog | None = None
    rerun_tasks: int = 0


@dataclass(frozen=True, slots=True)
class Latencies:
    """The distribution of latency over the records of some finished batches.

    >>> one = Latencies([Batch(0, planned=10, finished=12, begin=0, end=100)], arrived=lambda t: 10 * t)
    >>> one.max, one.percentile(0.5), one.share_above(7)  # records of t = 0..10, done at 12: 2..12 s
    (12.0, 7.0, 0.5)
    """

    batches: Sequence[Batch]
    arrived: Arrived

    @property
    def records(self) -> float:
        return math.fsum(b.end - b.begin for b in self.batches)

    def share_above(self, latency: float) -> float:
        late = math.fsum(min(max(self._by(b, b.finished - latency), b.begin), b.end) - b.begin for b in self.batches)
        return late / self.records

    def _by(self, batch: Batch, time: float) -> float:
        """Up to which record those of a batch had arrived by a time."""
        return _among(batch, time) if batch.times else self.arrived(time)

    def percentile(self, level: float) -> float:
        return _crossing(lambda x: self.share_above(x) <= 1 - level, high=self._longest())

    @property
    def max(self) -> float:
        return max(self.age(b, b.begin) for b in self.batches)

    @property
    def mean(self) -> float:
        """Over records, by the midpoint rule in each batch."""
        return math.fsum(self._mean(b) * (b.end - b.begin) for b in self.batches) / self.records

    def _mean(self, batch: Batch, points: int = 32) -> float:
        size = batch.end - batch.begin
        return math.fsum(self.age(batch, batch.begin + size * (k + 0.5) / points) for k in range(points)) / points

    def age(self, batch: Batch, record: float) -> float:
        """How old record number `record` was when the batch finished."""
        return _crossing(lambda x: self._by(batch, batch.finished - x) <= record, high=self._longest())

    def _longest(self) -> float:
        created = (b.times[0] for b in self.batches if b.times)
        return max(b.finished for b in self.batches) - min(0.0, *(b.planned for b in self.batches), *created)


def _among(batch: Batch, time: float) -> float:
    """
    >>> one = Batch(0, planned=4, finished=5, begin=100, end=200, times=(1.0, 2.0, 4.0))
    >>> [_among(one, t) for t in (0, 1, 1.5, 3, 4, 9)]
    [100.0, 100.0, 125.0, 175.0, 200.0, 200.0]
    """
    times, steps = batch.times, len(batch.times) - 1
    k = bisect_right(times, time)
    if k == 0 or k > steps:
        return float(batch.begin if k == 0 else batch.end)
    share = (k - 1 + (time - times[k - 1]) / (times[k] - times[k - 1])) / steps
    return batch.begin + share * (batch.end - batch.begin)


def _crossing(true_from: Callable[[float], bool], high: float) -> float:
    """The smallest x in `[0, high]` from which on a predicate holds, to a tenth of a millisecond."""
    low = 0.0
    if true_from(low):
        return low
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if true_from(middle) else (middle, high)
    return round(high, 4)


def arrivals(batches: Iterable[Batch]) -> Arrived:
    """Records arrived by a time, by straight lines between the totals seen when batches were planned.

    For a source whose workload is not known.

    >>> seen = arrivals([Batch(0, 10, 11, 0, 50, arrived=50), Batch(1, 20, 21, 50, 90, arrived=90)])
    >>> seen(15), seen(5), seen(30)
    (70.0, 25.0, 90)
    """
    points = [(0.0, 0.0), *((b.planned, b.arrived) for b in batches if b.arrived is not None)]
    times = [t for t, _ in points]

    def arrived(time: float) -> float:
        k = bisect_right(times, time)
        if k == 0 or k == len(points):
            return points[0 if k == 0 else -1][1]
        (t0, n0), (t1, n1) = points[k - 1], points[k]
        return n0 + (n1 - n0) * (time - t0) / (t1 - t0)

    return arrived


def score(ticks: Sequence[Tick], *, slo: float, start: float = 0.0, arrived: Arrived | None = None) -> Score:
    """Score a run from its ticks. `start` is the ticks' time of the workload's beginning; `arrived(t)` counts from
    there.
    """
    batches = [_since(b, start) for tick in ticks for b in tick.observation.batches if b.end > b.begin]
    latencies = Latencies(batches, arrived or arrivals(batches)) if batches else None
    last = ticks[-1].observation if ticks else None
    return Score(
        processed=round(sum(b.end - b.begin for b in batches)),
        lost=round(sum(max(0.0, b.end - b.begin - b.rows) for b in batches)),
        latency=_latency(latencies),
        slo=Slo(slo, latencies.share_above(slo) if latencies else None),
        workers=_workers(ticks),
        rescales=_rescales(ticks),
        backlog=_backlog(ticks) if arrived is None else _true_backlog(ticks, batches, start, arrived),
        rerun_tasks=last.rerun_tasks if last else 0,
    )


def _since(batch: Batch, start: float) -> Batch:
    times = tuple(time - start for time in batch.times)
    return replace(batch, planned=batch.planned - start, finished=batch.finished - start, times=times)


def _latency(latencies: Latencies | None) -> Latency | None:
    if latencies is None:
        return None
    p50, p95, p99 = (latencies.percentile(level) for level in (0.5, 0.95, 0.99))
    return Latency(latencies.mean, p50, p95, p99, latencies.max)


def _workers(ticks: Sequence[Tick]) -> Workers | None:
    observations = [tick.observation for tick in ticks]
    if len(observations) < 2:
        return None
    seconds = math.fsum(a.executors * (b.time - a.time) for a, b in pairwise(observations))
    span = observations[-1].time - observations[0].time
    return Workers(seconds / span, max(o.executors for o in observations), seconds)


def _rescales(ticks: Sequence[Tick]) -> Rescales:
    """Actions, not changes of the observed count: an executor that registers late is no rescale."""
    changes = [t.decision.executors - t.observation.requested for t in ticks if t.acted and t.decision]
    up, down = sum(c > 0 for c in changes), sum(c < 0 for c in changes)
    return Rescales(up + down, up, down)


def _true_backlog(ticks: Sequence[Tick], batches: Sequence[Batch], start: float, arrived: Arrived) -> Backlog | None:
    """At the times of the ticks, from what really had arrived and what had finished."""
    ends = [(batch.finished, batch.end) for batch in batches]
    waiting = []
    for tick in ticks:
        time = tick.observation.time - start
        k = bisect_right(ends, time, key=lambda end: end[0])
        waiting.append(max(0.0, arrived(time) - (ends[k - 1][1] if k else 0.0)))
    return Backlog(max(waiting), waiting[-1]) if waiting else None


def _backlog(ticks: Sequence[Tick]) -> Backlog | None:
    seen = [t.observation.backlog for t in ticks if t.observation.backlog is not None]
    return Backlog(max(seen), seen[-1]) if seen else None
