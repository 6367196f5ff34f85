"""A faster `__init__` for frozen dataclasses.

A frozen dataclass sets each field by name through `object.__setattr__`. Setting the slots directly takes less than half
the time for an observation with 17 fields, and a simulated run creates about ten thousand such values.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

Value = TypeVar("Value")


def fast_init(kind: type[Value]) -> type[Value]:
    """Decorator: replace the `__init__` of a frozen dataclass with slots. Rejects classes with a `__post_init__`.

    >>> from dataclasses import dataclass
    >>> @fast_init
    ... @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: float
    ...     y: float = 2.0
    >>> Point(1.0), Point(1.0) == Point(x=1.0, y=2.0)
    (Point(x=1.0, y=2.0), True)
    """
    if hasattr(kind, "__post_init__"):
        raise TypeError(f"{kind.__name__} has a __post_init__, which a fast __init__ would not call")
    untyped: Any = kind
    declared: tuple[Field[Any], ...] = fields(untyped)
    namespace: dict[str, Any] = {f"set_{field.name}": kind.__dict__[field.name].__set__ for field in declared}
    arguments = [_argument(field, namespace) for field in declared]
    lines = [f"    set_{field.name}(self, {_value(field)})" for field in declared]
    exec(f"def __init__(self, {', '.join(arguments)}):\n" + "\n".join(lines), namespace)
    init = namespace["__init__"]
    init.__qualname__, init.__doc__ = f"{kind.__qualname__}.__init__", untyped.__init__.__doc__
    init.__annotations__ = untyped.__init__.__annotations__
    untyped.__init__ = init
    return kind


def _argument(field: Field[Any], namespace: dict[str, Any]) -> str:
    if field.default is not MISSING:
        namespace[f"default_{field.name}"] = field.default
        return f"{field.name}=default_{field.name}"
    if field.default_factory is not MISSING:
        namespace[f"make_{field.name}"], namespace["missing"] = field.default_factory, MISSING
        return f"{field.name}=missing"
    return field.name


def _value(field: Field[Any]) -> str:
    if field.default_factory is MISSING:
        return field.name
    return f"make_{field.name}() if {field.name} is missing else {field.name}"
