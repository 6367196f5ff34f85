"""Forecasters by name: the built-in ones, and those that plug-ins register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tidegate.core import Forecaster, InvalidInput, UnknownName
from tidegate.forecast.arima import Arima
from tidegate.forecast.autoregression import Autoregression
from tidegate.forecast.chooser import Chooser
from tidegate.forecast.holt import Holt
from tidegate.forecast.last import LastValue
from tidegate.forecast.linear import Linear
from tidegate.forecast.seasonal import Seasonal

#: called without arguments; returns an untrained forecaster
ForecasterFactory = Callable[[], Forecaster]

#: the built-in forecasters; read-only
FORECASTERS: Mapping[str, ForecasterFactory] = MappingProxyType(
    {
        "last": LastValue,
        "linear": Linear,
        "holt": Holt,
        "ar": Autoregression,
        "seasonal": Seasonal,
        "arima": Arima,
        "chooser": Chooser,
    }
)

_registered: dict[str, ForecasterFactory] = {}


def register(name: str, factory: ForecasterFactory) -> None:
    """Make a forecaster available to `forecaster(name)`. Registering a name again replaces the earlier factory.

    Built-in names are reserved:

    >>> register("chooser", LastValue)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: forecaster 'chooser' is built in: register yours under another name
    """
    if name in FORECASTERS:
        raise InvalidInput(f"forecaster {name!r} is built in: register yours under another name")
    _registered[name] = factory


def forecaster(name: str) -> Forecaster:
    """A new, untrained forecaster.

    >>> forecaster("last").forecast(4) is None
    True
    """
    factories = {**_registered, **FORECASTERS}
    if name not in factories:
        raise UnknownName("forecaster", name, factories)
    return factories[name]()
