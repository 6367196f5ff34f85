"""Seeded mutations of JSON values and of texts: what a wrapper, a bug, a full disk or a slip in an editor makes of
them.

The same seed gives the same mutants on every machine.
"""

import json
import math
from copy import deepcopy
from random import Random
from typing import Any

Path = tuple[Any, ...]

#: what a value is replaced by
STRANGE: tuple[Any, ...] = (
    None, True, False, "", "abc", "12", "1e308", "NaN", [], {}, [1], {"a": 1}, 0, -1, 1, 0.1, -0.0, 5e-324, 1e308,
    -1e308, math.nan, math.inf, -math.inf, 2**31, 2**53, 2**63, -(2**63), 10**400, "é😀\u202e", "\x00", "[/red]",
    "2026-11-16", "16/11/2026 02:33", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59+00:00", "x" * 5000,
)  # fmt: skip
FACTORS = (-1, 0, 1e-9, 1e-3, 0.5, 0.9, 1.1, 2, 10, 1e3, 1e6, 1e9)
#: levels of nesting that a value is wrapped in
LEVELS = (3, 30, 300, 3000, 100_000)


def paths(value: Any, prefix: Path = ()) -> list[Path]:
    """Every place in a JSON value except its root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, inner in items for path in ((*prefix, key), *paths(inner, (*prefix, key)))]


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def mutated(rng: Random, value: Any, times: int = 1) -> Any:
    """A copy of a JSON value with some places changed."""
    changed = deepcopy(value)
    for _ in range(times):
        places = paths(changed)
        if places:
            _change(rng, changed, rng.choice(places))
    return changed


def _change(rng: Random, value: Any, path: Path) -> None:
    container, key, old = at(value, path[:-1]), path[-1], at(value, path)
    kind = rng.randrange(8)
    number = isinstance(old, int | float) and not isinstance(old, bool)
    if kind == 0:
        del container[key]
    elif number and rng.random() < 0.5:  # half of the numbers stay numbers, so that some mutants are accepted
        container[key] = _scaled(old, rng.choice(FACTORS))
    elif kind == 2:
        container[key] = deepcopy(at(value, rng.choice(paths(value))))
    elif kind == 3 and isinstance(container, list):
        container.insert(key, deepcopy(old))
    elif kind == 4 and isinstance(old, list):
        rng.shuffle(old)
    elif kind == 5:
        container[key] = nested(rng.choice(LEVELS)) if rng.random() < 0.2 else str(old)
    else:
        container[key] = rng.choice(STRANGE)


def _scaled(old: float, factor: float) -> float:
    try:
        return round(old * factor) if isinstance(old, int) else old * factor
    except OverflowError:
        return math.inf


def nested(levels: int) -> str:
    """Stands for a value below so many levels, too deep to be built; `dumps` writes it out."""
    return f"nested {levels}"


def dumps(value: Any) -> str:
    """JSON, with NaN and Infinity as Python and Jackson write them."""
    text = json.dumps(value)
    for levels in LEVELS if '"nested ' in text else ():
        text = text.replace(f'"{nested(levels)}"', _levels(levels))
    return text


def garbled(rng: Random, text: str) -> bytes:
    """A text with bytes lost, doubled or changed."""
    data = text.encode("utf-8", "replace")
    if not data:
        return data
    a, b = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
    c = min(b, a + 40)
    strange = rng.choice((b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n\n", b'"', b"[" * 50, b"\r", rng.randbytes(1)))
    return rng.choice(
        (
            data[:a],
            data[:a] + data[c:],
            data[:c] + data[a:c] * rng.choice((1, 3, 50)) + data[c:],
            data[:a] + strange + data[a + 1 :],
            data[:a] + strange + data[a:],
            b"\xef\xbb\xbf" + data if rng.random() < 0.7 else text.encode("utf-16", "replace"),
            data[:a] + data[c : c + 40] + data[a:c] + data[c + 40 :],
            data[:a] + data[a:b].upper() + data[b:],
        )
    )


def toml(value: Any) -> str:
    """A JSON object as TOML; what TOML has not (null) is left out."""
    return "".join(f"{json.dumps(key)} = {_toml(inner)}\n" for key, inner in value.items() if inner is not None)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(inner) for inner in value if inner is not None) + "]"
    if isinstance(value, float):
        return repr(value)
    text = json.dumps(value)
    return next((_levels(levels) for levels in LEVELS if text == f'"{nested(levels)}"'), text)


def _levels(levels: int) -> str:
    return "[" * levels + "1" + "]" * levels
