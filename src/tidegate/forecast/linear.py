"""`linear`: the straight line through the last minute, drawn on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import MINUTE, Array, steps_in


@dataclass(slots=True)
class Linear(Calibrated):
    """Least squares through the last `window` seconds: the fallback of Daedalus.

    It follows a ramp at once and overshoots at every turn; noise is magnified by about the horizon over the window.

    >>> linear = Linear()
    >>> for rate in (10.0, 20.0, 30.0, 40.0): linear.update(rate)
    >>> linear.forecast(3).mean
    (50.0, 60.0, 70.0)
    """

    window: float = parameter(MINUTE, "s", "time through which the line is drawn", above=0)
    _values: list[float] = field(default_factory=list, repr=False)

    def learn(self, value: float) -> None:
        self._values = [*self._values, value][-max(2, steps_in(self.window, self.step)) :]

    def path(self, horizon: int) -> Array:
        middle = (len(self._values) - 1) / 2
        ahead = len(self._values) - middle + np.arange(horizon)
        return np.asarray(sum(self._values) / len(self._values) + slope(np.array(self._values)) * ahead, dtype=float)


def slope(values: Array) -> float:
    """Of the line by least squares, per step; level where there is one value.

    >>> slope(np.array([1.0, 2.0, 6.0]))  # ((-1) * 1 + 0 * 2 + 1 * 6) / 2
    2.5
    """
    x = np.arange(len(values)) - (len(values) - 1) / 2
    squares = float(x @ x)
    return float(x @ values) / squares if squares else 0.0
