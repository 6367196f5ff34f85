"""Parameters that describe themselves: default, unit, meaning and bounds stand once, at the field that they are.

The command line lists them, the registry reads options into them, and `check` refuses what is out of bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from tidegate.core.errors import InvalidInput

Value = TypeVar("Value", float, int, str)
Part = TypeVar("Part")
_KEY, _PART = "parameter", "part"


@dataclass(frozen=True, slots=True)
class Parameter:
    """`above` and `least` bound it from below, the first exclusively; `most` from above; `choices` where it is text."""

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
    """A dataclass field that is a parameter. The unit of a pure number is ""; of a share of one, "share".

    >>> @dataclass
    ... class Rule:
    ...     target: float = parameter(0.7, "share", "CPU to aim at", above=0, most=1)
    >>> parameters(Rule)["target"].rule
    '0 < target <= 1'
    """
    made: Value = field(default=default, metadata={_KEY: {"unit": unit, "meaning": meaning, **bounds}})
    return made


def part(kind: type[Part]) -> Part:
    """A dataclass field that holds a part with parameters of its own, which become parameters of the whole."""
    made: Part = field(default_factory=kind, metadata={_PART: kind})
    return made


def parameters(kind: Any) -> dict[str, Parameter]:
    """Those of a dataclass and its parts, by the names that users give: `down-window` for the field `down_window`."""
    found = [_read(one) for one in fields(kind) if _KEY in one.metadata]
    for one in fields(kind):
        if _PART in one.metadata:
            found += parameters(one.metadata[_PART]).values()
    return {one.name: one for one in found}


def build(kind: type[Part], options: Mapping[str, Any], **given: Any) -> Part:
    """An object of a dataclass, its parameters and those of its parts from options by the names that users give.

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
    arguments = dict(given)
    for one in fields(kind):  # type: ignore[arg-type]
        name = one.name.replace("_", "-")
        if _KEY in one.metadata and name in options:
            arguments[one.name] = options[name]
        elif _PART in one.metadata:
            arguments[one.name] = build(one.metadata[_PART], options)
    return kind(**arguments)


def _read(one: Field[Any]) -> Parameter:
    default: Any = one.default
    return Parameter(name=one.name.replace("_", "-"), default=default, **one.metadata[_KEY])


def check(thing: Any, place: str) -> None:
    """Refuse a dataclass whose parameters are out of bounds: call it from `__post_init__`.

    >>> @dataclass
    ... class Rule:
    ...     target: float = parameter(0.7, "share", "CPU to aim at", above=0, most=1)
    >>> check(Rule(target=70), "policy hpa-cpu")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: policy hpa-cpu: need 0 < target <= 1, got 70
    """
    for one in [_read(one) for one in fields(thing) if _KEY in one.metadata]:
        name, value = one.name, getattr(thing, one.name.replace("-", "_"))
        if one.choices and value not in one.choices:
            raise InvalidInput(f"{place}: need {name} to be one of {', '.join(one.choices)}, got {value!r}")
        if isinstance(value, int | float) and not one.admits(value):
            raise InvalidInput(f"{place}: need {one.rule}, got {value:g}")


def typed(place: str, known: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a user gives them, each of the type that its default has.

    >>> typed("policy static", {"executors": Parameter("executors", 0, "", "")}, {"executors": 2.0})
    {'executors': 2}
    """
    return {name: _as(place, known[name], value) for name, value in given.items()}


def _as(place: str, one: Parameter, value: Any) -> float | str:
    if isinstance(one.default, str):
        return str(value)
    if not isinstance(value, int | float):
        raise InvalidInput(f"{place}: option {one.name} needs a number or a duration, got {value!r}")
    if isinstance(one.default, int):
        if not float(value).is_integer():
            raise InvalidInput(f"{place}: need a whole number as {one.name}, got {value:g}")
        return int(value)
    return value
