"""Time from a failure until latency is back to normal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Recovering:
    """How far the recovery from a failure at `at` has come, from portions in the order of their records."""

    at: float
    #: the highest normal age
    limit: float
    #: until when records were overdue
    recovered: float
    #: records that get overdue later do so for another reason
    reach: float
    #: no portion to come can change anything
    over: bool = False

    @classmethod
    def of(cls, failure: float, limit: float) -> Recovering:
        # a record that arrives at the failure is overdue only after the limit; later trouble has other causes
        return cls(failure, limit, failure, failure + limit + STAY)

    def after(self, portions: Finished, since: Array) -> Recovering:
        """With further portions, whose first records arrived at `since`."""
        if self.over or not len(since):
            return self
        recovered, reach = self.recovered, self.reach
        for begin, finish in _overdue(portions, since + self.limit, self.at):
            if begin > reach:
                break
            recovered = max(recovered, finish)
            reach = max(reach, recovered + STAY)
        # a while later, as not all records are finished in the order in which they arrived
        over = bool(since.max() + self.limit > reach + BEFORE)
        return Recovering(self.at, self.limit, recovered, reach, over)

    def by(self, end: float) -> Recovery:
        return Recovery(self.at, self.recovered - self.at if self.recovered + STAY <= end else None)


@dataclass(frozen=True, slots=True)
class Beginning:
    """What recovery has to know of a part of the run before the trace: its failures, and its last portions by when
    they were finished and when their first records arrived.
    """

    failures: tuple[Recovering, ...] = ()
    times: Array = field(default_factory=lambda: np.zeros(0))
    since: Array = field(default_factory=lambda: np.zeros(0))


def recovery(trace: RunTrace, before: Beginning | None = None) -> list[Recovery]:
    """One entry per failure, from the age of the oldest record of each portion.

    That record is overdue from when it gets older than normal until it is finished. So an outage counts from the moment
    records have waited too long, and records that still wait count until the end. Lost records are ignored, as no run
    could recover from them.
    """
    before = before or Beginning()
    if not trace.failures and not before.failures:
        return []
    portions = served(trace)
    since = portions.first_created(trace.arrivals)
    failures = begun(trace.failures, before, portions, since)
    ends = (*(failure.at for failure in failures[1:]), trace.until)
    return [failure.after(portions, since).by(end) for failure, end in zip(failures, ends, strict=True)]


def begun(failures: Sequence[float], before: Beginning, portions: Finished, since: Array) -> list[Recovering]:
    """The recoveries that began before, and those that begin with these failures."""
    times, created = np.append(before.times, portions.times), np.append(before.since, since)
    new = set(failures).difference(failure.at for failure in before.failures)
    started = [Recovering.of(at, normal(times, times - created, at)) for at in new]
    return sorted([*before.failures, *started], key=lambda failure: failure.at)


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
