"""The laws of growth that a capacity may follow, as curves over effective slots (`tasks`).

| law | capacity with n effective slots | shape |
| --- | --- | --- |
| proportional | n | none |
| linear | a n + c, c < 0: overhead of tasks, slots that only keep an operator alive | mean elasticity, 1 to 2 |
| square root, logarithm | a g(n) + c: StreamBed's sub-linear models | mean elasticity, 0 to 2 |
| usl | n / (1 + contention (n - 1) + coherency n (n - 1)) | mean elasticity, 0 to 1 |
| skew | n / (the largest of n loads on average), Pareto distributed | 1 / their index, 0 to 1/2 |
| power | n ** (1 - shape), which skew becomes with many tasks | 0 to 1/2 |
| stragglers | n / (1 + shape * z(n)): the slowest of n tasks, z standard deviations over the mean | 0 to 1/2 |

The linear law in effective slots is the micro-batch model without a limit (`microbatch_candidate`). A law has one free
shape, uniform in its range before anything is measured. For most it is the mean elasticity between the fewest and the
most measured slots: by what share capacity grows if slots grow by 1 %. The range says what is believed: a loss too
small to be visible in the testbed is improbable, not excluded. A positive intercept, capacity without slots, is not
among the laws. Every curve is non-decreasing: slots beyond a peak need not be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtri

from tidegate.planner.measurement import Array

#: share of a capacity that counts as none, where a line crosses zero below the fewest slots
LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Ends:
    """The fewest and the most effective slots that were measured, taken at least a factor of 2 apart.

    >>> Ends.of(np.array([1.0, 1.0])), Ends.of(np.array([3.0, 48.0]))
    (Ends(low=1.0, high=2.0), Ends(low=3.0, high=48.0))
    """

    low: float
    high: float

    @classmethod
    def of(cls, effective: Array) -> Ends:
        high = max(2.0, float(effective.max()))
        return cls(min(float(effective.min()), high / 2), high)

    def ratio(self, elasticity: Array) -> Array:
        """Capacity at the low end over capacity at the high end."""
        return np.exp(-elasticity * math.log(self.high / self.low))


#: logarithm of capacity relative to the high end, for every shape (rows) and effective slots (columns)
Curve = Callable[[Array, Array, Ends], Array]


@dataclass(frozen=True, slots=True)
class Law:
    """`share` is its prior weight among the laws."""

    name: str
    low: float
    high: float
    curve: Curve
    share: float = 1.0

    def shapes(self, count: int, low: float | None = None, high: float | None = None) -> Array:
        """Midpoints of equal cells between two shapes, by default of the whole range.

        >>> LAWS[1].shapes(4)
        array([1.125, 1.375, 1.625, 1.875])
        """
        low, high = self.low if low is None else low, self.high if high is None else high
        return low + (np.arange(count) + 0.5) * (high - low) / count


def _proportional(shapes: Array, effective: Array, ends: Ends) -> Array:
    curve: Array = np.log(effective / ends.high)[None, :].repeat(shapes.size, axis=0)
    return curve


def _with_intercept(transform: Callable[[Array], Array]) -> Curve:
    """a g(n) + c, through both ends."""

    def curve(shapes: Array, effective: Array, ends: Ends) -> Array:
        low, high = transform(np.array([ends.low, ends.high]))
        position = (transform(effective) - low) / (high - low)
        ratio = ends.ratio(shapes)[:, None]
        logarithm: Array = np.log(np.maximum(ratio + (1 - ratio) * position, LEAST))
        return logarithm

    return curve


def _scalability(coherent: float) -> Curve:
    """The universal scalability law (`capacity.usl`) for arrays of coefficients.

    `coherent` is the part of the loss at the high end, against a single slot, that is due to coherency.
    """

    def curve(shapes: Array, effective: Array, ends: Ends) -> Array:
        # (1 + loss) / (1 + loss at the low end) = lost: solved for the loss at the high end
        lost = np.exp((1 - shapes) * math.log(ends.high / ends.low))
        low = ends.low - 1.0
        at_low = (1 - coherent) * low / (ends.high - 1) + coherent * ends.low * low / (ends.high * (ends.high - 1))
        loss = (lost - 1) / (1 - lost * at_low)
        contention = ((1 - coherent) * loss / (ends.high - 1))[:, None]
        coherency = (coherent * loss / (ends.high * (ends.high - 1)))[:, None]
        peak = np.sqrt(np.maximum(1 - contention, 0) / np.maximum(coherency, 1e-300))

        def logarithm(n: Array) -> Array:
            n = np.minimum(n, np.maximum(peak, 1.0))
            law: Array = np.log(n) - np.log1p(np.maximum(n - 1, 0) * (contention + coherency * n))
            return law

        return logarithm(effective[None, :]) - logarithm(np.array([[ends.high]]))

    return curve


def _relative(logarithm: Callable[[Array, Array], Array]) -> Curve:
    """From the logarithm of capacity by shape and effective slots, to that of capacity relative to the high end."""

    def curve(shapes: Array, effective: Array, ends: Ends) -> Array:
        shape = shapes[:, None]
        return logarithm(shape, effective[None, :]) - logarithm(shape, np.array([[ends.high]]))

    return curve


def _skew(shape: Array, n: Array) -> Array:
    """The mean of the largest of n loads is G(n + 1) / G(n + 1 - shape), up to a factor without n."""
    law: Array = np.log(n) - gammaln(n + 1) + gammaln(n + 1 - shape)
    return law


def _power(shape: Array, n: Array) -> Array:
    return (1 - shape) * np.log(n)


def _stragglers(shape: Array, n: Array) -> Array:
    """The mean of the largest of n normal values, by Blom's approximation."""
    n = np.maximum(n, 1)
    law: Array = np.log(n) - np.log1p(shape * ndtri((n - 0.375) / (n + 0.25)))
    return law


#: the variants of the law of scalability, and of the slowest task, share the weight of a law
LAWS = (
    Law("proportional", 1.0, 1.0, _proportional),
    Law("linear", 1.0, 2.0, _with_intercept(np.asarray)),
    Law("square root", 0.0, 2.0, _with_intercept(np.sqrt)),
    Law("logarithm", 0.0, 2.0, _with_intercept(np.log)),
    Law("usl", 0.0, 1.0, _scalability(0.0), share=1 / 3),
    Law("usl", 0.0, 1.0, _scalability(0.5), share=1 / 3),
    Law("usl", 0.0, 1.0, _scalability(1.0), share=1 / 3),
    Law("skew", 0.0, 0.5, _relative(_skew), share=1 / 3),
    Law("power", 0.0, 0.5, _relative(_power), share=1 / 3),
    Law("stragglers", 0.0, 0.5, _relative(_stragglers), share=1 / 3),
)
