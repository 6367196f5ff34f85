"""When records were late: the periods in which records arrived that missed the SLO."""

from __future__ import annotations

import numpy as np

from tidegate.runs import LateStretch
from tidegate.score.latency import everything
from tidegate.score.trace import Array, RunTrace

#: number of stretches listed
WORST = 3
#: stretches with gaps up to this many seconds are merged, since batches alternate between on time and late
TOGETHER = 60.0
#: minimum length of a stretch in seconds
SHORT = 1.0


def late_stretches(trace: RunTrace, slo: float, most: int = WORST) -> tuple[LateStretch, ...]:
    """The longest stretches of late records, from the arrival of the first one to that of the last one. Stretches of
    less than a second are left out.

    Records that were never finished count with their age at the end.
    """
    begins, ends = _late(trace, slo)
    if not len(begins):
        return ()
    apart = begins[1:] - np.maximum.accumulate(ends)[:-1] > max(TOGETHER, slo)
    firsts = np.flatnonzero(np.concatenate([[True], apart]))
    starts, stops = begins[firsts], np.maximum.reduceat(ends, firsts)
    order = np.argsort(starts - stops, kind="stable")[:most]
    lengths = [(float(starts[k]), float(stops[k] - starts[k])) for k in order]
    return tuple(LateStretch(round(start, 1), round(length, 1)) for start, length in lengths if length >= SHORT)


def _late(trace: RunTrace, slo: float) -> tuple[Array, Array]:
    """For each portion with late records, the arrival of the first and of the last one, in order of arrival."""
    portions = everything(trace)
    first = portions.first_created(trace.arrivals)
    last = np.minimum(portions.last_created(trace.arrivals), portions.times - slo)
    late = (last > first) & (portions.ends > portions.begins)
    order = np.argsort(first[late], kind="stable")
    return first[late][order], last[late][order]
