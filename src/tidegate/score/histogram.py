"""Latencies of any number of records in bounded memory: counts in bins, and ages that still grow.

Counts, sums and maxima are exact, and so is the share later than the SLO, because it is an edge between two bins. Only
where the records lie within a bin is not known, so a percentile is off by the width of its bin: 1 %, or a millisecond
below a tenth of a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tidegate.score.latency import LatencyDistribution
from tidegate.score.trace import Array

#: width of a bin, as a share of the latency
WIDTH = 0.01
#: seconds of the first bins, and of the highest edge (three years); above it is one more bin
FINEST, HIGHEST = 1e-3, 1e8
#: parts of pieces that are sorted into bins at a time, so that a fold needs no more than a few MB
BLOCK = 50_000
NO_RECORDS = LatencyDistribution.between(np.zeros(0), np.zeros(0), np.zeros(0))


def edges(slo: float) -> Array:
    """Equal bins up to where they are as wide as `WIDTH`, from there on by `WIDTH` wider each; with the SLO as one of
    their edges.
    """
    even = np.arange(0.0, FINEST / WIDTH, FINEST)
    wider = np.exp(np.arange(math.log(FINEST / WIDTH), math.log(HIGHEST), math.log1p(WIDTH)))
    objective = [slo] if 0 < slo < HIGHEST else []
    return np.append(np.unique(np.concatenate([even, wider, objective])), np.inf)


@dataclass(frozen=True, slots=True)
class LatencyHistogram:
    """Counts and sums of latencies for each bin `(edges[k], edges[k + 1]]`; 20 kB.

    >>> batch = LatencyDistribution.between(oldest=np.array([12.0]), youngest=np.array([2.0]), counts=np.array([100.0]))
    >>> binned = LatencyHistogram.empty(slo=7.0).plus(batch).distribution()
    >>> binned.max, round(binned.mean, 9), round(binned.share_above(7), 9), round(binned.percentile(0.9), 1)
    (12.0, 7.0, 0.5, 11.0)
    """

    edges: Array
    counts: Array
    sums: Array
    max: float = 0.0

    @classmethod
    def empty(cls, slo: float) -> LatencyHistogram:
        bins = edges(slo)
        nothing = np.zeros(len(bins) - 1)
        return cls(bins, nothing, nothing)

    def plus(self, more: LatencyDistribution) -> LatencyHistogram:
        if not len(more.counts):
            return self
        counts, sums = self.counts.copy(), self.sums.copy()
        for bins, records, middles in self._parts(more):
            counts += np.bincount(bins, records, minlength=len(counts))
            sums += np.bincount(bins, records * middles, minlength=len(counts))
        return replace(self, counts=counts, sums=sums, max=max(self.max, more.max))

    def _parts(self, more: LatencyDistribution) -> Iterator[tuple[npt.NDArray[np.intp], Array, Array]]:
        """The pieces of a distribution, cut at the edges: bins, records and mean latencies of the parts."""
        tops = np.maximum(np.searchsorted(self.edges, more.oldest, side="left") - 1, 0)
        bottoms = np.minimum(np.searchsorted(self.edges, more.youngest, side="right") - 1, tops)
        numbers = tops - bottoms + 1
        blocks = np.cumsum(numbers) // BLOCK
        for at in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(blocks)) + 1):
            number = numbers[at]
            piece = np.repeat(at, number)
            bins = np.arange(len(piece)) - np.repeat(np.cumsum(number) - number, number) + bottoms[piece]
            low = np.maximum(self.edges[bins], more.youngest[piece])
            high = np.minimum(self.edges[bins + 1], more.oldest[piece])
            spans = (more.oldest - more.youngest)[piece]
            # a piece within one bin may have no width to divide by
            shares = np.divide(high - low, spans, out=np.ones(len(piece)), where=numbers[piece] > 1)
            yield bins, more.counts[piece] * shares, (low + high) / 2

    def distribution(self) -> LatencyDistribution:
        """A piece for each bin that has records, around their mean; and one without records at the maximum."""
        at = np.flatnonzero(self.counts)
        if not len(at):
            return NO_RECORDS
        low, high = self.edges[at], np.minimum(self.edges[at + 1], self.max)
        return centred(low, high, self.counts[at], self.sums[at], self.max)


def centred(low: Array, high: Array, counts: Array, sums: Array, most: float) -> LatencyDistribution:
    """Pieces between bounds that have the mean `sums / counts`, and an empty one at the maximum `most`."""
    means = np.clip(sums / counts, low, high)
    half = np.minimum(means - low, high - means)
    oldest, youngest = np.append(means + half, most), np.append(means - half, most)
    return LatencyDistribution.between(oldest, youngest, np.append(counts, 0.0))


@dataclass(frozen=True, slots=True)
class LostRecords:
    """Records that no batch read. They count with their age, which grows, so what is kept is when they arrived.

    Neighbours are merged as soon as the time between them is 1 % of their age, so their number grows with the
    logarithm of the length of the run.
    """

    first: Array
    last: Array
    counts: Array
    #: sums of their arrival times
    sums: Array

    @classmethod
    def none(cls) -> LostRecords:
        return cls(*(np.zeros(0) for _ in range(4)))

    def plus(self, counts: Array, first: Array, last: Array) -> LostRecords:
        """With pieces of so many records that arrived evenly from `first` to `last`."""
        sums = counts * (first + last) / 2
        columns = zip((self.first, self.last, self.counts, self.sums), (first, last, counts, sums), strict=True)
        return LostRecords(*(np.concatenate(column) for column in columns))

    def merged(self, now: float, most: int, slo: float) -> LostRecords:
        """At most about `most`, merging those that are certainly later than the SLO first, others only if need be."""
        merged = self
        for least in (slo, 0.0):
            if len(merged.counts) > most:
                merged = merged._merged(now, least)
        return merged

    def _merged(self, now: float, least: float) -> LostRecords:
        groups: list[tuple[float, float, float, float]] = []
        order = np.argsort(self.first, kind="stable")
        for first, last, count, total in zip(*(c[order].tolist() for c in self._columns), strict=True):
            if groups:
                begin, end, records, sums = groups[-1]
                end = max(end, last)
                if end - begin <= WIDTH * max(now - end, 0.0) and now - end >= least:
                    groups[-1] = begin, end, records + count, sums + total
                    continue
            groups.append((first, last, count, total))
        return LostRecords(*np.array(groups).T)

    @property
    def _columns(self) -> tuple[Array, Array, Array, Array]:
        return self.first, self.last, self.counts, self.sums

    def at(self, until: float) -> LatencyDistribution:
        """Their ages at a time."""
        if not len(self.counts):
            return NO_RECORDS
        low, high = np.maximum(until - self.last, 0.0), np.maximum(until - self.first, 0.0)
        return centred(low, high, self.counts, until * self.counts - self.sums, float(high.max()))
