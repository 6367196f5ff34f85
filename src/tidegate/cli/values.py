"""What users type, as numbers: durations, rates and policy options."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tidegate.core import InvalidInput
from tidegate.workloads import named

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6}


def duration(text: str) -> float:
    """Seconds, as Spark writes times.

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
    """Records per second.

    >>> rate("250k"), rate("1.2M"), rate("800")
    (250000.0, 1200000.0, 800.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmM]?)(?:/s)?", text.strip())
    if not found:
        raise InvalidInput(f"rate {text!r} is not like 5000, 250k or 1.2M records/s")
    return float(found.group(1)) * SUFFIXES[found.group(2).lower()]


def extent(workload: str, seconds: str | None, highest: str | None) -> tuple[float, float]:
    """How long and how high a workload is to be: as told, else a trace as it is and all others 3 minutes, 100k/s.

    >>> extent("tide", None, "20k"), extent("cosine", "1h", None)
    ((180.0, 20000.0), (3600.0, 100000.0))
    """
    own = named(workload) if workload.startswith("trace:") and (seconds is None or highest is None) else None
    length = (own.duration if own else 180.0) if seconds is None else duration(seconds)
    return length, (own.highest() if own else 100_000.0) if highest is None else rate(highest)


def options(texts: Iterable[str]) -> dict[str, float | str]:
    """Numbers and durations where they are such, else text; whether that is right, the policy knows.

    >>> options(["target=0.8", "down-window=1m", "pause=in"])
    {'target': 0.8, 'down-window': 60.0, 'pause': 'in'}
    """
    found: dict[str, float | str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(f"policy option {text!r} is not NAME=VALUE")
        found[key.strip()] = _value(value.strip())
    return found


def _value(text: str) -> float | str:
    for read in (float, duration):
        try:
            return read(text)
        except (ValueError, InvalidInput):
            continue
    return text
