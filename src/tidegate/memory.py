"""What an object has learned, as plain values that fit into JSON, and back again. No pickle: types come from the code.

Policies, guards, forecasters and models are dataclasses whose fields beginning with `_` are what they learned, and
whose other fields are how they were set up, parts that learn themselves included. `memory(thing)` walks them, and
`recall(thing, found)` puts a memory back into an object that was set up the same way.

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
    """Empty where there is nothing to remember. An object with a `memory()` of its own is asked."""
    if callable(getattr(thing, "memory", None)):
        return dict(thing.memory())
    kept: dict[str, Any] = {}
    kind: Any = type(thing)
    for name in _names(kind) if is_dataclass(kind) else ():
        value = getattr(thing, name)
        if name.startswith("_"):
            kept[name] = _plain(value)
        elif found := memory(value):
            kept[name] = found
    return kept


def recall(thing: Thing, found: Mapping[str, Any]) -> Thing:
    """The same object, with what it had learned. A memory that does not fit is refused and changes nothing."""
    own = getattr(thing, "recall", None)
    if callable(own):
        own(found)
        return thing
    try:
        changes = list(_changes(thing, found))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidInput(f"a memory does not fit {type(thing).__name__}: {type(error).__name__}: {error}") from None
    for owner, name, value in changes:
        object.__setattr__(owner, name, value)
    return thing


def _changes(thing: Any, found: Mapping[str, Any]) -> Iterator[tuple[Any, str, Any]]:
    kind: Any = type(thing)
    hints = _hints(kind)
    for name, value in found.items():
        part = getattr(thing, name)  # an unknown name does not fit
        if name.startswith("_"):
            yield thing, name, _typed(hints[name], value, part)
        else:
            yield from _changes(part, value)


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(one)] for key, one in value.items()]
    if isinstance(value, list | tuple | deque | set | frozenset):
        return [_plain(one) for one in value]
    kind: Any = type(value)
    if is_dataclass(kind):
        return {name: _plain(getattr(value, name)) for name in _names(kind)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"nothing of type {type(value).__name__} can be remembered")


def _typed(hint: Any, value: Any, before: Any = None) -> Any:
    """The value as its type says; `before` is what stood there, for what a type does not say (a deque's length)."""
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        kind = next(one for one in inner if one is not NoneType)
        return None if value is None else _typed(kind, value, before)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](inner, value, before)
    return _built(origin, value) if is_dataclass(origin) else value


def _pairs(inner: Any, value: Any, before: Any) -> dict[Any, Any]:
    return {_typed(inner[0], key): _typed(inner[1], one) for key, one in value}


def _queue(inner: Any, value: Any, before: Any) -> deque[Any]:
    return deque((_typed(inner[0], one) for one in value), maxlen=getattr(before, "maxlen", None))


def _tuple(inner: Any, value: Any, before: Any) -> tuple[Any, ...]:
    kinds = [inner[0]] * len(value) if inner[-1:] == (Ellipsis,) else inner
    return tuple(_typed(kind, one) for kind, one in zip(kinds, value, strict=True))


_CONTAINERS: Mapping[Any, Callable[[Any, Any, Any], Any]] = {
    dict: _pairs,
    Mapping: _pairs,
    deque: _queue,
    tuple: _tuple,
    list: lambda inner, value, before: [_typed(inner[0], one) for one in value],
    set: lambda inner, value, before: {_typed(inner[0], one) for one in value},
    np.ndarray: lambda inner, value, before: np.array(value, dtype=float),
}


def _built(kind: Any, value: Mapping[str, Any]) -> Any:
    made, hints = object.__new__(kind), _hints(kind)
    for name in _names(kind):
        object.__setattr__(made, name, _typed(hints[name], value[name]))
    return made
