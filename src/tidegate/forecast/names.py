"""Forecasters by name."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.core import Forecaster, UnknownName
from tidegate.forecast.arima import Arima
from tidegate.forecast.autoregression import Autoregression
from tidegate.forecast.chooser import Chooser
from tidegate.forecast.holt import Holt
from tidegate.forecast.last import LastValue
from tidegate.forecast.linear import Linear
from tidegate.forecast.seasonal import Seasonal

#: `chooser` is the default; those of other packages are added by whoever looks for them
FORECASTERS: dict[str, Callable[[], Forecaster]] = {
    "last": LastValue,
    "linear": Linear,
    "holt": Holt,
    "ar": Autoregression,
    "seasonal": Seasonal,
    "arima": Arima,
    "chooser": Chooser,
}


def forecaster(name: str) -> Forecaster:
    """A new one, that knows nothing yet.

    >>> forecaster("last").forecast(4) is None
    True
    """
    if name not in FORECASTERS:
        raise UnknownName("forecaster", name, FORECASTERS)
    return FORECASTERS[name]()
