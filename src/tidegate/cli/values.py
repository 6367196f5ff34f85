"""What users type, as numbers: the extent of a workload, and policy options."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.core import InvalidInput
from tidegate.core.amounts import duration, rate
from tidegate.workloads import named


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
