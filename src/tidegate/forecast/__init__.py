"""Forecasters of an arrival rate, trained one value at a time.

Every forecaster is a dataclass with `update(value)` and `forecast(horizon)`; `forecaster(name)` creates one. They are
deterministic: none reads a clock, draws random numbers or starts a thread.
"""

from __future__ import annotations

from tidegate.forecast.arima import Arima
from tidegate.forecast.autoregression import Autoregression
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.chooser import Chooser
from tidegate.forecast.holt import Holt
from tidegate.forecast.last import LastValue
from tidegate.forecast.linear import Linear
from tidegate.forecast.names import FORECASTERS, forecaster, register
from tidegate.forecast.seasonal import Seasonal
from tidegate.forecast.series import Outlook, wape

__all__ = [
    "FORECASTERS",
    "Arima",
    "Autoregression",
    "Calibrated",
    "Chooser",
    "Holt",
    "LastValue",
    "Linear",
    "Outlook",
    "Seasonal",
    "forecaster",
    "register",
    "wape",
]
