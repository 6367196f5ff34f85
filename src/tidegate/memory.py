"""Saves what an object has learned as plain JSON values, and restores it. No pickle: types come from the code.

Policies, guards, forecasters and models are dataclasses. Fields that begin with `_` hold what the object has learned;
all other fields are its configuration, including parts that learn as well. `memory(thing)` collects the learned state,
and `recall(thing, state)` restores it into an object with the same configuration.

>>> from dataclasses import dataclass, field
>>> @dataclass
... class Counter:
...     step: int = 1
...     _seen: dict[str, int] = field(default_factory=dict)
>>> counter = Counter(step=2, _seen={"a": 4})
>>> memory(counter)
{'_seen': [['a', 4]]}
>>> recall(Counter(step=2), memory(counter))
Counter(step=2, _seen={'a': 4})
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from tidegate.core import InvalidInput

Thing = TypeVar("Thing")


def memory(thing: Any) -> dict[str, Any]:
    """The learned state; empty if there is none. An object with its own `memory()` method provides it itself."""
    if callable(getattr(thing, "memory", None)):
        return dict(thing.memory())
    state: dict[str, Any] = {}
    kind: Any = type(thing)
    for name in _names(kind) if is_dataclass(kind) else ():
        value = getattr(thing, name)
        if name.startswith("_"):
            state[name] = _plain(value)
        elif part := memory(value):
            state[name] = part
    return state


def recall(thing: Thing, state: Mapping[str, Any]) -> Thing:
    """Restores the learned state and returns the object. A state that does not fit raises and changes nothing."""
    own = getattr(thing, "recall", None)
    if callable(own):
        own(state)
        return thing
    try:
        changes = list(_changes(thing, state))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidInput(f"a memory does not fit {type(thing).__name__}: {type(error).__name__}: {error}") from None
    for owner, name, value in changes:
        object.__setattr__(owner, name, value)
    return thing


def _changes(thing: Any, state: Mapping[str, Any]) -> Iterator[tuple[Any, str, Any]]:
    """Owner, field name and new value of everything to restore."""
    kind: Any = type(thing)
    hints = _hints(kind)
    for name, value in state.items():
        current = getattr(thing, name)  # raises if the name is unknown
        if name.startswith("_"):
            yield thing, name, _typed(hints[name], value, current)
        else:
            yield from _changes(current, value)


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    if isinstance(value, list | tuple | deque | set | frozenset):
        return [_plain(item) for item in value]
    kind: Any = type(value)
    if is_dataclass(kind):
        return {name: _plain(getattr(value, name)) for name in _names(kind)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"nothing of type {type(value).__name__} can be remembered")


def _typed(hint: Any, value: Any, before: Any = None) -> Any:
    """Converts a plain value to the type of its field. `before` is the current value of the field, for properties that
    the type does not contain (the maximum length of a deque).
    """
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        kind = next(option for option in inner if option is not NoneType)
        return None if value is None else _typed(kind, value, before)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](inner, value, before)
    return _built(origin, value) if is_dataclass(origin) else value


def _pairs(inner: Any, value: Any, before: Any) -> dict[Any, Any]:
    return {_typed(inner[0], key): _typed(inner[1], item) for key, item in value}


def _queue(inner: Any, value: Any, before: Any) -> deque[Any]:
    return deque((_typed(inner[0], item) for item in value), maxlen=getattr(before, "maxlen", None))


def _tuple(inner: Any, value: Any, before: Any) -> tuple[Any, ...]:
    kinds = [inner[0]] * len(value) if inner[-1:] == (Ellipsis,) else inner
    return tuple(_typed(kind, item) for kind, item in zip(kinds, value, strict=True))


_CONTAINERS: Mapping[Any, Callable[[Any, Any, Any], Any]] = {
    dict: _pairs,
    Mapping: _pairs,
    deque: _queue,
    tuple: _tuple,
    list: lambda inner, value, before: [_typed(inner[0], item) for item in value],
    set: lambda inner, value, before: {_typed(inner[0], item) for item in value},
    np.ndarray: lambda inner, value, before: np.array(value, dtype=float),
}


def _built(kind: Any, value: Mapping[str, Any]) -> Any:
    """A dataclass instance with all fields set directly, without calling `__init__`."""
    instance, hints = object.__new__(kind), _hints(kind)
    for name in _names(kind):
        object.__setattr__(instance, name, _typed(hints[name], value[name]))
    return instance
