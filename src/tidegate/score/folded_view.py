"""Arrivals, backlog and lost records of a long run, folded into sums.

There are two readings of when records arrived: their own creation times, or the totals seen when batches were planned.
The first needs the creation times of all records, which may end at any batch, so both are kept while it can be had.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tidegate.score.figures import waiting_with
from tidegate.score.histogram import WIDTH, LostRecords
from tidegate.score.latency import gaps, pieces
from tidegate.score.recorder import START
from tidegate.score.trace import Array, Cumulative, Finished, Mask, RunTrace


@dataclass(frozen=True, slots=True)
class FoldedView:
    """The sums under one reading."""

    #: points of the arrivals of records that are not folded, from the last one before them on
    points: Array
    #: number of the run's first record, and of the first that is not folded
    first: float
    reached: float
    lost: LostRecords = field(default_factory=LostRecords.none)
    #: number of lost records, also of those whose arrival nobody knows
    missing: float = 0.0
    backlog: float = 0.0

    @classmethod
    def beginning(cls, points: Array, first: float) -> FoldedView:
        return cls(points, first, first)

    def rest(self, trace: RunTrace, arrivals: Cumulative | None) -> RunTrace:
        """The trace of what is not folded, with its arrivals; None if they are unknown."""
        known = Cumulative(*START.T) if arrivals is None else arrivals
        return replace(trace, arrivals=known, dated=arrivals is not None, begins=self.reached)

    def plus(self, trace: RunTrace, ripe: Mask, ticks: Array, merged: tuple[int, float]) -> FoldedView:
        """With the records between the portions that are `ripe` that no other portion has, and the backlog at ticks.
        `merged` are the arguments of `LostRecords.merged`.
        """
        last = float(trace.finished.ends[ripe].max(initial=self.reached))
        begins, ends = gaps(trace.finished.only(trace.finished.begins < last), self.reached, last)
        missing = self.missing + float((ends - begins).sum())
        if not trace.dated:
            return replace(self, reached=last, missing=missing)
        _, *lost = pieces(Finished(ends, begins, ends), trace.arrivals)
        return replace(
            self,
            reached=last,
            missing=missing,
            lost=self.lost.plus(*lost).merged(trace.until, *merged),
            backlog=float(waiting_with(ticks, trace).max(initial=self.backlog)),
        )

    def needing(self, points: Array, record: float, time: float) -> FoldedView:
        """With those points, of these further ones too, that tell when records from `record` on arrived, and how many
        had by `time`.
        """
        known = np.maximum.accumulate(np.concatenate([self.points, points]))
        if not len(known):
            return self
        before = min(np.searchsorted(known[:, 1], record, side="right"), np.searchsorted(known[:, 0], time, "right"))
        return replace(self, points=known[max(int(before) - 1, 0) :])

    def thinned(self, now: float, most: int) -> FoldedView:
        """If there are more points, without every second one whose neighbours are closer than 1 % of their age.

        So a latency is off by 1 % at most, and the number of points grows with the logarithm of the longest wait.

        >>> arrivals = FoldedView.beginning(np.column_stack([np.arange(1e5), np.arange(1e5)]), first=0.0)
        >>> for _ in range(20):
        ...     arrivals = arrivals.thinned(now=1e5, most=2000)
        >>> len(arrivals.points) < 3000
        True
        """
        if len(self.points) <= most:
            return self
        times = self.points[:, 0]
        keep = np.ones(len(times), dtype=bool)
        keep[1:-1] = times[2:] - times[:-2] > WIDTH * np.maximum(now - times[2:], 0.0)
        keep[::2] = True
        return replace(self, points=self.points[keep])
