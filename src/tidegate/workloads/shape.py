"""What all workloads share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tidegate.core import InvalidInput, UnknownName
from tidegate.workloads.inverse import settled

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
#: a rate to another one
Change = Callable[[float], float]

#: records whose times are found together: arrays of this size stay in a core's cache, which halves the time
BLOCK = 8192

#: every shape by its kind
KINDS: dict[str, type[Shape]] = {}


# No slots: what is summed up once is kept in the object (`cached_property`), beside its fields.
@dataclass(frozen=True)
class Shape:
    """A rate over time. A new kind says its `_rates`, the `_integrals` of them and the inverse of those, `_times`.

    Those three are given arrays, and only what lies within the duration. Equality, `spec` and pickles are of the
    fields alone.
    """

    duration: float
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        if not 0 < self.duration < math.inf:
            raise InvalidInput(f"workload {self.kind}: need duration > 0 s, got {self.duration}")
        low, high = self.lowest(), self.highest()
        if not low >= 0:
            raise InvalidInput(f"workload {self.kind}: need rate >= 0 at all times, its lowest is {low}")
        if not high < math.inf:
            raise InvalidInput(f"workload {self.kind}: need a finite rate at all times, its highest is {high}")

    @abstractmethod
    def lowest(self) -> float: ...

    @abstractmethod
    def highest(self) -> float:
        """The peak. Of a noisy workload that of the pattern, above which noise may go."""

    @abstractmethod
    def _rates(self, times: Array) -> Array: ...

    @abstractmethod
    def _integrals(self, times: Array) -> Array: ...

    @abstractmethod
    def _times(self, amounts: Array) -> Array:
        """When the integral first reaches amounts between 0 and the whole, but for rounding."""

    @abstractmethod
    def _resized(self, duration: float, change: Change) -> Self: ...

    def rate(self, time: float) -> float:
        """Records per second at a time; none outside `[0, duration)`."""
        return float(self._rates(np.asarray(time))) if 0 <= time < self.duration else 0.0

    def integral(self, time: float) -> float:
        """Of `rate` over `[0, time]`."""
        return float(self._integrals(np.asarray(min(max(time, 0.0), self.duration))))

    def total(self, time: float) -> int:
        """Whole records offered in `[0, time]`."""
        return math.floor(self.integral(time))

    def created(self, record: int) -> float:
        """When record number `record` (from 0) was offered: the first time at which `total` exceeds it.

        For a record that is never offered: the end.

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
        wanted, whole = numbers.ravel() + 1.0, self.integral(self.duration)
        blocks = [self._reached(wanted[k : k + BLOCK], whole) for k in range(0, wanted.size, BLOCK)]
        return np.concatenate([*blocks, np.empty(0)]).reshape(numbers.shape)

    def _reached(self, wanted: Array, whole: float) -> Array:
        amounts = np.clip(wanted, 0.0, whole)
        times = np.where(wanted > whole, self.duration, np.clip(self._times(amounts), 0.0, self.duration))
        return settled(self.integrals, times, amounts, self.duration)

    def rates(self, times: npt.ArrayLike) -> Array:
        at = np.asarray(times, dtype=np.float64)
        inside = (at >= 0) & (at < self.duration)
        return np.where(inside, self._rates(np.clip(at, 0.0, self.duration)), 0.0)

    def integrals(self, times: npt.ArrayLike) -> Array:
        return self._integrals(np.clip(np.asarray(times, dtype=np.float64), 0.0, self.duration))

    def means(self, cells: int) -> Array:
        """The mean rate in each of so many equal parts of the duration: what a picture shows.

        >>> from tidegate.workloads import Ramp
        >>> Ramp(duration=60, first=0, last=80).means(4)
        array([10., 30., 50., 70.])
        """
        edges = np.arange(cells + 1) * self.duration / cells
        return np.diff(self.integrals(edges)) * cells / self.duration

    def average(self) -> float:
        return self.integral(self.duration) / self.duration

    def scaled(self, duration: float | None = None, peak: float | None = None) -> Self:
        """The same pattern over another duration, with another highest rate; what is None stays.

        >>> from tidegate.workloads import Steps
        >>> Steps(duration=30, levels=(1, 0, 2)).scaled(duration=60, peak=100)
        Steps(duration=60, levels=(50.0, 0.0, 100.0))
        """
        return self._resized(self.duration if duration is None else duration, self._change(peak))

    def _change(self, peak: float | None) -> Change:
        if peak is None:
            return lambda rate: rate
        if not 0 < peak < math.inf:
            raise InvalidInput(f"workload {self.kind}: need a peak rate > 0 records/s, got {peak}")
        highest = self.highest()
        if highest == 0:
            raise InvalidInput(f"workload {self.kind}: all its rates are 0, which no factor makes {peak}")
        return lambda rate: rate * peak / highest  # in this order the highest becomes the peak exactly

    def noisy(self, seed: int, share: float) -> Shape:
        """This pattern with noise of up to `share` of the rate, up and down. See `Noisy`."""
        from tidegate.workloads.noise import Noisy  # noqa: PLC0415, a shape itself

        return Noisy(self.duration, self, seed, share)

    def spec(self) -> dict[str, Any]:
        """Plain values from which `from_spec` makes an equal workload: what a source's option can carry."""
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
    kind = str(spec["kind"])
    if kind not in KINDS:
        raise UnknownName("kind of workload", kind, KINDS)
    return KINDS[kind](**{name: _value(value) for name, value in spec.items() if name != "kind"})


def _value(plain: Any) -> Any:
    """What JSON has made of a field, as the field."""
    if isinstance(plain, Mapping):
        return from_spec(plain)
    return tuple(_value(one) for one in plain) if isinstance(plain, list | tuple) else plain
