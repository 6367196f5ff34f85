"""`holt`: a bank of damped Holt filters, weighted by what each missed lately.

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
#: steps ahead on which filters are judged, and the steps between two judged paths
REACH, EVERY = 60, 4
#: of the losses, per step: half a weight after 45 minutes of 15 s
KEEP = 0.5 ** (1 / 180)


@cache
def damped(horizon: int) -> Array:
    """phi + phi^2 + ... + phi^k of every filter, for k up to the horizon.

    >>> damped(2)[3].tolist(), damped(2)[0].round(2).tolist()  # of phi = 1; 0.8, then 0.8 + 0.64
    ([1.0, 2.0], [0.8, 1.44])
    """
    return np.cumsum(PHI[:, None] ** np.arange(1, horizon + 1), axis=1)


@cache
def reached(seen: int) -> Array:
    """What `damped` is for each kept row, whose path is so many steps old, when as many values were seen.

    >>> reached(9)[:3, 3].tolist()  # of phi = 1: kept with values 0, 4 and 8, held against the tenth
    [10.0, 6.0, 2.0]
    """
    steps = (seen - np.arange(0, REACH, EVERY)) % REACH
    return np.ascontiguousarray(damped(REACH)[:, steps].T)


@dataclass(slots=True)
class Holt(Calibrated):
    """Eighty filters, from nearly still to nearly the last value, from flat to a straight line.

    Every fourth step's levels and trends are kept, and their paths held against what comes, up to 60 steps ahead.
    A filter's weight is (least loss / its loss) ** `power`.

    >>> holt = Holt()
    >>> for k in range(200): holt.update(1000.0 + 10 * k)
    >>> [round(rate) for rate in holt.forecast(60).mean[::59]]  # the next of a ramp, and 15 minutes on
    [3000, 3590]
    """

    power: float = parameter(4.0, "", "how much more a better filter counts", least=0)
    _seen: int = 0
    _level: Array = field(default_factory=lambda: np.zeros(ALPHA.size), repr=False)
    _trend: Array = field(default_factory=lambda: np.zeros(ALPHA.size), repr=False)
    _levels: Array = field(default_factory=lambda: np.zeros((REACH // EVERY, ALPHA.size)), repr=False)
    _trends: Array = field(default_factory=lambda: np.zeros((REACH // EVERY, ALPHA.size)), repr=False)
    _loss: Array = field(default_factory=lambda: np.zeros(ALPHA.size), repr=False)

    def learn(self, value: float) -> None:
        if self._seen:
            self._judge(value)
            self._filter(value)
        else:
            self._level = np.full(ALPHA.size, value)
        self._seen += 1
        if self._seen % EVERY == 0:
            row = self._seen // EVERY % len(self._levels)
            self._levels[row], self._trends[row] = self._level, self._trend

    def _filter(self, value: float) -> None:
        # a mean until it has forgotten the first value: no filter starts with the weight of one sample
        alpha = np.maximum(ALPHA, 1.0 / (self._seen + 1))
        expected = self._level + PHI * self._trend
        level = expected + alpha * (value - expected)
        self._trend = BETA * (level - self._level) + (1 - BETA) * PHI * self._trend
        self._level = level

    def _judge(self, value: float) -> None:
        """Kept paths are 1 to 60 steps old. The first is in row 1: row 0 is filled last."""
        newest = self._seen // EVERY
        if not newest:
            return
        filled = slice(1, newest + 1) if newest < len(self._levels) else slice(None)
        paths = self._levels[filled] + self._trends[filled] * reached(self._seen % REACH)[filled]
        missed = np.abs(value - np.maximum(paths, 0.0))
        self._loss = KEEP * self._loss + (1 - KEEP) * (np.add.reduce(missed, axis=0) / len(missed))

    def weights(self) -> Array:
        """Of the filters; they sum to one."""
        best = float(np.minimum.reduce(self._loss))
        raw = (best / self._loss) ** self.power if best > 0 else (self._loss == 0).astype(float)
        return np.asarray(raw / np.add.reduce(raw))

    def path(self, horizon: int) -> Array:
        weights = self.weights()
        return weights @ self._level + (weights * self._trend) @ damped(horizon)
