"""How far a path may be off: quantiles of its own past errors, by lead, corrected until they hold.

An error is what came minus what was forecast. For a few leads (`LEADS`, in steps) the errors of the last half hour are
kept; between the leads offsets are straight lines. Errors of one path are alike for many steps, so the level that is
looked up is itself corrected (adaptive conformal inference, Gibbs and Candès 2021):

    used += RATE * (missed - (1 - level))        after each value; missed is 1 where it was above the quantile

A level above 1 means that even the largest error was too small a bound: by its excess times `WIDER` the distance from
median to largest error is added. The excess fades with `FADE` per value, as what surprised is soon among the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tidegate.core import Forecast
from tidegate.forecast.values import Array

LEVELS = (0.5, 0.75, 0.9, 0.95)
LEADS = np.array([1, 4, 10, 20, 30, 45, 60])
REACH = int(LEADS[-1])
#: errors kept of each lead: half an hour of steps of 15 s
KEPT = 120
#: errors of a lead before which those of a shorter lead, made wider, stand in
ENOUGH = 8
RATE = 0.05
WIDER, FADE, HIGHEST = 5.0, 0.95, 1.5
#: offsets before any error is known, as shares of the path
PRIOR = np.array([0.0, 0.15, 0.3, 0.5])


def _zeros(*shape: int) -> Callable[[], Array]:
    return lambda: np.zeros(shape)


@dataclass(slots=True)
class Spread:
    """The errors of one forecaster's paths.

    >>> spread = Spread()
    >>> for _ in range(100): spread.update(110.0, np.full(60, 100.0))
    >>> found = spread.around(np.array([50.0]), step=15)
    >>> found.mean, found.quantiles[0.5], found.quantiles[0.9]  # 10 more came than was forecast, every time
    ((50.0,), (60.0,), (60.0,))
    """

    seen: int = 0
    #: the last paths at the leads, and their quantiles: a row for each step
    paths: Array = field(default_factory=_zeros(REACH, len(LEADS)))
    bounds: Array = field(default_factory=_zeros(REACH, len(LEADS), len(LEVELS)))
    errors: Array = field(default_factory=_zeros(len(LEADS), KEPT))
    #: the levels that are looked up
    used: Array = field(default_factory=lambda: np.tile(LEVELS, (len(LEADS), 1)))
    offsets: Array = field(default_factory=_zeros(len(LEADS), len(LEVELS)))

    def update(self, value: float, path: Array) -> None:
        """A value, and the path that was drawn after it, `REACH` steps long."""
        self.seen += 1
        due = np.flatnonzero(self.seen > LEADS)
        if due.size:
            self._learn(value, due)
        self.offsets = self._offsets(path)
        row = self.seen % REACH
        self.paths[row] = path[LEADS - 1]
        self.bounds[row] = self.paths[row][:, None] + self.offsets

    def _learn(self, value: float, due: np.ndarray) -> None:
        rows = (self.seen - LEADS[due]) % REACH
        self.errors[due, (self.seen - LEADS[due] - 1) % KEPT] = value - self.paths[rows, due]
        missed = value > self.bounds[rows, due]
        used = self.used[due]
        used = np.where(used > 1.0, 1.0 + FADE * (used - 1.0), used)
        self.used[due] = np.clip(used + RATE * (missed - 1.0 + np.array(LEVELS)), 0.0, HIGHEST)

    def _offsets(self, path: Array) -> Array:
        counts = np.clip(self.seen - LEADS, 0, KEPT)
        found = np.empty_like(self.offsets)
        for k, count in enumerate(counts):
            if count >= ENOUGH:
                found[k] = looked_up(self.errors[k, :count], self.used[k])
            elif k and counts[0] >= ENOUGH:
                found[k] = found[k - 1] * np.sqrt(LEADS[k] / LEADS[k - 1])
            else:
                found[k] = PRIOR * path[LEADS[k] - 1]
        return np.maximum.accumulate(found, axis=1)

    def around(self, path: Array, step: float) -> Forecast:
        """The forecast that has this path as its mean."""
        steps = np.arange(1, len(path) + 1)
        spreads = np.stack([np.interp(steps, LEADS, self.offsets[:, k]) for k in range(len(LEVELS))])
        spreads = np.maximum.accumulate(spreads)  # rounding may have put one level a digit below the one before
        bounds = {
            level: tuple(np.maximum(path + one, 0.0).tolist()) for level, one in zip(LEVELS, spreads, strict=True)
        }
        return Forecast(step, tuple(path.tolist()), bounds)


def looked_up(errors: Array, levels: Array) -> Array:
    """Quantiles at levels from 0 on; 1 is the largest error, and beyond it there is `WIDER`.

    >>> looked_up(np.array([4.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.5, 0.75, 1.0]))  # places 0, 1.5, 2.25 and 3 of 3
    array([1.  , 2.5 , 3.25, 4.  ])
    >>> looked_up(np.array([0.0, 1.0, 2.0]), np.array([1.2]))  # 2 + 0.2 * 5 * (2 - 1)
    array([3.])
    """
    ordered = np.sort(errors)
    excess = np.maximum(levels - 1.0, 0.0)
    inside = np.interp(levels * (len(ordered) - 1), np.arange(len(ordered)), ordered)
    return np.asarray(inside + excess * WIDER * (ordered[-1] - ordered[len(ordered) // 2]))
