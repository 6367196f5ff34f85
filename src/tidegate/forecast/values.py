"""What all forecasters take in, and how a path of coarse means becomes one of steps."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: records per second; beyond it squares of sums would leave what a float can hold
MOST = 1e18
#: seconds over which "now" is averaged, and the length of a coarse mean
MINUTE = 60.0


def admitted(value: float) -> float | None:
    """A rate that can be learned: None for what is no number, nothing below zero.

    >>> admitted(5), admitted(-3.0), admitted(float("nan")), admitted(float("inf"))
    (5.0, 0.0, None, None)
    """
    return min(max(float(value), 0.0), MOST) if math.isfinite(value) else None


def steps_in(seconds: float, step: float) -> int:
    """How many whole steps make up a time, at least one.

    >>> steps_in(60, 15), steps_in(60, 45), steps_in(5, 15)
    (4, 1, 1)
    """
    return max(1, round(seconds / step))


def coarse(values: Array, factor: int) -> Array:
    """Means of `factor` values each, counted back from the newest; what is left over at the beginning is dropped.

    >>> coarse(np.array([9.0, 1.0, 3.0, 5.0, 7.0]), 2)
    array([2., 6.])
    """
    whole = len(values) // factor
    if factor == 1:
        return values
    return np.asarray(np.add.reduce(values[len(values) - whole * factor :].reshape(whole, factor), axis=1) / factor)


def fine(last: float, means: Array, factor: int, horizon: int) -> Array:
    """Steps of a path of coarse means: straight lines between their middles, from `last`, the mean before them.

    >>> fine(0.0, np.array([4.0, 8.0]), factor=2, horizon=4)  # middles at -1, 1, 3 steps: 0, 4, 8
    array([3., 5., 7., 8.])
    """
    if factor == 1 and len(means) >= horizon:
        return means[:horizon]
    asked, middles = _middles(len(means) + 1, factor, horizon)
    return np.asarray(np.interp(asked, middles, np.concatenate(([last], means))))


@lru_cache(maxsize=64)
def _middles(count: int, factor: int, horizon: int) -> tuple[Array, Array]:
    """Of the steps, and of the means, the first of which is the one before; in steps from now."""
    return np.arange(float(horizon)) + 0.5, (np.arange(float(count)) - 0.5) * factor
