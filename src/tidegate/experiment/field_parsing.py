"""What a user writes for a field of an experiment, as the field's value: `6h`, `250k`, 0.8, true."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, get_args, get_type_hints

from tidegate.core import InvalidInput, UnknownName
from tidegate.core.amounts import duration, rate
from tidegate.experiment.settings import Experiment

#: fields that are times, and may be written as such
TIMES = ("duration", "slo", "trigger", "period", "drain")
#: fields that a grid has its own words for, or that no comparison changes
APART = ("job", "workload", "policy", "options", "seed", "mode", "kafka", "ui_port")
WANTED = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@cache
def shareable() -> dict[str, Any]:
    """Fields of an experiment that a grid may set for all its runs, or for those of a job or workload, by type."""
    return {name: hint for name, hint in get_type_hints(Experiment).items() if name not in APART}


def field_value(place: str, name: str, value: Any) -> Any:
    """The value of a field, refused with the place where it was written if it is none.

    >>> field_value("x.toml: [run]", "duration", "6h"), field_value("x.toml: [run]", "peak", "250k")
    (21600.0, 250000.0)
    >>> field_value("x.toml: [run]", "maximum", 2.5)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: x.toml: [run]: need a whole number as maximum, got 2.5
    """
    known = shareable()
    if name not in known:
        raise UnknownName(f"key ({place})", name, known)
    if name == "failures":
        return _moments(place, value)
    if isinstance(value, str) and (name in TIMES or name == "peak"):
        return _quantity(place, name, value)
    return _typed(place, name, value)


def option_value(place: str, name: str, value: Any) -> float | str:
    """An option of a policy: a number, a duration as its seconds, or text; whether that is right, the policy knows.

    >>> option_value("x.toml", "down-window", "1m"), option_value("x.toml", "pause", "in")
    (60.0, 'in')
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidInput(f"{place}: need a number or text as option {name}, got {value!r}")
    if not isinstance(value, str):
        return value
    for read in (float, duration):
        try:
            return read(value)
        except (ValueError, InvalidInput):
            continue
    return value


def _quantity(place: str, name: str, text: str) -> float:
    try:
        return rate(text) if name == "peak" else duration(text)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {name}: {error}") from None


def _moments(place: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f'{place}: need a list of times as failures, like ["45m", "2h"], got {value!r}')
    return tuple(_quantity(place, "failures", str(one)) for one in value)


def _typed(place: str, name: str, value: Any) -> Any:
    hint = shareable()[name]
    kind = next(one for one in (bool, int, float, str) if one in (hint, *get_args(hint)))
    fits = isinstance(value, int | float if kind is float else kind) and (kind is bool) == isinstance(value, bool)
    if not fits or (kind is float and not math.isfinite(value)):
        raise InvalidInput(f"{place}: need {WANTED[kind]} as {name}, got {value!r}")
    return float(value) if kind is float else value
