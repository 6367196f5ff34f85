"""`chooser`: the default. A forecast combination weighted by recent loss, with a simpler combination as a safeguard.

    loss   = sum of |error| / sqrt(mean |error| of all members)    over half an hour and leads up to 15 minutes
    weight = (least loss / loss) ** power

(Inverse-loss weights: Bates and Granger 1969.) Dividing by the root discounts errors that all members share, such as
those of an unforeseeable jump. A second, simple combination has only the means of the last 1, 5 and 15 minutes and a
random walk with drift. Where the full one was no better than the simple one recently, the forecast shifts to that:

    ratio = 2 * mean of full error / (full error + simple error)        1 if both are equally good
    trust = (WORSE - ratio) / (WORSE - BETTER), clipped to [0, 1]
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.bank import AutoregressionBank
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.error_tracker import ErrorTracker
from tidegate.forecast.holt import Holt
from tidegate.forecast.last import LastValue
from tidegate.forecast.quantiles import MAX_LEAD
from tidegate.forecast.seasonal import Seasonal
from tidegate.forecast.values import MAX_RATE, Array

POWER, SIMPLE_POWER = 6.0, 20.0
BETTER, WORSE = 1.0, 1.1
#: rows of `_paths` in the simple combination: the three means, and the first of the bank, a random walk with drift
SIMPLE = slice(0, 4)


@dataclass(slots=True)
class Chooser(Calibrated):
    """Combines means, Holt filters, autoregressions and a seasonal profile.

    A new job is forecast by its last minutes; after about ten minutes waves, ramps and levels are distinguished; after
    a day (and an hour) the daily profile joins.

    >>> chooser = Chooser()
    >>> for k in range(240): chooser.update(1000.0 + 500.0 * np.cos(2 * np.pi * k / 240))
    >>> [round(rate, -2) for rate in chooser.forecast(60).mean[::59]]  # after one period of an hour: peak and middle
    [1500.0, 1000.0]
    """

    power: float = parameter(POWER, "", "exponent of the weights: higher favours the best members more", least=0)
    #: means of the last 1, 5 and 15 minutes
    last: LastValue = field(init=False, repr=False)
    calm: LastValue = field(init=False, repr=False)
    steady: LastValue = field(init=False, repr=False)
    holt: Holt = field(init=False, repr=False)
    bank: AutoregressionBank = field(init=False, repr=False)
    seasonal: Seasonal = field(init=False, repr=False)
    _members: ErrorTracker = field(init=False, repr=False)
    _mixtures: ErrorTracker = field(init=False, repr=False)
    #: paths of the full and the simple combination after the last value
    _drawn: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Calibrated.__post_init__(self)
        self.last, self.calm = LastValue(self.step), LastValue(self.step, window=300.0)
        self.steady = LastValue(self.step, window=900.0)
        self.holt, self.bank, self.seasonal = Holt(self.step), AutoregressionBank(self.step), Seasonal(self.step)
        self._members, self._mixtures = ErrorTracker.of(5 + len(self.bank.specs)), ErrorTracker.of(2)

    def learn(self, value: float) -> None:
        for member in (self.last, self.calm, self.steady, self.holt, self.seasonal):
            member.learn_uncalibrated(value)
        self.bank.learn(value)
        paths = self._paths(MAX_LEAD)
        self._members.update(value, paths)
        combined = self._combine(paths)
        self._mixtures.update(value, combined)
        self._drawn = combined

    def _paths(self, horizon: int) -> Array:
        """A row per member; the seasonal one is last."""
        means = [member.path(horizon) for member in (self.last, self.calm, self.steady)]
        others = [self.holt.path(horizon), self.seasonal.path(horizon)]
        paths = np.vstack((*means, self.bank.paths(horizon), *others))
        undefined = np.isnan(paths)
        if undefined.any():
            paths[undefined] = self._last or 0.0
        return np.asarray(np.minimum(np.maximum(paths, 0.0), MAX_RATE))

    def _combine(self, paths: Array) -> Array:
        """The full and the simple combination of the members' paths."""
        available = slice(0, len(paths) if self.seasonal.ready else -1)
        full = self._members.weights(self.power, available) @ paths[available]
        simple = self._members.weights(SIMPLE_POWER, SIMPLE) @ paths[SIMPLE]
        combined: Array = np.stack((full, simple))
        return combined

    @property
    def trust(self) -> float:
        """Weight of the full combination: 0 means the simple one alone."""
        return min(max((WORSE - self._mixtures.ratio()) / (WORSE - BETTER), 0.0), 1.0)

    def path(self, horizon: int) -> Array:
        combined = self._drawn
        if combined is None or horizon > MAX_LEAD:
            combined = self._combine(self._paths(horizon))
        trust = self.trust
        return np.asarray(trust * combined[0, :horizon] + (1 - trust) * combined[1, :horizon])
