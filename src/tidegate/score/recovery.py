"""Time from a failure until latency is back to normal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tidegate.score.latency import served
from tidegate.score.trace import Array, Finished, RunTrace

#: latency up to this many seconds is always normal
NORMAL = 2.0
#: so is latency up to this multiple of its median in the `BEFORE` seconds before the failure
TIMES = 1.5
BEFORE = 300.0
#: seconds for which it must stay normal; shorter normal spells do not count
STAY = 20.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """`seconds` from the failure at `at` until latency was normal again; None if it was not before the next failure or
    the end, 0 if it stayed normal throughout.
    """

    at: float
    seconds: float | None


def recovery(trace: RunTrace) -> list[Recovery]:
    """One entry per failure, from the age of the oldest record of each portion.

    That record is overdue from when it gets older than normal until it is finished. So an outage counts from the moment
    records have waited too long, and records that still wait count until the end. Lost records are ignored, as no run
    could recover from them.
    """
    if not trace.failures:
        return []
    portions = served(trace)
    since = portions.first_created(trace.arrivals)
    moments = (*sorted(set(trace.failures)), trace.until)
    return [_after(portions, since, failure, end) for failure, end in pairwise(moments)]


def _after(portions: Finished, since: Array, failure: float, end: float) -> Recovery:
    limit = normal(portions.times, portions.times - since, failure)
    # a record that arrives at the failure is overdue only after the limit; later trouble has other causes
    recovered, reach = failure, failure + limit + STAY
    for begin, finish in _overdue(portions, since + limit, failure):
        if begin > reach:
            break
        recovered = max(recovered, finish)
        reach = max(reach, recovered + STAY)
    return Recovery(failure, recovered - failure if recovered + STAY <= end else None)


def normal(times: Array, ages: Array, failure: float) -> float:
    """The highest normal age of records, from those finished before a failure; 2 s if there were none.

    >>> normal(np.array([90.0, 95.0, 99.0, 120.0]), np.array([4.0, 6.0, 5.0, 30.0]), failure=100)
    7.5
    """
    before = ages[(times >= failure - BEFORE) & (times < failure)]
    return max(NORMAL, TIMES * float(np.median(before))) if len(before) else NORMAL


def _overdue(portions: Finished, due: Array, failure: float) -> list[tuple[float, float]]:
    """Periods in which records were overdue after a failure, sorted by begin."""
    late = np.flatnonzero((due < portions.times) & (portions.times > failure))
    spells = zip(np.maximum(due[late], failure).tolist(), portions.times[late].tolist(), strict=True)
    return sorted(spells)
