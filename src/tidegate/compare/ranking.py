"""The rule by which comparisons, backtests and tuning choose the best policy or settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")

#: default share of records that may be late while the SLO still counts as met
ALLOWED = 0.01
#: relative difference below which values count as equal, so that rounding errors do not matter
EQUAL = 1e-9


def order(late: float, seconds: float, allowed: float = ALLOWED) -> tuple[bool, float, float]:
    """Sort key, smaller is better: fewest worker-seconds if few enough records are late, else fewest late records.

    >>> sorted([(0.05, 10), (0.01, 40), (0.0, 50), (0.2, 5)], key=lambda run: order(*run, allowed=0.01))
    [(0.01, 40), (0.0, 50), (0.05, 10), (0.2, 5)]
    """
    return (late > allowed, late if late > allowed else 0.0, seconds)


def best(candidates: Iterable[T], figures: Callable[[T], tuple[float, float]], allowed: float = ALLOWED) -> T | None:
    """The best candidate by share of late records and worker-seconds; the first one among equals."""
    return min(candidates, key=lambda candidate: order(*figures(candidate), allowed), default=None)


def leaders(means: Mapping[str, float], *, highest: bool = False) -> frozenset[str]:
    """The names with the best value of one figure.

    >>> sorted(leaders({"a": 1.0, "b": 2.0, "c": 1.0})), sorted(leaders({"a": 1.0, "b": 2.0}, highest=True))
    (['a', 'c'], ['b'])
    """
    if not means:
        return frozenset()
    sign = -1.0 if highest else 1.0
    lowest = min(sign * mean for mean in means.values())
    return frozenset(name for name, mean in means.items() if sign * mean <= lowest + EQUAL * abs(lowest))
