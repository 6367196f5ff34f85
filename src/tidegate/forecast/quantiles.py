"""Forecast quantiles from a forecaster's own past errors, by lead time, with adaptive conformal correction.

An error is actual minus forecast. For each lead in `LEADS` (in steps) the errors of the last half hour are kept;
offsets at other leads are interpolated linearly. Successive errors of one path are correlated, so empirical quantiles
undercover. The level that is looked up is therefore adapted after every value (adaptive conformal inference, Gibbs and
Candès 2021):

    used += LEARNING_RATE * (exceeded - (1 - level))        exceeded is 1 if the value was above the quantile, else 0

A level above 1 means that even the largest error was too small a bound: the offset then grows by WIDENING times the
excess times the distance from the median to the largest error. The excess decays by EXCESS_DECAY per value, because
the errors that caused it soon are in the sample.
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
LEAD_INDICES = np.arange(len(LEADS))
MAX_LEAD = int(LEADS[-1])
_LEADS = LEADS.tolist()
#: errors kept per lead: half an hour of 15 s steps
ERRORS_KEPT = 120
#: with fewer errors than this, a lead borrows the scaled offsets of the next shorter one
MIN_ERRORS = 8
LEARNING_RATE = 0.05
#: (level - 1): the change of a level, per unit of learning rate, when its bound held
HELD_CHANGE = np.array(LEVELS) - 1.0
WIDENING, EXCESS_DECAY, MAX_LEVEL = 5.0, 0.95, 1.5
#: offsets before any errors are known, as shares of the path
PRIOR_OFFSETS = np.array([0.0, 0.15, 0.3, 0.5])


def _zeros(*shape: int) -> Callable[[], Array]:
    return lambda: np.zeros(shape)


@dataclass(slots=True)
class ErrorQuantiles:
    """Recent errors of one forecaster, and the quantile offsets that follow from them.

    >>> quantiles = ErrorQuantiles()
    >>> for _ in range(100): quantiles.update(110.0, np.full(60, 100.0))
    >>> forecast = quantiles.forecast(np.array([50.0]), step=15)
    >>> forecast.mean, forecast.quantiles[0.5], forecast.quantiles[0.9]  # every value was 10 above its forecast
    ((50.0,), (60.0,), (60.0,))
    """

    seen: int = 0
    #: ring buffers of the latest paths at the leads, and of their quantiles: a row per step
    paths: Array = field(default_factory=_zeros(MAX_LEAD, len(LEADS)))
    bounds: Array = field(default_factory=_zeros(MAX_LEAD, len(LEADS), len(LEVELS)))
    errors: Array = field(default_factory=_zeros(len(LEADS), ERRORS_KEPT))
    #: the adapted levels, by lead
    used: Array = field(default_factory=lambda: np.tile(LEVELS, (len(LEADS), 1)))
    offsets: Array = field(default_factory=_zeros(len(LEADS), len(LEVELS)))

    def update(self, value: float, path: Array) -> None:
        """Score a value, then store the path of `MAX_LEAD` steps that was forecast after it."""
        self.seen += 1
        leads = scorable_leads(self.seen)
        if leads:
            self._score(value, leads)
        self.offsets = self._offsets(path)
        row = self.seen % MAX_LEAD
        self.paths[row] = path[LEADS - 1]
        self.bounds[row] = self.paths[row][:, None] + self.offsets

    def _score(self, value: float, leads: int) -> None:
        """Record the errors of earlier forecasts of this value, at the first `leads` leads, and adapt the levels."""
        indices, origins = LEAD_INDICES[:leads], self.seen - LEADS[:leads]
        rows = origins % MAX_LEAD
        self.errors[indices, (origins - 1) % ERRORS_KEPT] = value - self.paths[rows, indices]
        exceeded = value > self.bounds[rows, indices]
        used = self.used[:leads]
        used = np.where(used > 1.0, 1.0 + EXCESS_DECAY * (used - 1.0), used)
        self.used[:leads] = np.minimum(np.maximum(used + LEARNING_RATE * (exceeded + HELD_CHANGE), 0.0), MAX_LEVEL)

    def _offsets(self, path: Array) -> Array:
        full = self.seen >= MAX_LEAD + ERRORS_KEPT
        offsets = empirical_quantiles(self.errors, self.used) if full else self._initial_offsets(path)
        return np.maximum.accumulate(offsets, axis=1)

    def _initial_offsets(self, path: Array) -> Array:
        """Offsets while some leads have few errors or none."""
        counts = np.clip(self.seen - LEADS, 0, ERRORS_KEPT)
        offsets = np.empty_like(self.offsets)
        for k, count in enumerate(counts):
            if count >= MIN_ERRORS:
                offsets[k] = empirical_quantiles(self.errors[k, :count], self.used[k])
            elif k and counts[0] >= MIN_ERRORS:
                offsets[k] = offsets[k - 1] * np.sqrt(LEADS[k] / LEADS[k - 1])
            else:
                offsets[k] = PRIOR_OFFSETS * path[LEADS[k] - 1]
        return offsets

    def forecast(self, path: Array, step: float) -> Forecast:
        """The forecast with this path as its mean."""
        steps = np.arange(1, len(path) + 1)
        offsets = np.stack([np.interp(steps, LEADS, self.offsets[:, k]) for k in range(len(LEVELS))])
        offsets = np.maximum.accumulate(offsets)  # interpolation may round one level below the previous one
        bounds = {
            level: tuple(np.maximum(path + offset, 0.0).tolist()) for level, offset in zip(LEVELS, offsets, strict=True)
        }
        return Forecast(step, tuple(path.tolist()), bounds)


def scorable_leads(seen: int) -> int:
    """Number of leads for which a forecast of value number `seen` exists.

    >>> scorable_leads(1), scorable_leads(11), scorable_leads(500)
    (0, 3, 7)
    """
    return bisect_left(_LEADS, seen)


def empirical_quantiles(errors: Array, levels: Array) -> Array:
    """Quantiles of each row of errors at that row's levels, interpolated linearly; levels above 1 extrapolate.

    >>> empirical_quantiles(np.array([4.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.5, 0.75, 1.0]))  # ranks 0, 1.5, 2.25, 3
    array([1.  , 2.5 , 3.25, 4.  ])
    >>> empirical_quantiles(np.array([0.0, 1.0, 2.0]), np.array([1.2]))  # 2 + 0.2 * 5 * (2 - 1)
    array([3.])
    """
    ordered = np.sort(errors, axis=-1)
    count = ordered.shape[-1]
    ranks = np.minimum(levels, 1.0) * (count - 1)
    lower = ranks.astype(np.intp)
    flat, row_starts = ordered.ravel(), (np.arange(ordered.size // count) * count)[:, None]
    low, high = flat[row_starts + lower], flat[row_starts + np.minimum(lower + 1, count - 1)]
    excess = np.maximum(levels - 1.0, 0.0)
    upper_half = ordered[..., -1:] - ordered[..., count // 2 : count // 2 + 1]
    quantiles = ((high - low) * (ranks - lower) + low).reshape(levels.shape)
    return np.asarray(quantiles + excess * WIDENING * upper_half)
