"""Reads the files of users. Whatever is in them, the result is plain values or one sentence.

A file may be damaged, written by another program, or meant to do harm: too large, too deep, with numbers that no float
can hold. So size, depth and numbers are checked here, once, and not wherever a value is used.
"""

from __future__ import annotations

import json
import re
import reprlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidegate.core.errors import InvalidInput

#: most bytes of a file, unless the caller knows better
MOST_BYTES = 4 << 20
#: of a TOML file, which a person wrote
MOST_TOML = 256 << 10
#: levels of lists and objects; no file of Tidegate has more than ten
DEEPEST = 64
LARGEST = 2**63


def read_text(path: Path | str, problem: str, most: int = MOST_BYTES) -> str:
    """The text of a file in UTF-8, without a byte order mark. `problem` begins the sentence if there is none, like
    "model q1.json: cannot be read".
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise InvalidInput(f"{problem}: need at most {most:,} bytes, it has more")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{problem}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{problem}: it is not text in UTF-8") from None
    except ValueError as error:  # a path with a NUL
        raise InvalidInput(f"{problem}: {error}") from None


def parse_json(text: str, what: str) -> Any:
    """Values whose numbers are finite and whose nesting is bounded.

    >>> parse_json('{"cost": 1e999}', "model q1.json")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: model q1.json: need numbers between -2^63 and 2^63, cost is inf
    >>> parse_json("[" * 100_000, "model q1.json")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: model q1.json: need at most 64 levels of lists and objects, it has more
    """
    try:
        values = json.loads(text)
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        raise InvalidInput(f"{what}: no JSON: {error}") from None
    return checked(values, what)


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """
    >>> parse_toml("seeds = ", "x.toml")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: x.toml is no TOML: Invalid value (at end of document)
    """
    if _dotted(text):
        raise _too_deep(what)
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        raise InvalidInput(f"{what} is no TOML: {error}") from None
    checked(values, what)
    return values


def checked(values: Any, what: str) -> Any:
    """The values, if they are neither too deep nor hold a number of more than 64 bits, or that is not finite."""
    level: list[tuple[Any, Any]] = [("it", values)]
    for _ in range(DEEPEST + 1):
        for name, value in level:
            if isinstance(value, int | float) and not -LARGEST < value < LARGEST:  # which NaN is not
                raise InvalidInput(f"{what}: need numbers between -2^63 and 2^63, {name} is {shown(value)}")
        level = [item for _, value in level for item in _items(value)]
        if not level:
            return values
    raise _too_deep(what)


def shown(value: Any) -> str:
    """A value for a sentence: short, however long or deep it is.

    >>> shown("a" * 100), shown([1, [2, [3, [4]]]]), shown(16**5000)
    ("'aaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaa'", '[1, [2, [...]]]', 'an int of 20,001 bits')
    """
    try:
        text = _SHORT.repr(value)
        return text if len(text) <= 200 else f"{text[:199]}…"
    except ValueError:  # Python does not write integers of thousands of digits
        return f"an int of {value.bit_length():,} bits" if isinstance(value, int) else f"a {type(value).__name__}"


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _dotted(text: str) -> bool:
    """Whether there may be a key of very many parts, `a.a.a …`: the time that tomllib takes grows with their square."""
    return any(part.count(".") > 4 * DEEPEST for part in _NO_KEY.split(text))


def _too_deep(what: str) -> InvalidInput:
    return InvalidInput(f"{what}: need at most {DEEPEST} levels of lists and objects, it has more")


#: what ends a dotted key
_NO_KEY = re.compile(r"""[^\w.\s"'-]|\n""")
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 2, 40, 40, 60
