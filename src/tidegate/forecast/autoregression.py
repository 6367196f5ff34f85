"""`ar`: a minute as a weighted sum of the minutes before it.

    x[t] = c + a1 * x[t-1] + ... + ap * x[t-p]          (or the same of the changes x[t] - x[t-1])

fitted by ridge regression over the last six hours and carried on minute by minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.recipe import Recipe
from tidegate.forecast.values import MINUTE, Array, steps_in

#: values kept: six hours of 15 s
KEPT = 1440


@dataclass(slots=True)
class Autoregression(Calibrated):
    """Ridge AR on means of a minute, counted back from the newest value; the last mean until `order` + 6 are there.

    The coefficients are fitted anew every minute. `differenced` is 1 for a model of the changes, which has no level
    to return to.

    >>> ar = Autoregression(order=4, ridge=1e-6)
    >>> for k in range(240): ar.update(1000.0 + 500.0 * np.cos(2 * np.pi * k / 80))
    >>> [round(rate, -1) for rate in ar.forecast(41).mean[::20]]  # a wave of 20 minutes: top, middle, bottom
    [1490.0, 1000.0, 510.0]
    """

    order: int = parameter(15, "", "means that the next one is made of", least=1, most=60)
    grain: float = parameter(MINUTE, "s", "time of one mean", above=0)
    ridge: float = parameter(1e-3, "", "penalty on weights, as a share of the variance", above=0)
    differenced: int = parameter(0, "", "whether it is a model of changes (1) or of levels (0)", least=0, most=1)
    _values: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    _seen: int = 0
    _model: tuple[float, ...] = field(default=(), repr=False)

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.order, self.grain, bool(self.differenced), self.ridge)

    def learn(self, value: float) -> None:
        self._values = np.concatenate((self._values[1 - KEPT :], (value,)))
        self._seen += 1
        if self._seen % steps_in(MINUTE, self.step) == 0:
            self._model = self.recipe.fit(self._values, self.step)

    def path(self, horizon: int) -> Array:
        return self.recipe.path(self._values, self._model, self.step, horizon)
