"""`last`: the mean of the last minute, at every step ahead."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import MINUTE, Array, steps_in


@dataclass(slots=True)
class LastValue(Calibrated):
    """The mean of the last `window` seconds, constant over the horizon: the naive baseline.

    >>> last = LastValue()
    >>> for rate in (90.0, 10.0, 20.0, 30.0, 40.0): last.update(rate)
    >>> last.forecast(2).mean  # (10 + 20 + 30 + 40) / 4
    (25.0, 25.0)
    """

    window: float = parameter(MINUTE, "s", "time over which the last values are averaged", above=0)
    _values: list[float] = field(default_factory=list, repr=False)

    def learn(self, value: float) -> None:
        self._values = [*self._values, value][-steps_in(self.window, self.step) :]

    def path(self, horizon: int) -> Array:
        return np.full(horizon, sum(self._values) / len(self._values))
