"""From an amount of records back to the time at which it was reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

#: cells in each of which a smooth rate is nearly a straight line
CELLS = 16_384
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


def settled(integrals: Function, times: Array, amounts: Array, end: float) -> Array:
    """Times, moved on by as little as rounding had left them too early."""
    late = np.flatnonzero(integrals(times) < amounts)
    step = np.spacing(times[late])
    while late.size:
        times[late] = np.minimum(times[late] + step, end)
        short = (integrals(times[late]) < amounts[late]) & (times[late] < end)
        late, step = late[short], step[short] * 2
    return times


@dataclass(frozen=True, slots=True)
class Inverse:
    """The inverse of the integral of a smooth rate.

    A table says in which cell an amount is reached. Within it the rate is taken for a straight line, and Newton's
    method mends what that leaves. Where there is hardly any rate it may leave the cell: halving then finds the time.
    """

    integrals: Function
    #: at the edges of the cells: times, integrals, rates
    times: Array
    sums: Array
    rates: Array

    @classmethod
    def of(cls, rates: Function, integrals: Function, duration: float) -> Inverse:
        times = np.linspace(0.0, duration, CELLS + 1)
        return cls(integrals, times, np.maximum.accumulate(integrals(times)), rates(times))

    def __call__(self, amounts: Array) -> Array:
        """Times at which the integral is the amount or a trifle more: as much as it is rounded by."""
        trifle = 8 * EPS * self.sums[-1]
        wanted = np.minimum(amounts + trifle, self.sums[-1])
        cell = np.clip(np.searchsorted(self.sums, wanted, side="left") - 1, 0, CELLS - 1)
        low, high, first = self.times[cell], self.times[cell + 1], self.rates[cell]
        slope = (self.rates[cell + 1] - first) / (high - low)
        rest = wanted - self.sums[cell]
        way = 2 * rest / np.maximum(first + np.sqrt(np.maximum(first**2 + 2 * slope * rest, 0.0)), TINY)
        found = np.clip(low + way, low, high)
        miss = self.integrals(found) - wanted
        better = np.clip(found - miss / np.maximum(first + slope * way, TINY), low, high)
        return self._halved(better, wanted, (low, high), trifle)

    def _halved(self, found: Array, wanted: Array, cells: tuple[Array, Array], near: float) -> Array:
        miss = self.integrals(found) - wanted
        far = np.flatnonzero(np.abs(miss) > near)
        low, high = (edge[far] for edge in cells)
        for _ in range(64 if far.size else 0):
            middle = (low + high) / 2
            over = self.integrals(middle) >= wanted[far]
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        found[far] = high
        return found
