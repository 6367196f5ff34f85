"""Ticks as JSON and back. Values that equal their defaults are left out: that is a quarter of the text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    ExecutorShape,
    Observation,
    OperatorSample,
    Step,
    Target,
    Tick,
)

T = TypeVar("T")
_NONE = object()
_PLAIN = frozenset({float, int, str, bool, type(None)})


def dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def lean(value: Any) -> dict[str, Any]:
    """A dataclass of the model as JSON values.

    >>> lean(Observation(1.0, 2, 2, backlog=5.0, batches=(Batch(7, 0.0, 0.5, 0, 10, times=(0.1, 0.2)),)))
    {'time': 1.0, 'executors': 2, 'requested': 2, 'backlog': 5.0, 'batches': [{'id': 7, 'planned': 0.0, \
'finished': 0.5, 'begin': 0, 'end': 10, 'times': [0.1, 0.2]}]}
    """
    plain: dict[str, Any] = {}
    kind: Any = type(value)
    for name, default in _defaults(kind):
        inner = getattr(value, name)
        if default is _NONE or inner != default:
            # most values are plain, and a simulated run has thousands of ticks
            plain[name] = inner if type(inner) in _PLAIN else _nested(inner)
    return plain


def _nested(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_nested(item) for item in value]
    return lean(value) if is_dataclass(type(value)) else value


@cache
def _defaults(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    declared: tuple[Field[Any], ...] = fields(kind)
    return tuple((field.name, _NONE if field.default is MISSING else field.default) for field in declared)


def steps_text(tick: Tick) -> str:
    return dump([_plain_step(step) for step in tick.steps])


def _plain_step(step: Step) -> dict[str, Any]:
    """The stored form has the levers of the target next to the reason, as in earlier versions."""
    decision = step.decision
    levers = {**lean(decision.target), "reason": decision.reason}
    if decision.evidence:
        levers["evidence"] = dict(decision.evidence)
    plain = {"by": step.by, "decision": levers}
    return plain if step.error is None else {**plain, "error": step.error}


def observation(values: Mapping[str, Any]) -> Observation:
    """An observation from its stored values."""
    given = dict(values)
    for name, convert in _NESTED.items():
        if name in given:
            given[name] = convert(given[name])
    return _made(Observation, given)


def _made(kind: Callable[..., T], values: Mapping[str, Any]) -> T:
    """Fields that a later version has added are left out."""
    try:
        return kind(**values)
    except TypeError:
        untyped: Any = kind
        known = {field.name for field in fields(untyped)}
        return kind(**{name: value for name, value in values.items() if name in known})


def _shape(values: Mapping[str, int] | None) -> ExecutorShape | None:
    return None if values is None else _made(ExecutorShape, values)


def _batch(values: Mapping[str, Any]) -> Batch:
    return _made(Batch, {**values, "times": tuple(values.get("times", ()))})


def _operator(values: Mapping[str, Any]) -> OperatorSample:
    sequences = {name: tuple(values.get(name, ())) for name in ("upstream", "shares")}
    return _made(OperatorSample, {**values, **sequences})


_NESTED: Mapping[str, Callable[[Any], Any]] = {
    "per_executor": lambda values: tuple(_made(ExecutorSample, inner) for inner in values),
    "operators": lambda values: tuple(_operator(inner) for inner in values),
    "batches": lambda values: tuple(_batch(inner) for inner in values),
    "events": lambda values: tuple(_made(Event, inner) for inner in values),
    "shape": _shape,
}


def steps(text: str | None) -> tuple[Step, ...]:
    """The steps of a decision from their stored JSON."""
    return steps_from(json.loads(text or "[]"))


def steps_from(values: list[Mapping[str, Any]]) -> tuple[Step, ...]:
    return tuple(_step(inner) for inner in values)


def _step(values: Mapping[str, Any]) -> Step:
    stored = values["decision"]
    levers = (stored.get("per_operator"), stored.get("batch_limit"), _shape(stored.get("shape")))
    decision = Decision(Target(stored["executors"], *levers), stored["reason"], stored.get("evidence", {}))
    return Step(values["by"], decision, values.get("error"))
