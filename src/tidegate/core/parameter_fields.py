"""Dataclass fields that describe themselves as parameters, with default, unit, meaning and bounds.

The command line lists them, the registry sets them from options, and `check` rejects values out of bounds. `typed` is
the only place that converts options, whether they come from Python, a flag or a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from numbers import Real
from typing import Any, TypeVar

from tidegate.core import amounts
from tidegate.core.errors import InvalidInput

#: options of a policy by name: numbers, true or false for a switch, or text, which may be an amount with its unit
Options = Mapping[str, float | str]
Value = TypeVar("Value", float, int, str)
Part = TypeVar("Part")
_KEY, _PART = "parameter", "part"


@dataclass(frozen=True, slots=True)
class Parameter:
    """`above` (exclusive), `least` and `most` bound a number; `choices` lists the values of a text parameter. `live` is
    the default in words where a policy acts on a query, if it is another one there.
    """

    name: str
    default: float | str
    unit: str
    meaning: str
    above: float | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    live: str | None = None

    @property
    def switch(self) -> bool:
        """Whether it is off (0) or on (1)."""
        return isinstance(self.default, int) and (self.least, self.most) == (0, 1)

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


#: by unit: how an amount may be written, and what parses it
_AMOUNTS: Mapping[str, tuple[str, Callable[[str], float]]] = {
    "s": ("a duration like 90s or 3m, or a number of seconds,", amounts.duration),
    "records/s": ("a rate like 5000, 250k or 1.2M", amounts.rate),
    "records": ("a number of records like 5000, 250k or 1.2M", amounts.count),
    "share": ("a share like 70% or 0.7", amounts.share),
}
_SWITCH = {"true": 1, "on": 1, "yes": 1, "false": 0, "off": 0, "no": 0}
#: by unit: larger values are mistakes
_ABSURD = {"s": (366 * 86_400.0, "a year"), "executors": (1e6, "a million"), "cores": (1e6, "a million")}


def typed(place: str, declared: Mapping[str, Parameter], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options converted by the unit and the type of their parameters, and checked against the parameters' bounds.

    >>> known = {"interval": Parameter("interval", 15.0, "s", ""), "executors": Parameter("executors", 0, "", "")}
    >>> typed("policy mine", known, {"interval": "1m30s", "executors": 2.0})
    {'interval': 90.0, 'executors': 2}
    >>> typed("policy mine", known, {"executors": "few"})
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: policy mine: need a whole number as executors, got 'few'
    """
    return {name: _converted(place, declared[name], value) for name, value in options.items()}


def _converted(place: str, declared: Parameter, value: Any) -> float | str:
    if isinstance(declared.default, str):
        if not isinstance(value, str):
            raise InvalidInput(f"{place}: need text as {declared.name}, got {amounts.shown(value)}")
        return value
    number = _number(declared, value)
    if number is None:
        raise InvalidInput(f"{place}: need {_kind(declared)} as {declared.name}, got {amounts.shown(value)}")
    if isinstance(declared.default, int) and not float(number).is_integer():
        raise InvalidInput(f"{place}: need a whole number as {declared.name}, got {number:g}")
    _bounded(place, declared, number)
    return int(number) if isinstance(declared.default, int) else number


def _number(declared: Parameter, value: Any) -> float | None:
    """The value as a number, in the unit of the parameter; None if it is none."""
    if isinstance(value, bool):
        return int(value) if declared.switch else None
    if isinstance(value, Real):
        try:
            return value if isinstance(value, int | float) and math.isfinite(value) else float(value)
        except OverflowError:  # a whole number that no float can hold
            return None
    return _parsed(declared, value) if isinstance(value, str) else None


def _parsed(declared: Parameter, text: str) -> float | None:
    if declared.switch and text.strip().lower() in _SWITCH:
        return _SWITCH[text.strip().lower()]
    if (plain := amounts.number(text)) is not None:
        return plain
    try:
        return _AMOUNTS[declared.unit][1](text)
    except (KeyError, InvalidInput):
        return None


def _kind(declared: Parameter) -> str:
    if declared.switch:
        return "true or false, or 1 or 0,"
    plain = "a whole number" if isinstance(declared.default, int) else "a number"
    return _AMOUNTS[declared.unit][0] if declared.unit in _AMOUNTS else plain


def _bounded(place: str, declared: Parameter, value: float) -> None:
    if not declared.admits(value):
        rule = declared.rule if declared.rule != declared.name else f"a finite number as {declared.name}"
        raise InvalidInput(f"{place}: need {rule}, got {value:g}")
    most, words = _ABSURD.get(declared.unit, (math.inf, ""))
    if value > most:
        raise InvalidInput(f"{place}: need {declared.name} <= {most:g} {declared.unit} ({words}), got {value:g}")
