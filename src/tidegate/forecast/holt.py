"""`holt`: a bank of damped-trend Holt filters (Gardner and McKenzie 1985), weighted by recent loss.

level' = alpha * value + (1 - alpha) * (level + phi * trend)
trend' = beta * (level' - level) + (1 - beta) * phi * trend
path(k) = level + trend * (phi + phi^2 + ... + phi^k)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import Array

ALPHAS = (0.02, 0.06, 0.15, 0.35, 0.7)
BETAS = (0.01, 0.03, 0.1, 0.3)
PHIS = (0.8, 0.95, 0.985, 1.0)
_GRID = np.array(list(product(ALPHAS, BETAS, PHIS))).T
ALPHA, BETA, PHI = _GRID
#: longest scored lead, and the interval between scored paths, in steps
MAX_LEAD, INTERVAL = 60, 4
#: decay of the losses per step: a half-life of 45 minutes at 15 s
DECAY = 0.5 ** (1 / 180)


@cache
def trend_factors(horizon: int) -> Array:
    """phi + phi^2 + ... + phi^k of every filter, for k = 1 to the horizon.

    >>> trend_factors(2)[3].tolist(), trend_factors(2)[0].round(2).tolist()  # phi = 1; phi = 0.8: 0.8, 0.8 + 0.64
    ([1.0, 2.0], [0.8, 1.44])
    """
    return np.cumsum(PHI[:, None] ** np.arange(1, horizon + 1), axis=1)


@cache
def stored_trend_factors(seen: int) -> Array:
    """Trend factors of the stored paths at the next value, after `seen` values (modulo MAX_LEAD). A row per path.

    >>> stored_trend_factors(9)[:3, 3].tolist()  # phi = 1: stored after 0, 4 and 8 values, scored at the tenth
    [10.0, 6.0, 2.0]
    """
    steps = (seen - np.arange(0, MAX_LEAD, INTERVAL)) % MAX_LEAD
    return np.ascontiguousarray(trend_factors(MAX_LEAD)[:, steps].T)


@dataclass(slots=True)
class Holt(Calibrated):
    """80 filters, from nearly constant to nearly the last value, and from no trend to an undamped one.

    The state of every fourth step is stored and its path scored against later values, up to 60 steps ahead. A filter's
    weight is (least loss / its loss) ** `power`.

    >>> holt = Holt()
    >>> for k in range(200): holt.update(1000.0 + 10 * k)
    >>> [round(rate) for rate in holt.forecast(60).mean[::59]]  # next step of a ramp, and 15 minutes ahead
    [3000, 3590]
    """

    power: float = parameter(4.0, "", "exponent of the weights: higher favours the best filters more", least=0)
    _seen: int = 0
    _level: Array = field(default_factory=lambda: np.zeros(ALPHA.size), repr=False)
    _trend: Array = field(default_factory=lambda: np.zeros(ALPHA.size), repr=False)
    #: ring buffers of stored states
    _levels: Array = field(default_factory=lambda: np.zeros((MAX_LEAD // INTERVAL, ALPHA.size)), repr=False)
    _trends: Array = field(default_factory=lambda: np.zeros((MAX_LEAD // INTERVAL, ALPHA.size)), repr=False)
    _loss: Array = field(default_factory=lambda: np.zeros(ALPHA.size), repr=False)

    def learn(self, value: float) -> None:
        if self._seen:
            self._score(value)
            self._filter(value)
        else:
            self._level = np.full(ALPHA.size, value)
        self._seen += 1
        if self._seen % INTERVAL == 0:
            row = self._seen // INTERVAL % len(self._levels)
            self._levels[row], self._trends[row] = self._level, self._trend

    def _filter(self, value: float) -> None:
        # a running mean at first, so that the first value does not dominate the slow filters
        alpha = np.maximum(ALPHA, 1.0 / (self._seen + 1))
        predicted = self._level + PHI * self._trend
        level = predicted + alpha * (value - predicted)
        self._trend = BETA * (level - self._level) + (1 - BETA) * PHI * self._trend
        self._level = level

    def _score(self, value: float) -> None:
        """Update the losses by the stored paths, which are 1 to 60 steps old. Rows fill from 1; row 0 is the last."""
        newest = self._seen // INTERVAL
        if not newest:
            return
        filled = slice(1, newest + 1) if newest < len(self._levels) else slice(None)
        paths = self._levels[filled] + self._trends[filled] * stored_trend_factors(self._seen % MAX_LEAD)[filled]
        errors = np.abs(value - np.maximum(paths, 0.0))
        self._loss = DECAY * self._loss + (1 - DECAY) * (np.add.reduce(errors, axis=0) / len(errors))

    def weights(self) -> Array:
        """Weights of the filters; they sum to one."""
        least = float(np.minimum.reduce(self._loss))
        raw = (least / self._loss) ** self.power if least > 0 else (self._loss == 0).astype(float)
        return np.asarray(raw / np.add.reduce(raw))

    def path(self, horizon: int) -> Array:
        weights = self.weights()
        return weights @ self._level + (weights * self._trend) @ trend_factors(horizon)
