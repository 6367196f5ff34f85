"""Specs and results as JSON values, and back: the only place that knows their keys.

A result's figures stand beside its names, not below them. Keys of a later version are refused with a sentence; those
that an earlier version did not write have their defaults.

>>> from tidegate.runs.result import RunResult
>>> encode(RunResult("r1", "failed", job="q1", error="no Java"))["error"]
'no Java'
>>> decode(RunResult, encode(RunResult("r1", "failed", error="no Java")), "r1").error
'no Java'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tidegate.core import InvalidInput
from tidegate.core.reading import shown
from tidegate.core.redaction import redacted
from tidegate.runs.result import RunResult
from tidegate.runs.spec import KafkaSettings, RunSpec
from tidegate.score.figures import Figures

T = TypeVar("T", RunSpec, RunResult)

#: of the JSON that is written; what earlier versions wrote is read
VERSION = 1
#: left out of the JSON where they are None
OPTIONAL = frozenset({"kafka", "sink", "profiling", "late", "stored", "error", "spread"})
WORDS: Mapping[Any, str] = {
    bool: "true or false",
    str: "text",
    float: "a number",
    int: "a whole number",
    Mapping: "an object",
}
FIGURES = tuple(field.name for field in fields(Figures))


def encode(value: RunSpec | RunResult) -> dict[str, Any]:
    """As values that fit into JSON."""
    made: dict[str, Any] = {"version": VERSION}
    kind: Any = type(value)
    for name in _names(kind):
        inner = getattr(value, name)
        if name == "figures":
            made |= {} if inner is None else _plain(inner)
        elif inner is not None or name not in OPTIONAL or isinstance(value, RunSpec):
            made[name] = _plain(inner)
    if isinstance(value, RunSpec):
        made["limits"] = [value.minimum, value.maximum]
    return made


def decode(kind: type[T], values: Any, place: str) -> T:
    """A spec or a result from JSON values; `place` is named where they are none."""
    if not isinstance(values, Mapping):
        raise InvalidInput(f"{place}: need an object, got {type(values).__name__}")
    if not isinstance(version := values.get("version", 0), int) or version > VERSION:
        later = f"({shown(version)}; this one reads {VERSION})"
        raise InvalidInput(f"{place}: written by a later version of Tidegate {later}")
    try:
        built: T = _built(kind, _current(kind, values))
        return built
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"{place}: no {kind.__name__} that Tidegate wrote: {error}") from None


def _current(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """As this version has it."""
    current = dict(values)
    if kind is RunSpec and "minimum" not in current and isinstance(current.get("limits"), list | tuple):
        current["minimum"], current["maximum"] = current["limits"]
    if kind is RunResult and "processed" in current:
        current["figures"] = {name: current[name] for name in FIGURES if name in current}
    return current


def _plain(value: Any) -> Any:
    kind: Any = type(value)
    if isinstance(value, KafkaSettings):
        return _kafka(value)
    if is_dataclass(kind):
        names: tuple[str, ...] = _names(kind)  # type: ignore[arg-type]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _kafka(value: KafkaSettings) -> dict[str, Any]:
    """Without secrets. Where there are no options or no recording there is no key for them, as in earlier versions."""
    plain = {name: getattr(value, name) for name in _names(KafkaSettings)}
    later = {"options": redacted(plain.pop("options")), "recording": plain.pop("recording")}
    return {**plain, **{name: given for name, given in later.items() if given}}


def _built(kind: Any, values: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    # figures of runs before there was one scorer lack some, which are then unknown
    missing = _UNKNOWN.get(kind, {})
    given = {**missing, **{name: values[name] for name in _names(kind) if name in values}}
    return kind(**{name: _typed(hints[name], inner) for name, inner in given.items()})


def _typed(hint: Any, value: Any) -> Any:
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        kinds = [kind for kind in inner if kind is not NoneType]
        return None if value is None else _typed(kinds[0], value) if len(kinds) == 1 else value
    if origin is tuple:
        return tuple(_typed(inner[0], item) for item in value)
    if is_dataclass(origin):
        if not isinstance(value, Mapping):
            raise TypeError(f"need an object for {hint}, got {shown(value)}")
        return _built(origin, value)
    return _checked(origin, value)


def _checked(kind: Any, value: Any) -> Any:
    """A plain value of its kind; a whole number may stand for a float."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind in (bool, str, float, int, Mapping) and (
        not isinstance(value, kind) or (kind is int and isinstance(value, bool))
    ):
        raise TypeError(f"need {WORDS[kind]}, got {shown(value)}")
    return value


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


#: what runs of earlier versions do not tell
_UNKNOWN: Mapping[Any, Mapping[str, Any]] = {
    Figures: {
        "backlog": None,
        "throughput": {"offered": None, "processed": None, "ratio": None},
        "rescales": {},
        "slo": {"target": 0.0, "violated": None},
        "latency": None,
        "workers": None,
        "lost": 0,
        "processed": 0,
    },
}
