"""How far a path may be off: quantiles of its own past errors, by lead, corrected until they hold.

An error is what came minus what was forecast. For a few leads (`LEADS`, in steps) the errors of the last half hour are
kept; between the leads offsets are straight lines. Errors of one path are alike for many steps, so the level that is
looked up is itself corrected (adaptive conformal inference, Gibbs and Candès 2021):

    used += RATE * (missed - (1 - level))        after each value; missed is 1 where it was above the quantile

A level above 1 means that even the largest error was too small a bound: by its excess times `WIDER` the distance from
median to largest error is added. The excess fades with `FADE` per value, as what surprised is soon among the errors.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tidegate.core import Forecast
from tidegate.forecast.values import Array

LEVELS = (0.5, 0.75, 0.9, 0.95)
LEADS = np.array([1, 4, 10, 20, 30, 45, 60])
#: places of the leads, as an index
EACH = np.arange(len(LEADS))
REACH = int(LEADS[-1])
_LEADS = LEADS.tolist()
#: errors kept of each lead: half an hour of steps of 15 s
KEPT = 120
#: errors of a lead before which those of a shorter lead, made wider, stand in
ENOUGH = 8
RATE = 0.05
#: what a level moves by where its bound held
HELD = np.array(LEVELS) - 1.0
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
        due = leads_before(self.seen)
        if due:
            self._learn(value, due)
        self.offsets = self._offsets(path)
        row = self.seen % REACH
        self.paths[row] = path[LEADS - 1]
        self.bounds[row] = self.paths[row][:, None] + self.offsets

    def _learn(self, value: float, due: int) -> None:
        """From the paths that were drawn for this value, at the first `due` leads."""
        each, ago = EACH[:due], self.seen - LEADS[:due]
        rows = ago % REACH
        self.errors[each, (ago - 1) % KEPT] = value - self.paths[rows, each]
        missed = value > self.bounds[rows, each]
        used = self.used[:due]
        used = np.where(used > 1.0, 1.0 + FADE * (used - 1.0), used)
        self.used[:due] = np.minimum(np.maximum(used + RATE * (missed + HELD), 0.0), HIGHEST)

    def _offsets(self, path: Array) -> Array:
        full = self.seen >= REACH + KEPT
        found = looked_up(self.errors, self.used) if full else self._first_offsets(path)
        return np.maximum.accumulate(found, axis=1)

    def _first_offsets(self, path: Array) -> Array:
        """While the errors of some leads are few."""
        counts = np.clip(self.seen - LEADS, 0, KEPT)
        found = np.empty_like(self.offsets)
        for k, count in enumerate(counts):
            if count >= ENOUGH:
                found[k] = looked_up(self.errors[k, :count], self.used[k])
            elif k and counts[0] >= ENOUGH:
                found[k] = found[k - 1] * np.sqrt(LEADS[k] / LEADS[k - 1])
            else:
                found[k] = PRIOR * path[LEADS[k] - 1]
        return found

    def around(self, path: Array, step: float) -> Forecast:
        """The forecast that has this path as its mean."""
        steps = np.arange(1, len(path) + 1)
        spreads = np.stack([np.interp(steps, LEADS, self.offsets[:, k]) for k in range(len(LEVELS))])
        spreads = np.maximum.accumulate(spreads)  # rounding may have put one level a digit below the one before
        bounds = {
            level: tuple(np.maximum(path + one, 0.0).tolist()) for level, one in zip(LEVELS, spreads, strict=True)
        }
        return Forecast(step, tuple(path.tolist()), bounds)


def leads_before(seen: int) -> int:
    """How many leads are shorter than so many values: for them a path was drawn that can be judged.

    >>> leads_before(1), leads_before(11), leads_before(500)
    (0, 3, 7)
    """
    return bisect_left(_LEADS, seen)


def looked_up(errors: Array, levels: Array) -> Array:
    """Quantiles at levels from 0 on; 1 is the largest error, and beyond it there is `WIDER`. Of errors in rows, each
    row's at its own levels.

    >>> looked_up(np.array([4.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.5, 0.75, 1.0]))  # places 0, 1.5, 2.25 and 3 of 3
    array([1.  , 2.5 , 3.25, 4.  ])
    >>> looked_up(np.array([0.0, 1.0, 2.0]), np.array([1.2]))  # 2 + 0.2 * 5 * (2 - 1)
    array([3.])
    """
    ordered = np.sort(errors, axis=-1)
    count = ordered.shape[-1]
    places = np.minimum(levels, 1.0) * (count - 1)
    below = places.astype(np.intp)
    flat, begins = ordered.ravel(), (np.arange(ordered.size // count) * count)[:, None]
    low, high = flat[begins + below], flat[begins + np.minimum(below + 1, count - 1)]
    excess = np.maximum(levels - 1.0, 0.0)
    upper = ordered[..., -1:] - ordered[..., count // 2 : count // 2 + 1]
    inside = ((high - low) * (places - below) + low).reshape(levels.shape)
    return np.asarray(inside + excess * WIDER * upper)
