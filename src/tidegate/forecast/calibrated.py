"""Base class of the forecasters: input validation, and quantiles calibrated on past errors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from tidegate.core import Forecast
from tidegate.core.parameter_fields import check, parameter
from tidegate.forecast.quantiles import MAX_LEAD, ErrorQuantiles
from tidegate.forecast.values import MAX_RATE, Array, valid_rate


@dataclass(slots=True)
class Calibrated:
    """A forecaster whose subclasses implement only `learn(value)` and `path(horizon)`.

    `path` is called after every value, to be scored against later values, so it must be cheap. It need not be valid:
    negative rates are clipped, and values that are not finite are replaced by the last value.
    """

    step: float = parameter(15.0, "s", "duration of one value", above=0)
    #: created by the first `update`, so that members of a mixture, which only provide paths, do not carry one
    _spread: ErrorQuantiles | None = field(default=None, repr=False)
    _last: float | None = None

    def __post_init__(self) -> None:
        check(self, f"forecaster {type(self).__name__.lower()}")

    @abstractmethod
    def learn(self, value: float) -> None:
        """Update the model with the next value, which is finite and not negative."""

    @abstractmethod
    def path(self, horizon: int) -> Array:
        """Mean forecast of the next steps. Called only after the first value."""

    def update(self, value: float) -> None:
        rate = valid_rate(value)
        if rate is None:
            return
        self.learn_uncalibrated(rate)
        self._spread = self._spread or ErrorQuantiles()
        self._spread.update(rate, self.valid_path(MAX_LEAD))

    def learn_uncalibrated(self, value: float) -> None:
        """Update the model but not the quantiles; for members of a mixture."""
        self._last = value
        self.learn(value)

    def forecast(self, horizon: int) -> Forecast | None:
        if self._spread is None or horizon < 1:
            return None
        return self._spread.forecast(self.valid_path(horizon), self.step)

    def valid_path(self, horizon: int) -> Array:
        """`path`, with invalid rates replaced."""
        path = self.path(horizon)
        finite = np.isfinite(path)
        path = path if finite.all() else np.where(finite, path, self._last or 0.0)
        return np.minimum(np.maximum(path, 0.0), MAX_RATE)
