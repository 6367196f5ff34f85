"""How long after a step of the workload the executors settle near the oracle's, and in how many moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tidegate.score.provision import on_ticks
from tidegate.score.trace import Array, Cumulative, RunTrace

#: how far from the oracle's executors counts as there
NEAR = 1
#: and for how many seconds it must stay there
STAY = 300.0
#: a change of the rate by more than this share of the peak is a step
STEP = 0.2
MINUTE = 60
#: the shortest time in seconds to see a jump in: it may lie within a second
SHORT = 5


@dataclass(frozen=True, slots=True)
class Convergence:
    """`seconds` from the step at `at` until the executors stayed near the oracle's, `steps` the moves made until then.

    Both are None where they did not before the next step or the end.
    """

    at: float
    seconds: float | None
    steps: int | None


def convergence(trial: RunTrace, oracle: Array, steps: Sequence[float] | None = None) -> list[Convergence]:
    """After each of `steps`, by default those found in the arrivals. `oracle` has executors for each tick."""
    found = tuple(steps_of(trial) if steps is None else sorted(steps))
    far = np.abs(trial.executors - on_ticks(trial, oracle)) > NEAR
    return [_after(trial, far, step, end) for step, end in pairwise((*found, trial.until))]


def _after(trial: RunTrace, far: npt.NDArray[np.bool_], step: float, end: float) -> Convergence:
    # the tick before the step tells what there was at the step
    first = max(int(np.searchsorted(trial.times, step, side="right")) - 1, 0)
    times = np.clip(np.append(trial.times[first:], end), step, end)
    away = np.flatnonzero(far[first:])
    begins, ends = np.append(step, times[away + 1]), np.append(times[away], end)
    long = np.flatnonzero(ends - begins >= STAY)
    if not len(long):
        return Convergence(step, None, None)
    there = float(begins[long[0]])
    return Convergence(step, there - step, int(sum(step <= move.time < there for move in trial.moves)))


def steps_of(trial: RunTrace) -> tuple[float, ...]:
    """When the arrivals of a trial jumped within a tick, to a second."""
    tick = float(np.median(np.diff(trial.times))) if len(trial.times) > 1 else 1.0
    return step_times(trial.arrivals, trial.until, tick)


def step_times(arrivals: Cumulative, until: float, tick: float = 1.0) -> tuple[float, ...]:
    """When the rate jumped: by more than a fifth of the peak from the minute before to the minute after, and as much
    from the `tick` seconds (5 at least) before to those after. The peak is the highest mean of a minute. Of several
    within a minute the largest counts.

    >>> jump = Cumulative(np.array([0.0, 100.0, 200.0]), np.array([0.0, 1000.0, 3000.0]))  # 10/s, then 20/s
    >>> ramp = Cumulative(np.arange(201.0), np.arange(201.0) ** 2)  # from 0/s to 400/s
    >>> step_times(jump, 200, tick=15), step_times(ramp, 200, tick=15)
    ((100.0,), ())
    """
    seconds = np.arange(int(until) + 1)
    totals = arrivals.by(seconds)
    width = min(max(round(tick), SHORT), MINUTE)
    change = _change(totals, MINUTE)
    if not len(change):
        return ()
    # a hair more, so that exactly a fifth is none whatever the last bit says
    least = STEP * (1 + 1e-9) * (totals[MINUTE:] - totals[:-MINUTE]).max() / MINUTE
    jump = _change(totals, width)[MINUTE - width : len(change) + MINUTE - width]
    found = np.flatnonzero((np.abs(change) > least) & (np.abs(jump) > least) & (change * jump > 0))
    return tuple(float(seconds[k] + MINUTE) for k in _largest(found, np.abs(change)))


def _change(totals: Array, width: int) -> Array:
    """By how much the mean rate of `width` seconds differs from that of those before, from second `width` on."""
    rates = (totals[width:] - totals[:-width]) / width
    return rates[width:] - rates[:-width]


def _largest(found: npt.NDArray[np.intp], sizes: Array) -> list[int]:
    """Of each group of places less than a minute apart the one with the greatest size."""
    groups = np.split(found, np.flatnonzero(np.diff(found) >= MINUTE) + 1) if len(found) else []
    return [int(group[np.argmax(sizes[group])]) for group in groups]
