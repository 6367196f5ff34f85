"""Load as a function of time: `rate(t)`, its exact integral `total(t)` and the inverse, `created(i)`.

Times are seconds since the start, rates records per second. A workload stands still after its duration: nothing more
is offered. The same object drives the embedded Spark source and a simulator.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any, ClassVar

from tidegate.core import InvalidInput, UnknownName


@dataclass(frozen=True, slots=True)
class Shape:
    """What all workloads share. A new one says its `rate` and the integral of it."""

    duration: float
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not self.duration > 0:
            raise InvalidInput(f"workload {self.kind}: need duration > 0 s, got {self.duration}")
        low = self.lowest()
        if not low >= 0:
            raise InvalidInput(f"workload {self.kind}: need rate >= 0 at all times, its lowest is {low}")

    @abstractmethod
    def lowest(self) -> float: ...

    @abstractmethod
    def rate(self, time: float) -> float: ...

    @abstractmethod
    def integral(self, time: float) -> float:
        """Of `rate` over `[0, time]`, for times within the duration."""

    def total(self, time: float) -> int:
        return math.floor(self.integral(min(max(time, 0.0), self.duration)))

    def created(self, record: int) -> float:
        """When record number `record` (from 0) was offered: the first time at which `total` exceeds it.

        >>> Constant(duration=10, level=2).created(3)  # the fourth record, at two per second
        2.0
        """
        low, high = 0.0, self.duration
        for _ in range(64):
            middle = (low + high) / 2
            if self.integral(middle) >= record + 1:
                high = middle
            else:
                low = middle
        return high

    def spec(self) -> dict[str, Any]:
        """Plain values from which `from_spec` makes an equal workload: what a source's option can carry."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Constant(Shape):
    """
    >>> Constant(duration=60, level=500).total(2.5)
    1250
    """

    level: float
    kind: ClassVar[str] = "constant"

    def lowest(self) -> float:
        return self.level

    def rate(self, time: float) -> float:
        return self.level if 0 <= time < self.duration else 0.0

    def integral(self, time: float) -> float:
        return self.level * time


@dataclass(frozen=True, slots=True)
class Steps(Shape):
    """Each level for an equal share of the duration.

    >>> steps = Steps(duration=30, levels=(0, 20, 10))
    >>> steps.rate(10), steps.total(20), steps.total(30)
    (20, 200, 300)
    """

    levels: tuple[float, ...]
    kind: ClassVar[str] = "steps"

    def lowest(self) -> float:
        return min(self.levels, default=-math.inf)

    @property
    def length(self) -> float:
        return self.duration / len(self.levels)

    def rate(self, time: float) -> float:
        if not 0 <= time < self.duration:
            return 0.0
        return self.levels[min(int(time / self.length), len(self.levels) - 1)]

    def integral(self, time: float) -> float:
        starts = [k * self.length for k in range(len(self.levels))]
        sums = [0.0, *accumulate(level * self.length for level in self.levels)]
        k = bisect_right(starts, time) - 1
        return sums[k] + self.levels[k] * (time - starts[k])


@dataclass(frozen=True, slots=True)
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

    def rate(self, time: float) -> float:
        if not 0 <= time < self.duration:
            return 0.0
        return self.first + (self.last - self.first) * time / self.duration

    def integral(self, time: float) -> float:
        return time * (self.first + (self.last - self.first) * time / self.duration / 2)


@dataclass(frozen=True, slots=True)
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

    def rate(self, time: float) -> float:
        if not 0 <= time < self.duration:
            return 0.0
        return self.mean + self.swing * math.cos(2 * math.pi * (time / self.period - self.shift))

    def integral(self, time: float) -> float:
        turn = self.swing * self.period / (2 * math.pi)
        begin = math.sin(-2 * math.pi * self.shift)
        return self.mean * time + turn * (math.sin(2 * math.pi * (time / self.period - self.shift)) - begin)


KINDS: Mapping[str, type[Shape]] = {cls.kind: cls for cls in (Constant, Steps, Ramp, Wave)}

#: name -> workload of a duration whose highest rate is `peak`
NAMED: Mapping[str, Callable[[float, float], Shape]] = {
    "constant": lambda duration, peak: Constant(duration, level=peak),
    "steps": lambda duration, peak: Steps(duration, levels=(peak * 0.2, peak, peak * 0.5)),
    "increasing": lambda duration, peak: Ramp(duration, first=0, last=peak),
    "decreasing": lambda duration, peak: Ramp(duration, first=peak, last=0),
    # between 1/11 of the peak and the peak, as 1.2M +- 1.0M (Evaluating autoscalers, DEBS'24); it starts high
    "cosine": lambda duration, peak: Wave(duration, mean=peak * 6 / 11, swing=peak * 5 / 11, period=duration),
    # the same, but from low water to high and back
    "tide": lambda duration, peak: Wave(duration, mean=peak * 6 / 11, swing=peak * 5 / 11, period=duration, shift=0.5),
}


def named(name: str, duration: float, peak: float) -> Shape:
    """
    >>> named("constant", duration=60, peak=100)
    Constant(duration=60, level=100)
    """
    if name not in NAMED:
        raise UnknownName("workload", name, NAMED)
    if not peak > 0:
        raise InvalidInput(f"workload {name}: need a peak rate > 0 records/s, got {peak}")
    return NAMED[name](duration, peak)


def from_spec(spec: Mapping[str, Any]) -> Shape:
    """
    >>> from_spec(Steps(30, levels=(1, 2)).spec())
    Steps(duration=30, levels=(1, 2))
    """
    kind = str(spec["kind"])
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in spec.items() if k != "kind"}
    if kind not in KINDS:
        raise UnknownName("kind of workload", kind, KINDS)
    return KINDS[kind](**values)
