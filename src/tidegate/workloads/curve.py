"""A smooth curve through fixed points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from tidegate.core import InvalidInput
from tidegate.workloads.inverse import Inverse
from tidegate.workloads.shape import Array, Index, RateChange, Shape


@dataclass(frozen=True)
class Curve(Shape):
    """Half a cosine wave between neighbouring points `(share of the duration, rate)`, with a slope of 0 at each point.

    No rate is above the highest point or below the lowest, and the mean between two points is half their sum.

    >>> curve = Curve(duration=100, points=((0, 0), (0.5, 80), (1, 40)))
    >>> round(curve.rate(25), 9), curve.rate(50), curve.total(50), curve.total(100)
    (40.0, 80.0, 2000, 5000)
    """

    points: tuple[tuple[float, float], ...]
    kind: ClassVar[str] = "curve"

    def __post_init__(self) -> None:
        shares = [share for share, _ in self.points]
        increasing = all(a < b for a, b in pairwise(shares))
        if len(shares) < 2 or (shares[0], shares[-1]) != (0, 1) or not increasing:
            raise InvalidInput(f"workload curve: need points with increasing shares from 0 to 1, got {shares}")
        Shape.__post_init__(self)

    def lowest(self) -> float:
        return min(rate for _, rate in self.points)

    def highest(self) -> float:
        return max(rate for _, rate in self.points)

    @cached_property
    def _edges(self) -> Array:
        return np.array([share for share, _ in self.points]) * self.duration

    @cached_property
    def _heights(self) -> Array:
        return np.array([rate for _, rate in self.points], dtype=np.float64)

    @cached_property
    def _sums(self) -> Array:
        means = (self._heights[:-1] + self._heights[1:]) / 2
        return np.concatenate(([0.0], np.cumsum(means * np.diff(self._edges))))

    def _segment(self, times: Array) -> Index:
        """Index of the segment that contains each time; the end belongs to the last one."""
        index = np.searchsorted(self._edges, times, side="right") - 1
        return np.minimum(index, len(self.points) - 2)

    def _rates(self, times: Array) -> Array:
        k = self._segment(times)
        progress = (times - self._edges[k]) / (self._edges[k + 1] - self._edges[k])
        rise = self._heights[k + 1] - self._heights[k]
        return np.asarray(self._heights[k] + rise * (1 - np.cos(np.pi * progress)) / 2)

    def _integrals(self, times: Array) -> Array:
        k = self._segment(times)
        length = self._edges[k + 1] - self._edges[k]
        progress = (times - self._edges[k]) / length
        rise = self._heights[k + 1] - self._heights[k]
        area = self._heights[k] * progress + rise * (progress - np.sin(np.pi * progress) / np.pi) / 2
        return np.asarray(self._sums[k] + length * area)

    @cached_property
    def _inverse(self) -> Inverse:
        return Inverse.of(self._rates, self._integrals, self.duration)

    def _times(self, amounts: Array) -> Array:
        return self._inverse(amounts)

    def _resized(self, duration: float, change: RateChange) -> Self:
        return type(self)(duration, tuple((share, change(rate)) for share, rate in self.points))
