"""Latency over the records of a run, exact without touching one.

Between two points of the arrivals records come evenly, and a portion's are all done at once: so over each such piece
the age at the end falls by a straight line, and shares, means and percentiles are sums over pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidegate.score.trace import Array, Cumulative, Finished, RunTrace

#: a piece of fewer records than this is an error of rounding, and would decide the maximum
SLIVER = 1e-3
#: a gap between portions holds a record from here on
RECORD = 0.5
#: how exactly a percentile is searched for, in seconds
EXACT = 1e-4
#: share of records by which a level may be missed, so that the last bit of a sum decides nothing
SLACK = 1e-9
#: from so many pieces on it pays to leave out those that are decided
MANY = 3000


@dataclass(frozen=True, slots=True)
class LatencyDistribution:
    """Pieces of records whose ages at their end fell evenly from `oldest` to `youngest`, `counts` records each.

    >>> arrivals = Cumulative(np.array([0.0, 10.0]), np.array([0.0, 100.0]))
    >>> one = LatencyDistribution.at(Finished(np.array([12.0]), np.array([0.0]), np.array([100.0])), arrivals)
    >>> one.max, one.mean, one.percentile(0.5), one.share_above(7)  # records of t = 0..10, done at 12: 2..12 s
    (12.0, 7.0, 7.0, 0.5)
    """

    oldest: Array
    youngest: Array
    counts: Array
    #: records per second of age
    densities: Array

    @classmethod
    def of(cls, trial: RunTrace) -> LatencyDistribution:
        """Of all records that arrived by the end of a trial.

        Those that were not done by then, lost ones too, count with the age they had then.
        """
        return cls.at(everything(trial), trial.arrivals)

    @classmethod
    def at(cls, portions: Finished, arrivals: Cumulative) -> LatencyDistribution:
        """Of the records of some portions."""
        finished, counts, first, last = _pieces(portions, arrivals)
        # in place: on large arrays memory costs more than arithmetic
        oldest, youngest = np.subtract(finished, first, out=first), np.subtract(finished, last, out=last)
        np.maximum(oldest, 0.0, out=oldest)
        np.maximum(youngest, 0.0, out=youngest)
        return cls(oldest, youngest, counts, counts / np.maximum(oldest - youngest, 1e-9))

    @property
    def records(self) -> float:
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """Exact: over a straight piece the mean is its middle. Of no records it is not defined."""
        return float((self.counts * (self.oldest + self.youngest)).sum()) / 2 / self.records

    @property
    def max(self) -> float:
        return float(self.oldest.max())

    def share_above(self, latency: float) -> float:
        return self._above(latency) / self.records

    def percentile(self, level: float) -> float:
        """The latency that a share `level` of the records kept within, to a tenth of a millisecond."""
        return self.percentiles([level])[0]

    def percentiles(self, levels: Sequence[float]) -> list[float]:
        """Of levels in rising order, in one search."""
        records = self.records
        allowed = [(1 - level + SLACK) * records for level in levels]
        above = self._above(0.0)
        at_once = sum(above <= most for most in allowed)
        return [0.0] * at_once + self._crossings(allowed[at_once:], 0.0, self.max)

    def ecdf(self, points: int = 200) -> list[tuple[float, float]]:
        """Latencies, and the share of records within each: close together where there are many records."""
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
        """From which latency in `[low, high]` on no more records are above than each of some falling numbers."""
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
        """The same from only those pieces which a latency in `[low, high]` can split."""
        some = np.flatnonzero(self._split(low, high))
        kept = LatencyDistribution(self.oldest[some], self.youngest[some], self.counts[some], self.densities[some])
        above = float(self.counts[self.youngest >= high].sum())
        return kept._crossings([most - above for most in allowed], low, high)

    def _split(self, low: float, high: float) -> npt.NDArray[np.bool_]:
        return (self.oldest > low) & (self.youngest < high)


def done(trial: RunTrace) -> Finished:
    """The portions that were finished by the end."""
    f = trial.finished
    if not len(f.times) or f.times.max() <= trial.until:
        return f
    kept = f.times <= trial.until
    return Finished(f.times[kept], f.begins[kept], f.ends[kept])


def everything(trial: RunTrace) -> Finished:
    """Portions of all that had arrived by the end: the finished ones, then the rest as if done at the end."""
    first, last = float(trial.arrivals.totals[0]), float(trial.arrivals.by(trial.until))
    return _closed(trial, *_gaps(done(trial), first, last))


def served(trial: RunTrace) -> Finished:
    """The same without records that were lost: only what still waits at the end is added."""
    reached = done(trial).ends.max(initial=float(trial.arrivals.totals[0]))
    begins, ends = np.array([reached]), np.array([float(trial.arrivals.by(trial.until))])
    waiting = ends - begins >= RECORD
    return _closed(trial, begins[waiting], ends[waiting])


def _closed(trial: RunTrace, begins: Array, ends: Array) -> Finished:
    f = done(trial)
    times = np.append(f.times, np.full(len(begins), trial.until))
    return Finished(times, np.append(f.begins, begins), np.append(f.ends, ends))


def lost(trial: RunTrace) -> float:
    """Records between portions: later ones were taken, and they never."""
    last = trial.finished.ends.max(initial=0.0)
    begins, ends = _gaps(trial.finished, float(trial.arrivals.totals[0]), float(last))
    return float((ends - begins).sum())


def _gaps(portions: Finished, first: float, last: float) -> tuple[Array, Array]:
    """Where records from `first` to `last` are in no portion."""
    order = np.argsort(portions.begins, kind="stable")
    reached = np.maximum.accumulate(np.concatenate([[first], portions.ends[order]]))
    following = np.concatenate([portions.begins[order], [last]])
    gap = following - reached >= RECORD
    return reached[gap], following[gap]


def _pieces(portions: Finished, arrivals: Cumulative) -> tuple[Array, Array, Array, Array]:
    """Each portion, cut where the arrivals bend: when a piece was done, its records, when its first and last came."""
    held = portions.ends > portions.begins
    begins, ends = portions.begins[held], portions.ends[held]
    totals, starts, paces = _lines(arrivals, begins.min(initial=0.0), ends.max(initial=0.0))
    line = np.searchsorted(totals, begins, side="right") - 1
    pieces = np.searchsorted(totals, ends, side="left") - line
    following = np.cumsum(pieces)
    lines = np.arange(pieces.sum()) + np.repeat(line - following + pieces, pieces)
    low, high = totals[lines], totals[lines + 1]
    low[following - pieces], high[following - 1] = begins, ends
    start, pace, finished = starts[lines], paces[lines], np.repeat(portions.times[held], pieces)
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
    """The arrivals as lines, `time = start + pace * record` from one total to the next.

    What is beyond them, down to `least` and up to `most`, came with the first or the last.
    """
    low, high = min(least, float(arrivals.totals[0])) - 1, max(most, float(arrivals.totals[-1])) + 1
    totals = np.concatenate([[low], arrivals.totals, [high]])
    times = np.concatenate([arrivals.times[:1], arrivals.times, arrivals.times[-1:]])
    rises = np.diff(totals)
    paces = np.divide(np.diff(times), rises, out=np.zeros(len(rises)), where=rises > 0)
    return totals, times[:-1] - totals[:-1] * paces, paces
