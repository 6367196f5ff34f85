"""A mean over seeds, and how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean of `count` values, and half the width of its 95 % confidence interval: None with fewer than two."""

    mean: float | None
    half: float | None
    count: int

    @property
    def low(self) -> float | None:
        return None if self.mean is None or self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        return None if self.mean is None or self.half is None else self.mean + self.half


def interval(values: Iterable[float | None]) -> Interval:
    """By Student's t. Unknown values are left out, and do not count.

    >>> interval([1.0, None, 3.0])  # mean 2, standard error 1, t of one degree of freedom 12.706
    Interval(mean=2.0, half=12.706204736, count=2)
    >>> interval([5.0]), interval([None])
    (Interval(mean=5.0, half=None, count=1), Interval(mean=None, half=None, count=0))
    """
    known = [float(value) for value in values if value is not None]
    count = len(known)
    if count == 0:
        return Interval(None, None, 0)
    mean = math.fsum(known) / count
    if count == 1:
        return Interval(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in known) / (count - 1)
    return Interval(mean, student(count - 1) * math.sqrt(variance / count), count)


@cache
def student(freedom: int) -> float:
    """Within how many standard errors Student's t lies with a probability of 95 %.

    >>> [round(student(n), 3) for n in (1, 2, 3, 4, 9, 29, 1000)]
    [12.706, 4.303, 3.182, 2.776, 2.262, 2.045, 1.962]
    """
    low, high = 1.0, 13.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < LEVEL else (low, middle)
    return round(high, 9)


def _within(t: float, freedom: int) -> float:
    """The probability that |T| < t: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(odd + 2, freedom + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (k - 1) / k
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
