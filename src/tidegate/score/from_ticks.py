"""What a real run left behind, from its ticks: so it gets the same figures as a simulated one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidegate.core import Batch, Event, Tick
from tidegate.score.trace import Array, Cumulative, Finished, Move, RunTrace

#: of events that count as failures
FAILURES = frozenset({"ExecutorLost"})


def trial(
    ticks: Sequence[Tick], start: float = 0.0, arrivals: Cumulative | None = None, until: float | None = None
) -> RunTrace:
    """`start` is the ticks' time of the workload's beginning; `arrivals` and `until` count from there.

    Where the workload is not known, arrivals are read off the batches. The end is by default that of the last tick.
    """
    batches = [batch for tick in ticks for batch in tick.observation.batches if batch.end > batch.begin]
    times = _array([tick.observation.time - start for tick in ticks])
    return RunTrace(
        arrivals=arrivals or arrivals_of(batches, start),
        finished=Finished(
            _array([b.finished - start for b in batches]),
            _array([b.begin for b in batches]),
            _array([b.end for b in batches]),
        ),
        times=times,
        executors=_array([tick.observation.executors for tick in ticks]),
        requested=_array([tick.observation.requested for tick in ticks]),
        until=float(times.max(initial=0.0)) if until is None else until,
        moves=tuple(_moves(ticks, start)),
        failures=tuple(sorted({event.time - start for event in _events(ticks)})),
    )


def arrivals_of(batches: Sequence[Batch], start: float) -> Cumulative:
    """What batches tell about arrivals: by straight lines between the totals seen when they were planned, or between
    the times at which their records were created, where all records say so. Later totals are taken as no smaller, later
    times as no earlier.

    >>> seen = arrivals_of([Batch(0, 110, 111, 0, 50, arrived=50), Batch(1, 120, 121, 50, 90, arrived=90)], start=100)
    >>> seen.by([15, 5, 30]).tolist()
    [70.0, 25.0, 90.0]
    """
    seen = [(batch.planned, batch.arrived) for batch in batches if batch.arrived is not None]
    if batches and all(batch.times for batch in batches):
        # of records that no batch has read only the number is known
        points = [*(point for batch in batches for point in _created(batch)), *seen[-1:]]
    else:
        points = [(start, 0.0), *seen]
    times, totals = _array(points).T
    return Cumulative(np.maximum.accumulate(times - start), np.maximum.accumulate(totals))


def _created(batch: Batch) -> list[tuple[float, float]]:
    return list(zip(batch.times, np.linspace(batch.begin, batch.end, len(batch.times)).tolist(), strict=True))


def _moves(ticks: Sequence[Tick], start: float) -> list[Move]:
    told = [(tick.observation, tick.decision) for tick in ticks if tick.acted and tick.decision]
    return [Move(obs.time - start, obs.requested, to.executors, to.reason) for obs, to in told]


def _events(ticks: Sequence[Tick]) -> list[Event]:
    return [event for tick in ticks for event in tick.observation.events if event.kind in FAILURES]


def _array(values: Sequence[float] | Sequence[tuple[float, float]]) -> Array:
    return np.array(values, dtype=np.float64)
