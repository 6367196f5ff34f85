"""Parsing of values that users write for fields of an experiment: `6h`, `250k`, 0.8, true."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, get_args, get_type_hints

from tidegate.core import InvalidInput, UnknownName
from tidegate.core.amounts import duration, rate
from tidegate.core.reading import shown
from tidegate.experiment.settings import Experiment

#: fields that may be written as durations
TIMES = ("duration", "slo", "trigger", "period", "drain")
#: fields that a grid sets in another way, that a comparison cannot change, or that only a started run has
FIXED = ("job", "workload", "policy", "options", "seed", "mode", "kafka", "ui_port", "source", "workload_spec", "start")
TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@cache
def shareable() -> dict[str, Any]:
    """Fields of an experiment, with their types, that a grid may set for all runs or for those of a job or workload."""
    return {name: hint for name, hint in get_type_hints(Experiment).items() if name not in FIXED}


def field_value(place: str, name: str, value: Any) -> Any:
    """Parse and check the value of a field; errors name the place where it was written.

    >>> field_value("x.toml: [run]", "duration", "6h"), field_value("x.toml: [run]", "peak", "250k")
    (21600.0, 250000.0)
    >>> field_value("x.toml: [run]", "maximum", 2.5)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: x.toml: [run]: need a whole number as maximum, got 2.5
    """
    allowed = shareable()
    if name not in allowed:
        raise UnknownName(f"key ({place})", name, allowed)
    if name == "failures":
        return _moments(place, value)
    if isinstance(value, str) and (name in TIMES or name == "peak"):
        return _quantity(place, name, value)
    return _typed(place, name, value)


def option_value(place: str, name: str, value: Any) -> float | str:
    """Check that a value can be an option of a policy. Only the policy knows its unit: `presets` parses it.

    >>> option_value("x.toml", "down-window", "1m"), option_value("x.toml", "ceiling", False)
    ('1m', False)
    """
    if not isinstance(value, int | float | str):
        raise InvalidInput(f"{place}: need a number or text as option {name}, got {shown(value)}")
    return value


def _quantity(place: str, name: str, text: str) -> float:
    try:
        return rate(text) if name == "peak" else duration(text)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {name}: {error}") from None


def _moments(place: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f'{place}: need a list of times as failures, like ["45m", "2h"], got {value!r}')
    return tuple(_quantity(place, "failures", str(time)) for time in value)


def _typed(place: str, name: str, value: Any) -> Any:
    hint = shareable()[name]
    kind = next(candidate for candidate in (bool, int, float, str) if candidate in (hint, *get_args(hint)))
    fits = isinstance(value, int | float if kind is float else kind) and (kind is bool) == isinstance(value, bool)
    if not fits or (kind is float and not math.isfinite(value)):
        raise InvalidInput(f"{place}: need {TYPE_NAMES[kind]} as {name}, got {shown(value)}")
    return float(value) if kind is float else value
