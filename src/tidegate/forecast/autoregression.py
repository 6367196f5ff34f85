"""`ar`: autoregression on one-minute means.

    x[t] = c + a1 * x[t-1] + ... + ap * x[t-p]          (or the same for the changes x[t] - x[t-1])

fitted by ridge regression over the last six hours and iterated minute by minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.ridge_ar import RidgeAr
from tidegate.forecast.values import MINUTE, Array, steps_in

#: values kept: six hours of 15 s steps
VALUES_KEPT = 1440


@dataclass(slots=True)
class Autoregression(Calibrated):
    """Ridge AR on means of `grain` seconds, refitted every minute; the last minute's mean before `order` + 6 means.

    `differenced=1` models the changes, so that forecasts do not revert to a mean level.

    >>> ar = Autoregression(order=4, ridge=1e-6)
    >>> for k in range(240): ar.update(1000.0 + 500.0 * np.cos(2 * np.pi * k / 80))
    >>> [round(rate, -1) for rate in ar.forecast(41).mean[::20]]  # a wave of 20 minutes: peak, middle, trough
    [1490.0, 1000.0, 510.0]
    """

    order: int = parameter(15, "", "number of lags", least=1, most=60)
    grain: float = parameter(MINUTE, "s", "duration of one mean", above=0)
    ridge: float = parameter(1e-3, "", "penalty on the coefficients, as a share of the variance", above=0)
    differenced: int = parameter(0, "", "1: model the changes; 0: the levels", least=0, most=1)
    _values: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    _seen: int = 0
    #: coefficients and intercept; empty before the first fit
    _model: tuple[float, ...] = field(default=(), repr=False)

    @property
    def spec(self) -> RidgeAr:
        return RidgeAr(self.order, self.grain, bool(self.differenced), self.ridge)

    def learn(self, value: float) -> None:
        self._values = np.concatenate((self._values[1 - VALUES_KEPT :], (value,)))
        self._seen += 1
        if self._seen % steps_in(MINUTE, self.step) == 0:
            self._model = self.spec.fit(self._values, self.step)

    def path(self, horizon: int) -> Array:
        return self.spec.path(self._values, self._model, self.step, horizon)
