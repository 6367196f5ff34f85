"""The lower bound for policies: the fewest worker-seconds that meet the SLO when the whole workload is known.

The engine is modelled at its best, so that no policy can use fewer worker-seconds with as few late records:

- time advances from tick to tick; executors seen at a tick are paid, and work, until the next tick;
- executors are requested at the tick before the one that first sees them and paid from then on; in that step they start
  to work after `startup` and `warm` seconds. Removed executors work until the first tick that no longer sees them;
- if a rescale stops the job, nothing is served for `outage` seconds from its tick on. Removed executors are paid until
  the next tick, added ones from the first tick after the job works again;
- records can be served in any order within a step, but not before they are `floor` seconds old.

If even the fastest schedule is late for some records, exactly these records may be late. With outages longer than the
SLO this leaves little choice but the maximum: use an SLO that a rescale can meet for such comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidegate.core import InvalidInput
from tidegate.score.engine_limits import EngineLimits, Terms
from tidegate.score.oracle_demand import Demand, Whole, demand
from tidegate.score.oracle_path import schedules
from tidegate.score.oracle_search import Search
from tidegate.score.trace import Array, Cumulative

#: how often the range of costs is doubled to prove that a schedule is optimal
_DOUBLINGS = 1
#: approximate number of values in memory at once
_MEMORY = 2**24


@dataclass(frozen=True, slots=True)
class Task:
    """The arrivals of a workload, and the end of the run."""

    arrivals: Cumulative
    until: float
    #: speed of the engine in each step, relative to its capacity; None for 1. Not supported with outages
    pace: Array | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.until) and self.until >= 0):
            raise InvalidInput(f"a run must end at a time of at least 0, got until {self.until}")


@dataclass(frozen=True, slots=True)
class Oracle:
    """A cheapest schedule: executors at each tick, their cost in worker-seconds, and the share of late records."""

    times: Array
    executors: Whole
    seconds: float
    late: float
    #: whether it is certain that no cheaper schedule exists
    proven: bool = True


def oracle(engine: EngineLimits, task: Task, terms: Terms) -> Oracle:
    """The oracle of one workload.

    15 records/s arrive for 4 min and must be served within 5 min. One executor serves 3000 of the 3600, so a sixth
    executor-minute is needed; its executor is requested one minute earlier.

    >>> from tidegate.core import Limits
    >>> steady = Cumulative(np.array([0.0, 240.0]), np.array([0.0, 3600.0]))
    >>> terms = Terms(Limits(1, 2), 1, slo=60, step=60)
    >>> best = oracle(EngineLimits((0, 10, 20), startup=60), Task(steady, 300), terms)
    >>> best.executors.tolist(), best.seconds, best.late
    ([1, 2, 1, 1, 1, 1], 420.0, 0.0)
    """
    return oracles(engine, [task], terms)[0]


def oracles(engine: EngineLimits, tasks: Sequence[Task], terms: Terms) -> list[Oracle]:
    """The oracles of many workloads: the same results as one by one, but faster."""
    solved: list[Oracle | None] = [None] * len(tasks)
    groups: dict[int, list[int]] = {}
    for row, task in enumerate(tasks):
        groups.setdefault(math.floor(task.until / terms.step + 1e-9), []).append(row)
    for ticks, rows in groups.items():
        paces = [_pace(tasks[row], ticks) for row in rows]
        arrivals = [tasks[row].arrivals for row in rows]
        required = demand(engine, terms, arrivals, np.array(paces).reshape(len(rows), ticks))
        for row, schedule in zip(rows, _solved(engine, terms, required), strict=True):
            solved[row] = schedule
    return [schedule for schedule in solved if schedule is not None]


def _pace(task: Task, ticks: int) -> Array:
    if task.pace is None:
        return np.ones(ticks)
    if len(task.pace) < ticks:
        raise InvalidInput(f"need a pace for each of {ticks} steps, got {len(task.pace)}")
    return task.pace[:ticks]


def window(engine: EngineLimits, terms: Terms) -> int:
    """Initial range of costs that is searched, in executor-steps above the cheapest: enough to catch up one SLO."""
    return terms.limits.maximum * (4 + math.ceil((terms.slo + engine.outage) / terms.step))


def _solved(engine: EngineLimits, terms: Terms, required: Demand) -> list[Oracle]:
    steps = required.most.shape[1] - 1
    full = steps * (terms.limits.maximum - terms.limits.minimum) + 1
    solved: dict[int, Oracle] = {}
    width, open_rows = window(engine, terms), list(range(len(required.most)))
    limit = width * 2**_DOUBLINGS
    while open_rows:
        width = min(width, full)
        for rows in _groups(engine, terms, open_rows, (steps, width)):
            search = Search(engine, terms, required.only(rows), width)
            solved.update(_answers(search, rows, settle=width >= limit))
        open_rows = [row for row in open_rows if row not in solved]
        width *= 2
    return [solved[row] for row in range(len(required.most))]


def _groups(engine: EngineLimits, terms: Terms, rows: list[int], size: tuple[int, int]) -> list[list[int]]:
    """Split the workloads into groups whose layers fit into memory."""
    steps, width = size
    phases = max(1, 2 * engine.steps_down(terms.step) - 1)
    layer = phases * terms.limits.maximum * (width + terms.limits.maximum)
    count = max(1, _MEMORY // (layer * (2 * math.isqrt(steps) + 4)))
    return [rows[k : k + count] for k in range(0, len(rows), count)]


def _answers(search: Search, rows: list[int], *, settle: bool) -> dict[int, Oracle]:
    """Oracles by row: those that are proven optimal, or all with `settle`."""
    executors = schedules(search)
    if executors is None:
        return _one_by_one(search, rows, settle=settle)
    step = search.terms.step
    times: Array = np.arange(executors.shape[1], dtype=np.float64) * step
    return {
        row: Oracle(times, plan, search.engine.paid(plan, step), float(late), bool(sure))
        for row, plan, late, sure in zip(rows, executors, search.demand.late, search.sure, strict=True)
        if sure or settle
    }


def _one_by_one(search: Search, rows: list[int], *, settle: bool) -> dict[int, Oracle]:
    """Solve each workload alone, since one of the group has no schedule."""
    if len(rows) == 1:
        return {}
    solved: dict[int, Oracle] = {}
    for k, row in enumerate(rows):
        single = Search(search.engine, search.terms, search.demand.only([k]), search.width)
        solved.update(_answers(single, [row], settle=settle))
    return solved
