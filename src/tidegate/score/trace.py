"""What a run leaves behind to be measured, whichever engine it ran on. Times are seconds since the workload's start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Offered(Protocol):
    """What is needed of a workload here."""

    @property
    def duration(self) -> float: ...
    def integrals(self, times: npt.ArrayLike) -> Array: ...


@dataclass(frozen=True, slots=True)
class Cumulative:
    """Records that had arrived by a time, by straight lines between points; flat before the first and after the last.

    >>> seen = Cumulative(np.array([0.0, 10.0, 20.0]), np.array([0.0, 50.0, 90.0]))
    >>> float(seen.by(15.0)), float(seen.when(70.0)), seen.whole
    (70.0, 15.0, 90.0)
    """

    times: Array
    totals: Array

    @classmethod
    def of(cls, workload: Offered, step: float = 1.0) -> Cumulative:
        """Of a workload, exact at every `step` seconds."""
        times = np.minimum(np.arange(int(np.ceil(workload.duration / step)) + 1) * step, workload.duration)
        return cls(times, np.maximum.accumulate(workload.integrals(times)))

    def by(self, times: npt.ArrayLike) -> Array:
        return np.interp(np.asarray(times, dtype=np.float64), self.times, self.totals)

    def when(self, records: npt.ArrayLike) -> Array:
        """When so many had arrived."""
        return np.interp(np.asarray(records, dtype=np.float64), self.totals, self.times)

    @property
    def whole(self) -> float:
        return float(self.totals[-1])


@dataclass(frozen=True, slots=True)
class Finished:
    """Portions of records, in the order in which they arrived: `[begins[k], ends[k])` were done at `times[k]`.

    On Spark a portion is a micro-batch; an engine without batches has one for each short while.
    """

    times: Array
    begins: Array
    ends: Array


@dataclass(frozen=True, slots=True)
class Move:
    """An action: at `time` the engine was told to go from `before` executors to `after`."""

    time: float
    before: int
    after: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run from the workload's start to `until`. `executors` and `requested` are those seen at `times`, the ticks."""

    arrivals: Cumulative
    finished: Finished
    times: Array
    executors: Array
    requested: Array
    until: float
    moves: tuple[Move, ...] = ()
    #: when something was made to fail
    failures: tuple[float, ...] = field(default=())
