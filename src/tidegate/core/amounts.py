"""Parsing of durations, rates, shares and numbers as users write them."""

from __future__ import annotations

import math
import re

from tidegate.core.errors import InvalidInput

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6}
#: characters of the longest text that can be an amount; the expressions below take quadratic time
LONGEST = 100


def duration(text: str) -> float:
    """Parse a duration in Spark's notation into seconds.

    >>> duration("3m"), duration("90"), duration("1h 30min"), duration("500ms")
    (180.0, 90.0, 5400.0, 0.5)
    """
    problem = f"duration {shown(text)} is not like 90s, 3m or 1h30m"
    if len(text) > LONGEST:
        raise InvalidInput(problem)
    if re.fullmatch(r"\d+(\.\d+)?", text.strip()):
        return _finite(float(text), problem)
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.lower())
    rest = re.sub(r"(\d+(?:\.\d+)?)\s*([a-z]+)", "", text.lower()).strip()
    if not parts or rest or any(unit not in UNITS for _, unit in parts):
        raise InvalidInput(problem)
    return _finite(sum(float(number) * UNITS[unit] for number, unit in parts), problem)


def rate(text: str) -> float:
    """Parse a rate into records per second.

    >>> rate("250k"), rate("1.2M"), rate("800")
    (250000.0, 1200000.0, 800.0)
    """
    return _amount(text, f"rate {shown(text)} is not like 5000, 250k or 1.2M records/s")


def count(text: str) -> float:
    """Parse a number of records.

    >>> count("100k"), count("1.2M"), count("800")
    (100000.0, 1200000.0, 800.0)
    """
    problem = f"{shown(text)} is not like 5000, 250k or 1.2M records"
    if text.rstrip().endswith("/s"):
        raise InvalidInput(problem)
    return _amount(text, problem)


def share(text: str) -> float:
    """Parse a share of one, written as a number or a percentage.

    >>> share("70%"), share("0.7"), share("12.5 %")
    (0.7, 0.7, 0.125)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip()) if len(text) <= LONGEST else None
    if not match:
        raise InvalidInput(f"share {shown(text)} is not like 70% or 0.7")
    # written as a decimal, because 0.07 is not 7 / 100
    return float(f"{match.group(1)}e-2") if match.group(2) else float(match.group(1))


def number(text: str) -> float | None:
    """A number without a unit; None for any other text.

    >>> number("0.5"), number("-1e3"), number("5s"), number("nan")
    (0.5, -1000.0, None, None)
    """
    if len(text) > LONGEST or not re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", text.strip().lower()):
        return None
    return float(text)


def shown(value: object) -> str:
    """A value as a message quotes it, cut if it is long.

    >>> shown("5s"), shown([1] * 100)
    ("'5s'", '[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1…')
    """
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:59]}…"


def _amount(text: str, problem: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmM]?)(?:/s)?", text.strip()) if len(text) <= LONGEST else None
    if not match:
        raise InvalidInput(problem)
    return _finite(float(match.group(1)) * SUFFIXES[match.group(2).lower()], problem)


def _finite(value: float, problem: str) -> float:
    if not math.isfinite(value):
        raise InvalidInput(problem)
    return value
