"""The base class of all workloads."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tidegate.core import InvalidInput, UnknownName
from tidegate.workloads.inverse import correct_rounding

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
#: maps each rate of a workload to a new rate
RateChange = Callable[[float], float]

#: records per block of `created_all`: arrays of this size fit into a core's cache, which halves the time
BLOCK = 8192

#: longest workload, in seconds (as long as the longest trace), and highest rate that is believed, in records per second
LONGEST, HIGHEST = 400 * 86_400.0, 1e12

#: kind -> class
KINDS: dict[str, type[Shape]] = {}


# No slots: sums that are computed once are stored in the object (`cached_property`).
@dataclass(frozen=True)
class Shape:
    """A rate over time. A subclass implements `_rates`, their integral `_integrals` and its inverse `_times`.

    These three take arrays, with values inside the duration only. Equality, `spec` and pickles depend on the fields
    alone.
    """

    duration: float
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        if not self.duration > 0:
            raise InvalidInput(f"workload {self.kind}: need duration > 0 s, got {self.duration}")
        if self.duration > LONGEST:
            days = f"{LONGEST / 86_400:g} days"
            raise InvalidInput(f"workload {self.kind}: need a duration of at most {days}, got {self.duration:g} s")
        low, high = self.lowest(), self.highest()
        if not low >= 0:
            raise InvalidInput(f"workload {self.kind}: need rate >= 0 at all times, its lowest is {low}")
        if not high < math.inf:
            raise InvalidInput(f"workload {self.kind}: need a finite rate at all times, its highest is {high}")
        if high > HIGHEST:
            raise InvalidInput(
                f"workload {self.kind}: need at most {HIGHEST:g} records/s at all times, its highest is {high:g}"
            )

    @abstractmethod
    def lowest(self) -> float: ...

    @abstractmethod
    def highest(self) -> float:
        """The peak. For a noisy workload it is the peak of the pattern, which noise may exceed."""

    @abstractmethod
    def _rates(self, times: Array) -> Array: ...

    @abstractmethod
    def _integrals(self, times: Array) -> Array: ...

    @abstractmethod
    def _times(self, amounts: Array) -> Array:
        """When the integral first reaches amounts between 0 and the total, apart from rounding."""

    @abstractmethod
    def _resized(self, duration: float, change: RateChange) -> Self: ...

    def rate(self, time: float) -> float:
        """Records per second at `time`; 0 outside `[0, duration)`."""
        return float(self._rates(np.asarray(time))) if 0 <= time < self.duration else 0.0

    def integral(self, time: float) -> float:
        """The integral of `rate` over `[0, time]`."""
        return float(self._integrals(np.asarray(min(max(time, 0.0), self.duration))))

    def total(self, time: float) -> int:
        """Whole records offered in `[0, time]`."""
        return math.floor(self.integral(time))

    def created(self, record: int) -> float:
        """When record number `record` (from 0) was offered: the first time at which `total` exceeds it.

        For a record that is never offered it is the duration.

        >>> from tidegate.workloads import Constant
        >>> Constant(duration=10, level=2).created(3)  # the fourth record, at two per second
        2.0
        """
        return float(self.created_all(np.array([record]))[0])

    def created_all(self, records: npt.ArrayLike) -> Array:
        """`created` of many records at once.

        >>> from tidegate.workloads import Steps
        >>> Steps(duration=30, levels=(1, 0, 2)).created_all([0, 9, 10, 11])  # nothing comes from 10 to 20
        array([ 1. , 10. , 20.5, 21. ])
        """
        numbers = np.asarray(records, dtype=np.float64)
        amounts, total = numbers.ravel() + 1.0, self.integral(self.duration)
        blocks = [self._reach_times(amounts[k : k + BLOCK], total) for k in range(0, amounts.size, BLOCK)]
        return np.concatenate([*blocks, np.empty(0)]).reshape(numbers.shape)

    def _reach_times(self, amounts: Array, total: float) -> Array:
        reachable = np.clip(amounts, 0.0, total)
        times = np.where(amounts > total, self.duration, np.clip(self._times(reachable), 0.0, self.duration))
        return correct_rounding(self.integrals, times, reachable, self.duration)

    def rates(self, times: npt.ArrayLike) -> Array:
        at = np.asarray(times, dtype=np.float64)
        inside = (at >= 0) & (at < self.duration)
        return np.where(inside, self._rates(np.clip(at, 0.0, self.duration)), 0.0)

    def integrals(self, times: npt.ArrayLike) -> Array:
        return self._integrals(np.clip(np.asarray(times, dtype=np.float64), 0.0, self.duration))

    def means(self, cells: int) -> Array:
        """The mean rate in each of `cells` equal parts of the duration, for charts.

        >>> from tidegate.workloads import Ramp
        >>> Ramp(duration=60, first=0, last=80).means(4)
        array([10., 30., 50., 70.])
        """
        edges = np.arange(cells + 1) * self.duration / cells
        return np.diff(self.integrals(edges)) * cells / self.duration

    def average(self) -> float:
        return self.integral(self.duration) / self.duration

    def scaled(self, duration: float | None = None, peak: float | None = None) -> Self:
        """The same pattern with another duration and another highest rate; None keeps the current one.

        >>> from tidegate.workloads import Steps
        >>> Steps(duration=30, levels=(1, 0, 2)).scaled(duration=60, peak=100)
        Steps(duration=60, levels=(50.0, 0.0, 100.0))
        """
        return self._resized(self.duration if duration is None else duration, self._rate_change(peak))

    def _rate_change(self, peak: float | None) -> RateChange:
        if peak is None:
            return lambda rate: rate
        if not 0 < peak < math.inf:
            raise InvalidInput(f"workload {self.kind}: need a peak rate > 0 records/s, got {peak}")
        highest = self.highest()
        if highest == 0:
            raise InvalidInput(f"workload {self.kind}: all its rates are 0, which cannot be scaled to a peak of {peak}")
        return lambda rate: rate * peak / highest  # in this order the highest rate becomes exactly the peak

    def noisy(self, seed: int, share: float) -> Shape:
        """This pattern with noise of plus or minus `share` of the rate. See `Noisy`."""
        from tidegate.workloads.noise import Noisy  # noqa: PLC0415, it is a Shape itself

        return Noisy(self.duration, self, seed, share)

    def spec(self) -> dict[str, Any]:
        """JSON-compatible values from which `from_spec` creates an equal workload; fits into a source option."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: value.spec() if isinstance(value, Shape) else value for name, value in values.items()}
        return {"kind": self.kind, **plain}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[dict[str, Any]]]:
        return from_spec, (self.spec(),)


def from_spec(spec: Mapping[str, Any]) -> Shape:
    """
    >>> from tidegate.workloads import Steps
    >>> from_spec(Steps(30, levels=(1, 2)).spec())
    Steps(duration=30, levels=(1, 2))
    """
    kind = str(spec.get("kind"))
    if kind not in KINDS:
        raise UnknownName("kind of workload", kind[:60], KINDS)
    try:
        return KINDS[kind](**{name: _value(value) for name, value in spec.items() if name != "kind"})
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        names = ", ".join(field.name for field in fields(KINDS[kind]))
        raise InvalidInput(f"workload {kind}: need numbers, or lists of them, as {names}") from None


def _value(plain: Any) -> Any:
    """The value of a field, restored from JSON: a number, a list of numbers, or another workload."""
    if isinstance(plain, Mapping):
        return from_spec(plain)
    if isinstance(plain, list | tuple):
        return tuple(_value(item) for item in plain)
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not math.isfinite(plain):
        raise TypeError
    return plain
