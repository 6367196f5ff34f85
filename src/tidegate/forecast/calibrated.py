"""What forecasters share: they learn a value, draw a path, and their own past errors say how far it may be off."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from tidegate.core import Forecast
from tidegate.core.parameter_fields import check, parameter
from tidegate.forecast.quantiles import REACH, Spread
from tidegate.forecast.values import MOST, Array, admitted


@dataclass(slots=True)
class Calibrated:
    """A forecaster that says only how to `learn` a value and how to draw the `path` of the next means.

    A path is asked for after every value, to be held against what came, so it must be cheap. It may be anything that
    numbers can be: what is negative is cut off, and what is not finite becomes the last value.
    """

    step: float = parameter(15.0, "s", "time that one value stands for", above=0)
    #: None until the first value, so that members of another forecaster, who are asked for paths alone, carry none
    _spread: Spread | None = field(default=None, repr=False)
    _last: float | None = None

    def __post_init__(self) -> None:
        check(self, f"forecaster {type(self).__name__.lower()}")

    @abstractmethod
    def learn(self, value: float) -> None:
        """Take in the next value: finite and not negative."""

    @abstractmethod
    def path(self, horizon: int) -> Array:
        """Means of the next steps; asked only after the first value."""

    def update(self, value: float) -> None:
        known = admitted(value)
        if known is None:
            return
        self.take(known)
        self._spread = self._spread or Spread()
        self._spread.update(known, self.sound(REACH))

    def take(self, value: float) -> None:
        """Learn without looking at one's own errors."""
        self._last = value
        self.learn(value)

    def forecast(self, horizon: int) -> Forecast | None:
        if self._spread is None or horizon < 1:
            return None
        return self._spread.around(self.sound(horizon), self.step)

    def sound(self, horizon: int) -> Array:
        """The path without what cannot be a rate."""
        path = self.path(horizon)
        finite = np.isfinite(path)
        path = path if finite.all() else np.where(finite, path, self._last or 0.0)
        return np.minimum(np.maximum(path, 0.0), MOST)
