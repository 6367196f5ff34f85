"""The inverse of a workload's integral: from an amount of records to the time at which it is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

#: table cells; within each, a smooth rate is nearly linear
CELLS = 16_384
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


def correct_rounding(integrals: Function, times: Array, amounts: Array, end: float) -> Array:
    """Move times that rounding left slightly too early to the first time at which the amount is reached."""
    early = np.flatnonzero(integrals(times) < amounts)
    step = np.spacing(times[early])
    while early.size:
        times[early] = np.minimum(times[early] + step, end)
        still_early = (integrals(times[early]) < amounts[early]) & (times[early] < end)
        early, step = early[still_early], step[still_early] * 2
    return times


@dataclass(frozen=True, slots=True)
class Inverse:
    """The inverse of the integral of a smooth rate.

    A table gives the cell in which an amount is reached. Within the cell the rate is taken as linear, and one step of
    Newton's method corrects the result. Where the rate is close to 0 that step may miss; bisection then finds the time.
    """

    integrals: Function
    #: times, integrals and rates at the edges of the cells
    times: Array
    sums: Array
    rates: Array

    @classmethod
    def of(cls, rates: Function, integrals: Function, duration: float) -> Inverse:
        times = np.linspace(0.0, duration, CELLS + 1)
        return cls(integrals, times, np.maximum.accumulate(integrals(times)), rates(times))

    def __call__(self, amounts: Array) -> Array:
        """Times at which the integral equals the amounts, or exceeds them by no more than its rounding error."""
        tolerance = 8 * EPS * self.sums[-1]
        targets = np.minimum(amounts + tolerance, self.sums[-1])
        cell = np.clip(np.searchsorted(self.sums, targets, side="left") - 1, 0, CELLS - 1)
        low, high, first = self.times[cell], self.times[cell + 1], self.rates[cell]
        slope = (self.rates[cell + 1] - first) / (high - low)
        rest = targets - self.sums[cell]
        offset = 2 * rest / np.maximum(first + np.sqrt(np.maximum(first**2 + 2 * slope * rest, 0.0)), TINY)
        estimates = np.clip(low + offset, low, high)
        errors = self.integrals(estimates) - targets
        times = np.clip(estimates - errors / np.maximum(first + slope * offset, TINY), low, high)
        return self._bisected(times, targets, (low, high), tolerance)

    def _bisected(self, times: Array, targets: Array, cells: tuple[Array, Array], tolerance: float) -> Array:
        errors = self.integrals(times) - targets
        inexact = np.flatnonzero(np.abs(errors) > tolerance)
        low, high = (edge[inexact] for edge in cells)
        for _ in range(64 if inexact.size else 0):
            middle = (low + high) / 2
            reached = self.integrals(middle) >= targets[inexact]
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        times[inexact] = high
        return times
