"""The trace of a run on any engine, from which it is scored. Times are seconds since the workload's start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Offered(Protocol):
    """The part of a workload that scoring needs."""

    @property
    def duration(self) -> float: ...
    def integrals(self, times: npt.ArrayLike) -> Array: ...


@dataclass(frozen=True, slots=True)
class Cumulative:
    """Records arrived as a function of time: linear between points, constant before the first and after the last.

    >>> arrivals = Cumulative(np.array([0.0, 10.0, 20.0]), np.array([0.0, 50.0, 90.0]))
    >>> float(arrivals.by(15.0)), float(arrivals.when(70.0)), arrivals.whole
    (70.0, 15.0, 90.0)
    """

    times: Array
    totals: Array

    @classmethod
    def of(cls, workload: Offered, step: float = 1.0) -> Cumulative:
        """The arrivals of a workload, exact at every `step` seconds."""
        times = np.minimum(np.arange(int(np.ceil(workload.duration / step)) + 1) * step, workload.duration)
        return cls(times, np.maximum.accumulate(workload.integrals(times)))

    def by(self, times: npt.ArrayLike) -> Array:
        return np.interp(np.asarray(times, dtype=np.float64), self.times, self.totals)

    def when(self, records: npt.ArrayLike) -> Array:
        """The times by which numbers of records had arrived."""
        return np.interp(np.asarray(records, dtype=np.float64), self.totals, self.times)

    @property
    def whole(self) -> float:
        return float(self.totals[-1])


@dataclass(frozen=True, slots=True)
class Finished:
    """Portions of records, numbered in order of arrival: `[begins[k], ends[k])` finished at `times[k]`.

    On Spark a portion is a micro-batch; an engine without batches has one for each short period.
    """

    times: Array
    begins: Array
    ends: Array
    #: rows of each portion read by tasks; None if they are not counted
    rows: Array | None = None
    #: evenly spaced quantiles of each portion's creation times, from first to last; empty if its records carry none
    created: tuple[tuple[float, ...], ...] = ()

    def only(self, mask: Mask) -> Finished:
        created = tuple(quantiles for quantiles, selected in zip(self.created, mask.tolist(), strict=False) if selected)
        rows = None if self.rows is None else self.rows[mask]
        return Finished(self.times[mask], self.begins[mask], self.ends[mask], rows, created)

    def and_rest(self, begins: Array, ends: Array, time: float) -> Finished:
        """With further portions that all finish at `time` and of which nothing else is known."""
        times = np.append(self.times, np.full(len(begins), time))
        created = (*self.created, *((),) * len(begins)) if self.created else ()
        return Finished(times, np.append(self.begins, begins), np.append(self.ends, ends), None, created)

    def first_created(self, arrivals: Cumulative) -> Array:
        """Creation time of each portion's first record, from its quantiles if known, else from the arrivals."""
        return self._dated(arrivals.when(self.begins), 0)

    def last_created(self, arrivals: Cumulative) -> Array:
        return self._dated(arrivals.when(self.ends), -1)

    def _dated(self, arrived: Array, index: int) -> Array:
        for k, quantiles in enumerate(self.created):
            if quantiles:
                arrived[k] = quantiles[index]
        return arrived


@dataclass(frozen=True, slots=True)
class Move:
    """An action: at `time` the engine was asked to rescale from `before` to `after` executors."""

    time: float
    before: int
    after: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run from the workload's start to `until`. `executors` and `requested` are sampled at the ticks, `times`.

    A trace may lack the beginning of its run (see `earlier`); then `begins` says where its records begin.
    """

    arrivals: Cumulative
    finished: Finished
    times: Array
    executors: Array
    requested: Array
    until: float
    moves: tuple[Move, ...] = ()
    #: times of failures, injected ones included
    failures: tuple[float, ...] = ()
    #: tasks that were rerun
    rerun_tasks: int = 0
    #: whether arrival times are known, which not all sources report
    dated: bool = True
    #: number of the first record, where the arrivals begin before it
    begins: float | None = None

    @property
    def first(self) -> float:
        """Number of the first record: all from it on are finished, lost or waiting."""
        return float(self.arrivals.totals[0]) if self.begins is None else self.begins


def array(values: Sequence[float] | Sequence[tuple[float, float]]) -> Array:
    return np.array(values, dtype=np.float64)


def flat(values: Sequence[tuple[float, ...]]) -> Array:
    """The numbers of all tuples, one after the other."""
    return np.fromiter(chain.from_iterable(values), dtype=np.float64)
