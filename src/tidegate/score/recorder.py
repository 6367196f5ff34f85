"""Converts the ticks of a loop into the trace that is scored. All runs are scored this way."""

from __future__ import annotations

import math
from array import array as buffer
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from tidegate.core import Batch, Tick
from tidegate.score.trace import Array, Cumulative, Finished, Move, RunTrace, array, flat

#: kinds of events that count as failures
FAILURES = frozenset({"ExecutorLost"})


def counts(batch: Batch) -> bool:
    """Whether a batch has records and can be scored: a single NaN would be in every figure from then on.

    >>> counts(Batch(0, 1.0, 2.0, 0.0, 0.0)), counts(Batch(0, float("nan"), 2.0, 0.0, 9.0))
    (False, False)
    """
    known = (batch.planned, batch.finished, batch.end, batch.arrived or 0.0, *batch.times)
    return batch.end > batch.begin and all(map(math.isfinite, known))


def _floats() -> buffer[float]:
    return buffer("d")


@dataclass(slots=True)
class TraceRecorder:
    """A sink that keeps the few numbers that scoring needs: 24 bytes per tick and 60 per batch.

    >>> from tidegate.core import Observation
    >>> recorder = TraceRecorder()
    >>> recorder.take(Tick(Observation(time=101.0, executors=2, requested=3)))
    >>> recorder.trace(start=100.0).times.tolist()
    [1.0]
    """

    name: str = "score"
    #: for Spark's dynamic allocation, where no decision is acted on: every change of the number of executors is a move
    native: bool = False
    #: off if the engine keeps its own, finer account of what was finished when (`trace(finished=…)`)
    batches: bool = True
    _times: buffer[float] = field(default_factory=_floats)
    _executors: buffer[float] = field(default_factory=_floats)
    _requested: buffer[float] = field(default_factory=_floats)
    _batches: buffer[float] = field(default_factory=_floats)
    _created: list[tuple[float, ...]] = field(default_factory=list)
    _arrived: list[tuple[float, float]] = field(default_factory=list)
    _moves: list[Move] = field(default_factory=list)
    _failures: set[float] = field(default_factory=set)
    _reruns: int = 0

    def take(self, tick: Tick) -> None:
        obs = tick.observation
        self._times.append(obs.time)
        self._executors.append(obs.executors)
        self._requested.append(obs.requested)
        self._reruns = obs.rerun_tasks
        if tick.acted:
            decision = tick.steps[-1].decision
            self._moves.append(Move(obs.time, obs.requested, decision.target.executors, decision.reason))
        for event in obs.events:
            if event.kind in FAILURES:
                self._failures.add(event.time)
        if self.batches:
            for batch in obs.batches:
                if counts(batch):
                    self._take_batch(batch)

    def _take_batch(self, batch: Batch) -> None:
        self._batches.extend((batch.finished, batch.begin, batch.end, batch.rows))
        self._created.append(batch.times)
        if batch.arrived is not None:
            self._arrived.append((batch.planned, batch.arrived))

    def trace(
        self,
        start: float = 0.0,
        arrivals: Cumulative | None = None,
        until: float | None = None,
        finished: Finished | None = None,
    ) -> RunTrace:
        """`start` is the time of the workload's start on the clock of the ticks; `arrivals` and `until` count from it.

        Without `arrivals` they are derived from the batches. The default end is the last tick. `finished` overrides
        what the batches say, for engines with a finer record of their own.
        """
        times = np.array(self._times) - start
        executors = np.array(self._executors)
        arrived = arrivals or self._read_arrivals(start)
        return RunTrace(
            arrivals=arrived or Cumulative(np.zeros(1), np.zeros(1)),
            finished=finished or self._finished(start),
            times=times,
            executors=executors,
            requested=np.array(self._requested),
            until=float(times.max(initial=0.0)) if until is None else until,
            moves=_changes(times, executors) if self.native else self._acted(start),
            failures=() if self.native else tuple(sorted(time - start for time in self._failures)),
            rerun_tasks=self._reruns,
            dated=arrived is not None,
        )

    def _acted(self, start: float) -> tuple[Move, ...]:
        return tuple(replace(move, time=move.time - start) for move in self._moves) if start else tuple(self._moves)

    def _finished(self, start: float) -> Finished:
        done, begins, ends, rows = np.array(self._batches).reshape(-1, 4).T
        created = tuple(tuple(time - start for time in times) for times in self._created) if any(self._created) else ()
        return Finished(done - start, begins, ends, rows, created)

    def _read_arrivals(self, start: float) -> Cumulative | None:
        """Linear between the totals seen when batches were planned, or between the creation times of records if all
        have them. Later totals are never smaller and later times never earlier. None if nothing tells when records
        arrived.
        """
        if self.created:
            # for records that no batch has read, only their number is known
            return rising(self.creation_points(start), self.arrival_points(start)[-1:])
        return rising(START, self.arrival_points(start)) if self._arrived else None

    @property
    def created(self) -> bool:
        """Whether the records of all batches carry their creation times, and there are some."""
        return bool(self._created) and self.all_created

    @property
    def all_created(self) -> bool:
        return all(self._created)

    def creation_points(self, start: float) -> Array:
        """Creation times with the number of records created by them, in rows of two."""
        if not self._created:
            return np.zeros((0, 2))
        _, begins, ends, _ = np.array(self._batches).reshape(-1, 4).T
        number = np.array([len(times) for times in self._created])
        following = np.cumsum(number)
        place = np.arange(following[-1]) - np.repeat(following - number, number)
        totals = np.repeat(begins, number) + place * np.repeat((ends - begins) / np.maximum(number - 1, 1), number)
        several = number > 1
        totals[following[several] - 1] = ends[several]
        return np.column_stack([flat(self._created) - start, totals])

    def arrival_points(self, start: float) -> Array:
        """Times at which batches were planned with the number of records that had arrived, in rows of two."""
        return array(self._arrived).reshape(-1, 2) - (start, 0.0)


#: when the workload starts, nothing has arrived
START = np.zeros((1, 2))


def rising(*points: Array) -> Cumulative:
    """Arrivals through points, whose times and totals never fall.

    >>> rising(START, array([(10.0, 50.0), (8.0, 70.0), (20.0, 60.0)])).totals.tolist()
    [0.0, 50.0, 70.0, 70.0]
    """
    times, totals = np.maximum.accumulate(np.concatenate(points)).T
    return Cumulative(times, totals)


def _changes(times: Array, executors: Array) -> tuple[Move, ...]:
    counts = zip(times.tolist(), executors.tolist(), strict=True)
    return tuple(Move(now, int(a), int(b), "dynamic allocation") for (_, a), (now, b) in pairwise(counts) if a != b)


def trace_from_ticks(
    ticks: Iterable[Tick],
    start: float = 0.0,
    arrivals: Cumulative | None = None,
    until: float | None = None,
    *,
    native: bool = False,
) -> RunTrace:
    """The trace of recorded ticks.

    >>> from tidegate.core import Observation
    >>> batches = (Batch(0, 110, 111, 0, 50, arrived=50), Batch(1, 120, 121, 50, 90, arrived=90))
    >>> trace_from_ticks([Tick(Observation(122.0, 1, 1, batches=batches))], start=100).arrivals.by([15, 5, 30]).tolist()
    [70.0, 25.0, 90.0]
    """
    recorder = TraceRecorder(native=native)
    for tick in ticks:
        recorder.take(tick)
    return recorder.trace(start, arrivals, until)
