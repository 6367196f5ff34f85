"""Dataclass fields that describe themselves as parameters, with default, unit, meaning and bounds.

The command line lists them, the registry sets them from options, and `check` rejects values out of bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from tidegate.core.errors import InvalidInput

#: options of a policy by name: numbers, durations in seconds, or text
Options = Mapping[str, float | str]
Value = TypeVar("Value", float, int, str)
Part = TypeVar("Part")
_KEY, _PART = "parameter", "part"


@dataclass(frozen=True, slots=True)
class Parameter:
    """`above` (exclusive), `least` and `most` bound a number; `choices` lists the values of a text parameter."""

    name: str
    default: float | str
    unit: str
    meaning: str
    above: float | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """
        >>> Parameter("target", 0.7, "share", "", above=0, most=1).rule
        '0 < target <= 1'
        """
        low = (
            f"{self.above:g} < " if self.above is not None else f"{self.least:g} <= " if self.least is not None else ""
        )
        high = f" <= {self.most:g}" if self.most is not None else ""
        return f"{low}{self.name}{high}"

    def admits(self, value: float) -> bool:
        return (
            (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and math.isfinite(value)
        )


def parameter(default: Value, unit: str, meaning: str, **bounds: Any) -> Value:
    """A dataclass field that is a parameter. The unit is "" for a plain number and "share" for a share of one.

    >>> @dataclass
    ... class Rule:
    ...     target: float = parameter(0.7, "share", "CPU to aim at", above=0, most=1)
    >>> parameters(Rule)["target"].rule
    '0 < target <= 1'
    """
    declared: Value = field(default=default, metadata={_KEY: {"unit": unit, "meaning": meaning, **bounds}})
    return declared


def part(kind: type[Part]) -> Part:
    """A dataclass field that holds another dataclass, whose parameters become parameters of the whole."""
    declared: Part = field(default_factory=kind, metadata={_PART: kind})
    return declared


def parameters(kind: Any) -> dict[str, Parameter]:
    """Parameters of a dataclass and its parts by user-facing name: `down-window` for the field `down_window`."""
    declared = _declared(kind)
    for item in fields(kind):
        if _PART in item.metadata:
            declared += parameters(item.metadata[_PART]).values()
    return {parameter.name: parameter for parameter in declared}


def _declared(kind: Any) -> list[Parameter]:
    """Parameters of a dataclass, or of an instance, without those of its parts."""
    return [_parameter(item) for item in fields(kind) if _KEY in item.metadata]


def _parameter(item: Field[Any]) -> Parameter:
    default: Any = item.default
    return Parameter(name=item.name.replace("_", "-"), default=default, **item.metadata[_KEY])


def build(kind: type[Part], options: Mapping[str, Any], **arguments: Any) -> Part:
    """An instance of a dataclass, with its parameters and those of its parts set from options by user-facing name.

    >>> @dataclass
    ... class Model:
    ...     warm_up: float = parameter(120.0, "s", "time to leave out")
    >>> @dataclass
    ... class Rule:
    ...     target: float = parameter(0.7, "share", "CPU to aim at")
    ...     model: Model = part(Model)
    >>> build(Rule, {"target": 0.5, "warm-up": 30.0})
    Rule(target=0.5, model=Model(warm_up=30.0))
    """
    for item in fields(kind):  # type: ignore[arg-type]
        name = item.name.replace("_", "-")
        if _KEY in item.metadata and name in options:
            arguments[item.name] = options[name]
        elif _PART in item.metadata:
            arguments[item.name] = build(item.metadata[_PART], options)
    return kind(**arguments)


def check(thing: Any, place: str) -> None:
    """Reject a dataclass whose parameters are out of bounds. Call it from `__post_init__`.

    >>> @dataclass
    ... class Rule:
    ...     target: float = parameter(0.7, "share", "CPU to aim at", above=0, most=1)
    >>> check(Rule(target=70), "policy hpa-cpu")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: policy hpa-cpu: need 0 < target <= 1, got 70
    """
    for declared in _declared(thing):
        name, value = declared.name, getattr(thing, declared.name.replace("-", "_"))
        if declared.choices and value not in declared.choices:
            raise InvalidInput(f"{place}: need {name} to be one of {', '.join(declared.choices)}, got {value!r}")
        if isinstance(value, int | float) and not declared.admits(value):
            raise InvalidInput(f"{place}: need {declared.rule}, got {value:g}")


def typed(place: str, declared: Mapping[str, Parameter], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options converted to the types of the parameters' defaults.

    >>> typed("policy static", {"executors": Parameter("executors", 0, "", "")}, {"executors": 2.0})
    {'executors': 2}
    """
    return {name: _converted(place, declared[name], value) for name, value in options.items()}


def _converted(place: str, declared: Parameter, value: Any) -> float | str:
    if isinstance(declared.default, str):
        return str(value)
    if not isinstance(value, int | float):
        raise InvalidInput(f"{place}: option {declared.name} needs a number or a duration, got {value!r}")
    if isinstance(declared.default, int):
        if not float(value).is_integer():
            raise InvalidInput(f"{place}: need a whole number as {declared.name}, got {value:g}")
        return int(value)
    return value
