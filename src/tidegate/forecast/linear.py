"""`linear`: extrapolates the least-squares line through the last minute."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import MINUTE, Array, steps_in


@dataclass(slots=True)
class Linear(Calibrated):
    """Least squares over the last `window` seconds: Daedalus' fallback.

    Follows a ramp immediately and overshoots at every turning point; noise is amplified by about horizon / window.

    >>> linear = Linear()
    >>> for rate in (10.0, 20.0, 30.0, 40.0): linear.update(rate)
    >>> linear.forecast(3).mean
    (50.0, 60.0, 70.0)
    """

    window: float = parameter(MINUTE, "s", "time over which the line is fitted", above=0)
    _values: list[float] = field(default_factory=list, repr=False)

    def learn(self, value: float) -> None:
        self._values = [*self._values, value][-max(2, steps_in(self.window, self.step)) :]

    def path(self, horizon: int) -> Array:
        centre = (len(self._values) - 1) / 2
        offsets = len(self._values) - centre + np.arange(horizon)
        return np.asarray(sum(self._values) / len(self._values) + slope(np.array(self._values)) * offsets, dtype=float)


def slope(values: Array) -> float:
    """Least-squares slope per step; 0 for a single value.

    >>> slope(np.array([1.0, 2.0, 6.0]))  # ((-1) * 1 + 0 * 2 + 1 * 6) / 2
    2.5
    """
    x = np.arange(len(values)) - (len(values) - 1) / 2
    sum_of_squares = float(x @ x)
    return float(x @ values) / sum_of_squares if sum_of_squares else 0.0
