"""What a rate will be: forecasters that learn it step by step, from the last value to a mixture that judges itself.

Every forecaster is a small dataclass with `update(value)` and `forecast(horizon)`. Nothing here reads a clock, draws a
random number or starts a thread: the same values give the same forecasts. `forecaster` makes one by its name.
"""

from __future__ import annotations

from tidegate.forecast.arima import Arima
from tidegate.forecast.autoregression import Autoregression
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.chooser import Chooser
from tidegate.forecast.holt import Holt
from tidegate.forecast.last import LastValue
from tidegate.forecast.linear import Linear
from tidegate.forecast.names import FORECASTERS, forecaster
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
    "wape",
]
