"""Constant levels of equal length: traces, and generators of one value per minute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import ClassVar, Self

import numpy as np

from tidegate.workloads.shape import Array, Index, RateChange, Shape


@dataclass(frozen=True)
class Steps(Shape):
    """Each level lasts for an equal share of the duration.

    >>> steps = Steps(duration=30, levels=(0, 20, 10))
    >>> steps.rate(10), steps.total(20), steps.total(30)
    (20.0, 200, 300)
    """

    levels: tuple[float, ...]
    kind: ClassVar[str] = "steps"

    def lowest(self) -> float:
        return min(self.levels, default=-math.inf)

    def highest(self) -> float:
        return max(self.levels, default=math.inf)

    @cached_property
    def _heights(self) -> Array:
        return np.array(self.levels, dtype=np.float64)

    @cached_property
    def _edges(self) -> Array:
        return np.arange(len(self.levels) + 1) * self.duration / len(self.levels)

    @cached_property
    def _sums(self) -> Array:
        return np.array(sums(self.levels, self.duration))

    def _step(self, times: Array) -> Index:
        """Index of the step that contains each time; the end belongs to the last one."""
        index = np.searchsorted(self._edges, times, side="right") - 1
        return np.minimum(index, len(self.levels) - 1)

    def _rates(self, times: Array) -> Array:
        return np.asarray(self._heights[self._step(times)])

    def _integrals(self, times: Array) -> Array:
        k = self._step(times)
        inside = self._sums[k] + self._heights[k] * (times - self._edges[k])
        return np.asarray(np.minimum(inside, self._sums[k + 1]))

    def _times(self, amounts: Array) -> Array:
        # the first edge at which the amount is reached is the end of its step, whose level is above 0
        k = np.maximum(np.searchsorted(self._sums, amounts, side="left") - 1, 0)
        rest = np.divide(amounts - self._sums[k], self._heights[k], where=self._heights[k] > 0, out=np.zeros(k.shape))
        return np.asarray(np.minimum(self._edges[k] + rest, self._edges[k + 1]))

    def _resized(self, duration: float, change: RateChange) -> Self:
        return type(self)(duration, tuple(change(level) for level in self.levels))


def sums(levels: Sequence[float], duration: float) -> list[float]:
    """The integral at every edge between levels. Summed in integers and rounded once, so a long trace has no drift.

    >>> sums((0.1,) * 10, 10)[-1], sum([0.1] * 10)
    (1.0, 0.9999999999999999)
    """
    length = Fraction(duration) / len(levels)
    if (whole := _whole_sums(levels, length)) is not None:
        return whole
    ratios = [level.as_integer_ratio() for level in levels]
    # denominators are powers of two, so the largest is a multiple of all others
    common = max(denominator for _, denominator in ratios)
    totals = accumulate(numerator * (common // denominator) for numerator, denominator in ratios)
    return [0.0, *(total * length.numerator / (common * length.denominator) for total in totals)]


def _whole_sums(levels: Sequence[float], length: Fraction) -> list[float] | None:
    """The same for whole levels and seconds, as in traces of logs, in a tenth of the time: no sum needs rounding."""
    heights = np.array(levels, dtype=np.float64)
    if length.denominator != 1 or np.any(heights != np.rint(heights)):
        return None
    totals = np.cumsum(heights) * length.numerator
    return [0.0, *totals.tolist()] if totals[-1] <= 2.0**53 else None
