"""The exact latency distribution over the records of a run, without looking at single records.

Between two points of the arrivals, records arrive evenly, and all records of a portion finish at the same time. So the
age of records when they finish falls linearly over each such piece, and shares, means and percentiles are sums over
pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tidegate.score.trace import Array, Cumulative, Finished, RunTrace, flat

#: a piece with fewer records than this is a rounding error, which could determine the maximum
SLIVER = 1e-3
#: smallest gap between portions that holds a record: loads have fractions of records, which are never finished
RECORD = 1 - 1e-6
#: precision of percentiles, in seconds
EXACT = 1e-4
#: share of records by which a level may be missed, so that rounding errors do not matter
SLACK = 1e-9
#: number of pieces from which on it pays to drop those that cannot change the result
MANY = 3000


@dataclass(frozen=True, slots=True)
class LatencyDistribution:
    """Pieces of `counts` records each, whose ages when they finished fall linearly from `oldest` to `youngest`.

    >>> arrivals = Cumulative(np.array([0.0, 10.0]), np.array([0.0, 100.0]))
    >>> batch = LatencyDistribution.at(Finished(np.array([12.0]), np.array([0.0]), np.array([100.0])), arrivals)
    >>> batch.max, batch.mean, batch.percentile(0.5), batch.share_above(7)  # records of t = 0..10, done at 12: 2..12 s
    (12.0, 7.0, 7.0, 0.5)
    """

    oldest: Array
    youngest: Array
    counts: Array
    #: records per second of age
    densities: Array

    @classmethod
    def of(cls, trace: RunTrace) -> LatencyDistribution:
        """The distribution over all records that arrived by the end of a run.

        Unfinished and lost records count with their age at the end.
        """
        return cls.at(everything(trace), trace.arrivals)

    @classmethod
    def at(cls, portions: Finished, arrivals: Cumulative) -> LatencyDistribution:
        """The distribution over the records of portions, from their creation times if known, else from the arrivals."""
        cut = _all_pieces(portions, arrivals) if portions.created else pieces(portions, arrivals)
        finished, counts, first, last = cut
        # in place, because on large arrays memory costs more than arithmetic
        oldest, youngest = np.subtract(finished, first, out=first), np.subtract(finished, last, out=last)
        np.maximum(oldest, 0.0, out=oldest)
        np.maximum(youngest, 0.0, out=youngest)
        return cls.between(oldest, youngest, counts)

    @classmethod
    def between(cls, oldest: Array, youngest: Array, counts: Array) -> LatencyDistribution:
        """Pieces of so many records each, whose ages are evenly spread from `youngest` to `oldest`."""
        return cls(oldest, youngest, counts, counts / np.maximum(oldest - youngest, 1e-9))

    def joined(self, other: LatencyDistribution) -> LatencyDistribution:
        """The distribution over the records of both."""
        columns = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return LatencyDistribution(*(np.concatenate(column) for column in columns))

    @property
    def records(self) -> float:
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """Exact, as the mean of a linear piece is its middle. Undefined without records."""
        return float((self.counts * (self.oldest + self.youngest)).sum()) / 2 / self.records

    @property
    def max(self) -> float:
        return float(self.oldest.max())

    def share_above(self, latency: float) -> float:
        return self._above(latency) / self.records

    def percentile(self, level: float) -> float:
        """The latency that a share `level` of the records does not exceed, to a tenth of a millisecond."""
        return self.percentiles([level])[0]

    def percentiles(self, levels: Sequence[float]) -> list[float]:
        """Percentiles for levels in ascending order, in one search."""
        records = self.records
        allowed = [(1 - level + SLACK) * records for level in levels]
        above = self._above(0.0)
        zeros = sum(above <= most for most in allowed)
        return [0.0] * zeros + self._crossings(allowed[zeros:], 0.0, self.max)

    def ecdf(self, points: int = 200) -> list[tuple[float, float]]:
        """Latencies with the share of records that do not exceed them; denser where there are more records."""
        if not len(self.counts):
            return []
        order = np.argsort(self.youngest, kind="stable")
        shares = np.cumsum(self.counts[order]) / self.records
        inner = np.interp(np.linspace(0, 1, points)[1:-1], shares, self.youngest[order])
        latencies = [float(self.youngest.min()), *map(float, inner), self.max]
        return [(latency, 1 - self.share_above(latency)) for latency in latencies]

    def _above(self, latency: float) -> float:
        over = (self.oldest - latency) * self.densities
        return float(np.minimum(np.maximum(over, 0.0, out=over), self.counts, out=over).sum())

    def _crossings(self, allowed: list[float], low: float, high: float) -> list[float]:
        """For each number in `allowed` (descending), the lowest latency in `[low, high]` that at most this number of
        records exceed.
        """
        while allowed and high - low > EXACT:
            middle = (low + high) / 2
            above = self._above(middle)
            below = sum(above <= most for most in allowed)
            if 0 < below < len(allowed):
                first = self._narrowed(allowed[:below], low, middle)
                return first + self._narrowed(allowed[below:], middle, high)
            low, high = (low, middle) if below else (middle, high)
            if len(self.counts) > MANY and self._split(low, high).sum() < len(self.counts) / 2:
                return self._narrowed(allowed, low, high)
        return [round(high, 4)] * len(allowed)

    def _narrowed(self, allowed: list[float], low: float, high: float) -> list[float]:
        """The same search over only those pieces that a latency in `[low, high]` can split."""
        at = np.flatnonzero(self._split(low, high))
        pieces = LatencyDistribution(self.oldest[at], self.youngest[at], self.counts[at], self.densities[at])
        above = float(self.counts[self.youngest >= high].sum())
        return pieces._crossings([most - above for most in allowed], low, high)

    def _split(self, low: float, high: float) -> npt.NDArray[np.bool_]:
        return (self.oldest > low) & (self.youngest < high)


def done(trace: RunTrace) -> Finished:
    """The portions finished by the end."""
    finished = trace.finished
    if not len(finished.times) or finished.times.max() <= trace.until:
        return finished
    return finished.only(finished.times <= trace.until)


def everything(trace: RunTrace) -> Finished:
    """Portions of all records that had arrived by the end: finished ones, then the rest as if finished at the end."""
    finished, last = done(trace), float(trace.arrivals.by(trace.until))
    return finished.and_rest(*gaps(finished, trace.first, last), trace.until)


def served(trace: RunTrace) -> Finished:
    """Like `everything` without lost records: only those still waiting at the end are added."""
    finished = done(trace)
    reached = finished.ends.max(initial=trace.first)
    begins, ends = np.array([reached]), np.array([float(trace.arrivals.by(trace.until))])
    waiting = ends - begins >= RECORD
    return finished.and_rest(begins[waiting], ends[waiting], trace.until)


def lost(trace: RunTrace) -> float:
    """Records between portions, which were skipped, and records of a portion that no task read."""
    finished = trace.finished
    last = finished.ends.max(initial=0.0)
    begins, ends = gaps(finished, trace.first, float(last))
    return float((ends - begins).sum()) + unread(finished)


def unread(portions: Finished) -> float:
    """Records of portions that no task read, as far as rows are counted."""
    if portions.rows is None:
        return 0.0
    missing = portions.ends - portions.begins - portions.rows
    # simulated record counts are not whole numbers
    return float(missing[missing >= 1.0].sum())


def gaps(portions: Finished, first: float, last: float) -> tuple[Array, Array]:
    """Begins and ends of the ranges between `first` and `last` that are in no portion."""
    order = np.argsort(portions.begins, kind="stable")
    reached = np.maximum.accumulate(np.concatenate([[first], portions.ends[order]]))
    following = np.concatenate([portions.begins[order], [last]])
    gap = following - reached >= RECORD
    return reached[gap], following[gap]


def _all_pieces(portions: Finished, arrivals: Cumulative) -> tuple[Array, Array, Array, Array]:
    """Portions with creation times, cut at their quantiles; other portions as in `pieces`."""
    has_times = np.array([bool(quantiles) for quantiles in portions.created])
    dated = portions.only(has_times & (portions.ends > portions.begins))
    # a single creation time is that of the first record and of the last
    created = [quantiles if len(quantiles) > 1 else quantiles * 2 for quantiles in dated.created]
    times, number = flat(created), np.array([len(quantiles) for quantiles in created], dtype=int)
    following = np.cumsum(number)
    last, first = np.delete(times, following - number), np.delete(times, following - 1)
    records = np.repeat((dated.ends - dated.begins) / (number - 1), number - 1)
    cut = np.repeat(dated.times, number - 1), records, first, last
    others = pieces(portions.only(~has_times), arrivals)
    finished, counts, begin, end = (np.concatenate(columns) for columns in zip(others, cut, strict=True))
    return finished, counts, begin, end


def pieces(portions: Finished, arrivals: Cumulative) -> tuple[Array, Array, Array, Array]:
    """Portions cut where the arrivals bend: finish times, record counts, arrivals of the first and the last record."""
    nonempty = portions.ends > portions.begins
    begins, ends = portions.begins[nonempty], portions.ends[nonempty]
    totals, starts, paces = _lines(arrivals, begins.min(initial=0.0), ends.max(initial=0.0))
    line = np.searchsorted(totals, begins, side="right") - 1
    number = np.searchsorted(totals, ends, side="left") - line
    following = np.cumsum(number)
    lines = np.arange(number.sum()) + np.repeat(line - following + number, number)
    low, high = totals[lines], totals[lines + 1]
    low[following - number], high[following - 1] = begins, ends
    start, pace, finished = starts[lines], paces[lines], np.repeat(portions.times[nonempty], number)
    counts = high - low
    real = counts >= SLIVER
    if not real.all():
        counts, low, high, start = counts[real], low[real], high[real], start[real]
        pace, finished = pace[real], finished[real]
    return finished, counts, _on(start, pace, low), _on(start, pace, high)


def _on(start: Array, pace: Array, records: Array) -> Array:
    records *= pace
    records += start
    return records


def _lines(arrivals: Cumulative, least: float, most: float) -> tuple[Array, Array, Array]:
    """The arrivals as lines `time = start + pace * record` from one total to the next.

    Records before and after them, down to `least` and up to `most`, arrive with the first and the last one.
    """
    low, high = min(least, float(arrivals.totals[0])) - 1, max(most, float(arrivals.totals[-1])) + 1
    totals = np.concatenate([[low], arrivals.totals, [high]])
    times = np.concatenate([arrivals.times[:1], arrivals.times, arrivals.times[-1:]])
    rises = np.diff(totals)
    paces = np.divide(np.diff(times), rises, out=np.zeros(len(rises)), where=rises > 0)
    return totals, times[:-1] - totals[:-1] * paces, paces
