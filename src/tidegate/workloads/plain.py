"""Workloads given by one formula: a constant, a ramp, a wave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from tidegate.core import InvalidInput
from tidegate.workloads.inverse import Inverse
from tidegate.workloads.shape import Array, RateChange, Shape


@dataclass(frozen=True)
class Constant(Shape):
    """
    >>> Constant(duration=60, level=500).total(2.5)
    1250
    """

    level: float
    kind: ClassVar[str] = "constant"

    def lowest(self) -> float:
        return self.level

    def highest(self) -> float:
        return self.level

    def _rates(self, times: Array) -> Array:
        return np.full_like(times, self.level)

    def _integrals(self, times: Array) -> Array:
        return self.level * times

    def _times(self, amounts: Array) -> Array:
        return amounts / self.level if self.level else np.zeros_like(amounts)

    def _resized(self, duration: float, change: RateChange) -> Self:
        return type(self)(duration, change(self.level))


@dataclass(frozen=True)
class Ramp(Shape):
    """
    >>> Ramp(duration=10, first=0, last=100).total(5)  # 5 s x 25/s on average
    125
    """

    first: float
    last: float
    kind: ClassVar[str] = "ramp"

    def lowest(self) -> float:
        return min(self.first, self.last)

    def highest(self) -> float:
        return max(self.first, self.last)

    def _rates(self, times: Array) -> Array:
        return self.first + (self.last - self.first) * times / self.duration

    def _integrals(self, times: Array) -> Array:
        return times * (self.first + (self.last - self.first) * times / self.duration / 2)

    def _times(self, amounts: Array) -> Array:
        """The root of slope * t**2 / 2 + first * t = amount, in the form that is also defined for a slope of 0."""
        slope = (self.last - self.first) / self.duration
        discriminant = np.maximum(self.first**2 + 2 * slope * amounts, 0.0)
        return 2 * amounts / np.maximum(self.first + np.sqrt(discriminant), np.finfo(float).tiny)

    def _resized(self, duration: float, change: RateChange) -> Self:
        return type(self)(duration, change(self.first), change(self.last))


@dataclass(frozen=True)
class Wave(Shape):
    """`mean + swing * cos(2 pi (t / period - shift))`: a peak at t = shift * period.

    >>> tide = Wave(duration=60, mean=100, swing=100, period=60, shift=0.5)
    >>> round(tide.rate(0)), round(tide.rate(30)), tide.total(60)
    (0, 200, 6000)
    """

    mean: float
    swing: float
    period: float
    shift: float = 0.0
    kind: ClassVar[str] = "wave"

    def __post_init__(self) -> None:
        if not self.period > 0:
            raise InvalidInput(f"workload wave: need period > 0 s, got {self.period}")
        Shape.__post_init__(self)

    def lowest(self) -> float:
        return self.mean - abs(self.swing)

    def highest(self) -> float:
        return self.mean + abs(self.swing)

    def _rates(self, times: Array) -> Array:
        return self.mean + self.swing * np.cos(2 * np.pi * (times / self.period - self.shift))

    def _integrals(self, times: Array) -> Array:
        sine_difference = sine(times / self.period - self.shift) - sine(np.asarray(-self.shift))
        return self.mean * times + self.swing * self.period / (2 * np.pi) * sine_difference

    @cached_property
    def _inverse(self) -> Inverse:
        return Inverse.of(self._rates, self._integrals, self.duration)

    def _times(self, amounts: Array) -> Array:
        return self._inverse(amounts)

    def _resized(self, duration: float, change: RateChange) -> Self:
        period = self.period * duration / self.duration
        return type(self)(duration, change(self.mean), change(self.swing), period, self.shift)


def sine(turns: Array) -> Array:
    """The sine of an angle in turns. Exactly 0 at every half turn, so that whole waves have no rounding error.

    >>> [float(sine(np.asarray(turns))) for turns in (0.25, 0.5, 1, -1.5, 1e6)]
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    halves = np.rint(2 * turns)
    odd = halves / 2 - np.floor(halves / 2)  # 0 or 1/2
    return np.asarray(np.sin(np.pi * (2 * turns - halves)) * (1 - 4 * odd) + 0.0)
