"""Time and moves that the executors need to settle near the oracle's after a step of the workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tidegate.score.provision import on_ticks
from tidegate.score.trace import Array, Cumulative, RunTrace

#: executors within this distance of the oracle's count as converged
NEAR = 1
#: seconds for which they must stay converged
STAY = 300.0
#: a change of the rate by more than this share of the peak is a step
STEP = 0.2
MINUTE = 60
#: shortest window in seconds for detecting a jump, which may take less than a second
SHORT = 5


@dataclass(frozen=True, slots=True)
class Convergence:
    """`seconds` from the step at `at` until the executors stayed near the oracle's, and the `steps` (moves) it took.

    Both are None if the executors did not converge before the next step or the end.
    """

    at: float
    seconds: float | None
    steps: int | None


def convergence(trace: RunTrace, oracle: Array, steps: Sequence[float] | None = None) -> list[Convergence]:
    """One entry per step; by default the steps are detected in the arrivals. `oracle` holds executors per tick."""
    starts = tuple(steps_of(trace) if steps is None else sorted(steps))
    far = np.abs(trace.executors - on_ticks(trace, oracle)) > NEAR
    return [_after(trace, far, step, end) for step, end in pairwise((*starts, trace.until))]


def _after(trace: RunTrace, far: npt.NDArray[np.bool_], step: float, end: float) -> Convergence:
    # the executors at the step are those seen at the tick before it
    first = max(int(np.searchsorted(trace.times, step, side="right")) - 1, 0)
    times = np.clip(np.append(trace.times[first:], end), step, end)
    far_ticks = np.flatnonzero(far[first:])
    begins, ends = np.append(step, times[far_ticks + 1]), np.append(times[far_ticks], end)
    stays = np.flatnonzero(ends - begins >= STAY)
    if not len(stays):
        return Convergence(step, None, None)
    converged = float(begins[stays[0]])
    return Convergence(step, converged - step, int(sum(step <= move.time < converged for move in trace.moves)))


def steps_of(trace: RunTrace) -> tuple[float, ...]:
    """Times of jumps in a run's arrivals that happen within a tick, to the second."""
    tick = float(np.median(np.diff(trace.times))) if len(trace.times) > 1 else 1.0
    return step_times(trace.arrivals, trace.until, tick)


def step_times(arrivals: Cumulative, until: float, tick: float = 1.0) -> tuple[float, ...]:
    """Times at which the rate jumps: it changes by more than a fifth of the peak, both from the minute before to the
    minute after and from the `tick` seconds (at least 5) before to those after. The peak is the highest one-minute
    mean. Of several jumps within a minute only the largest counts.

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
    # slightly more, so that rounding cannot turn a change of exactly a fifth into a jump
    least = STEP * (1 + 1e-9) * (totals[MINUTE:] - totals[:-MINUTE]).max() / MINUTE
    jump = _change(totals, width)[MINUTE - width : len(change) + MINUTE - width]
    candidates = np.flatnonzero((np.abs(change) > least) & (np.abs(jump) > least) & (change * jump > 0))
    return tuple(float(seconds[k] + MINUTE) for k in _largest(candidates, np.abs(change)))


def _change(totals: Array, width: int) -> Array:
    """Difference between the mean rates of adjacent windows of `width` seconds, from second `width` on."""
    rates = (totals[width:] - totals[:-width]) / width
    return rates[width:] - rates[:-width]


def _largest(candidates: npt.NDArray[np.intp], sizes: Array) -> list[int]:
    """The largest candidate of each group of candidates less than a minute apart."""
    groups = np.split(candidates, np.flatnonzero(np.diff(candidates) >= MINUTE) + 1) if len(candidates) else []
    return [int(group[np.argmax(sizes[group])]) for group in groups]
