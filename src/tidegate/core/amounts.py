"""Parsing of durations and rates as users write them."""

from __future__ import annotations

import re

from tidegate.core.errors import InvalidInput

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6}


def duration(text: str) -> float:
    """Parse a duration in Spark's notation into seconds.

    >>> duration("3m"), duration("90"), duration("1h 30min"), duration("500ms")
    (180.0, 90.0, 5400.0, 0.5)
    """
    if re.fullmatch(r"\d+(\.\d+)?", text.strip()):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.lower())
    rest = re.sub(r"(\d+(?:\.\d+)?)\s*([a-z]+)", "", text.lower()).strip()
    if not parts or rest or any(unit not in UNITS for _, unit in parts):
        raise InvalidInput(f"duration {text!r} is not like 90s, 3m or 1h30m")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def rate(text: str) -> float:
    """Parse a rate into records per second.

    >>> rate("250k"), rate("1.2M"), rate("800")
    (250000.0, 1200000.0, 800.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmM]?)(?:/s)?", text.strip())
    if not match:
        raise InvalidInput(f"rate {text!r} is not like 5000, 250k or 1.2M records/s")
    return float(match.group(1)) * SUFFIXES[match.group(2).lower()]
