"""How long after a failure latency was back to normal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tidegate.score.latency import served
from tidegate.score.trace import Array, Finished, RunTrace

#: latency up to here is always normal
NORMAL = 2.0
#: and up to so many times its median in the `BEFORE` seconds before the failure
TIMES = 1.5
BEFORE = 300.0
#: seconds that it must stay normal; shorter spells are bridged
STAY = 20.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """`seconds` from the failure at `at` until latency was normal again; None where it was not before the next failure
    or the end. 0 where it never left the normal.
    """

    at: float
    seconds: float | None


def recovery(trial: RunTrace) -> list[Recovery]:
    """After each failure, from the age of the oldest record of each portion.

    That record is overdue from when it became older than normal until it was done. So an outage in which nothing is
    done counts from the moment records wait too long, and what still waits counts until the end. Lost records are left
    out: nothing could recover from them.
    """
    if not trial.failures:
        return []
    portions = served(trial)
    since = trial.arrivals.when(portions.begins)
    moments = (*sorted(set(trial.failures)), trial.until)
    return [_after(portions, since, failure, end) for failure, end in pairwise(moments)]


def _after(portions: Finished, since: Array, failure: float, end: float) -> Recovery:
    limit = normal(portions.times, portions.times - since, failure)
    # a record that comes at the failure is overdue only after the limit: what shows later has other reasons
    well, reach = failure, failure + limit + STAY
    for begin, finish in _overdue(portions, since + limit, failure):
        if begin > reach:
            break
        well = max(well, finish)
        reach = max(reach, well + STAY)
    return Recovery(failure, well - failure if well + STAY <= end else None)


def normal(times: Array, ages: Array, failure: float) -> float:
    """Up to which age records were as old as usual before a failure. Where nothing was done before it: 2 s.

    >>> normal(np.array([90.0, 95.0, 99.0, 120.0]), np.array([4.0, 6.0, 5.0, 30.0]), failure=100)
    7.5
    """
    before = ages[(times >= failure - BEFORE) & (times < failure)]
    return max(NORMAL, TIMES * float(np.median(before))) if len(before) else NORMAL


def _overdue(portions: Finished, due: Array, failure: float) -> list[tuple[float, float]]:
    """From when to when records were overdue after a failure, by their beginning."""
    late = np.flatnonzero((due < portions.times) & (portions.times > failure))
    spells = zip(np.maximum(due[late], failure).tolist(), portions.times[late].tolist(), strict=True)
    return sorted(spells)
