"""Helpers shared by the forecasters: input validation, and resampling between steps and coarser block means."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: records per second; squared sums of larger rates would overflow a float
MAX_RATE = 1e18
#: seconds; the window that counts as "now", and the length of a coarse mean
MINUTE = 60.0


def valid_rate(value: float) -> float | None:
    """`value` clipped to [0, MAX_RATE], or None if it is not finite.

    >>> valid_rate(5), valid_rate(-3.0), valid_rate(float("nan")), valid_rate(float("inf"))
    (5.0, 0.0, None, None)
    """
    return min(max(float(value), 0.0), MAX_RATE) if math.isfinite(value) else None


def steps_in(seconds: float, step: float) -> int:
    """Number of steps in a duration, rounded, at least one.

    >>> steps_in(60, 15), steps_in(60, 45), steps_in(5, 15)
    (4, 1, 1)
    """
    return max(1, round(seconds / step))


def block_means(values: Array, factor: int) -> Array:
    """Means of consecutive blocks of `factor` values, aligned to the newest; an incomplete oldest block is dropped.

    >>> block_means(np.array([9.0, 1.0, 3.0, 5.0, 7.0]), 2)
    array([2., 6.])
    """
    blocks = len(values) // factor
    if factor == 1:
        return values
    return np.asarray(np.add.reduce(values[len(values) - blocks * factor :].reshape(blocks, factor), axis=1) / factor)


def interpolate_means(last: float, means: Array, factor: int, horizon: int) -> Array:
    """Steps of a path of block means, interpolated linearly between block centres; `last` is the mean before them.

    >>> interpolate_means(0.0, np.array([4.0, 8.0]), factor=2, horizon=4)  # centres at -1, 1, 3 steps: 0, 4, 8
    array([3., 5., 7., 8.])
    """
    if factor == 1 and len(means) >= horizon:
        return means[:horizon]
    step_centres, block_centres = _centres(len(means) + 1, factor, horizon)
    return np.asarray(np.interp(step_centres, block_centres, np.concatenate(([last], means))))


@lru_cache(maxsize=64)
def _centres(blocks: int, factor: int, horizon: int) -> tuple[Array, Array]:
    """Centres of the steps and of the blocks, in steps from now; the first block lies in the past."""
    return np.arange(float(horizon)) + 0.5, (np.arange(float(blocks)) - 0.5) * factor
