"""The limit of what a policy can do: with the whole workload known, the fewest worker-seconds that keep to the SLO.

The engine is taken at its best, so that no policy in it can do with less at as few late records:

- time goes from tick to tick; `n` executors seen at a tick are paid, and work, until the next;
- executors are asked for at the tick before the one that first sees them, paid from then on, and work in that step from
  `startup` and `warm` seconds later; those that a tick no longer sees have worked until that tick;
- where a change stops the job, nothing is served for `outage` seconds from the tick of the change on; executors that go
  are not paid from the next tick on, those that come not before the first tick after the job works again;
- records can be served in any order within a step, and none before it is `floor` seconds old.

Where even the fastest schedule is late for some records, the same records and no others may be late. With outages
longer than the SLO that leaves little but the maximum: compare there under an SLO that a change can keep.
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

#: how often the range of costs is doubled to prove a schedule the best
_DOUBLINGS = 1
#: numbers in memory at once, about
_MEMORY = 2**24


@dataclass(frozen=True, slots=True)
class Task:
    """A workload's arrivals, and how long the run goes on."""

    arrivals: Cumulative
    until: float
    #: for each step from tick to tick, how much faster than its capacity the engine is; None for 1. Not with outages
    pace: Array | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.until) and self.until >= 0):
            raise InvalidInput(f"a run must end at a time of at least 0, got until {self.until}")


@dataclass(frozen=True, slots=True)
class Oracle:
    """A cheapest schedule: executors at each tick, what they cost, and the share of records that it is late for."""

    times: Array
    executors: Whole
    seconds: float
    late: float
    #: whether no cheaper schedule can have been overlooked
    proven: bool = True


def oracle(plant: EngineLimits, task: Task, terms: Terms) -> Oracle:
    """Of one workload.

    15 records/s arrive for 4 min and must be served in 5: one executor does 3000 of the 3600, so a sixth minute is due;
    the executor that works it is asked for a minute before.

    >>> from tidegate.core import Limits
    >>> steady = Cumulative(np.array([0.0, 240.0]), np.array([0.0, 3600.0]))
    >>> terms = Terms(Limits(1, 2), 1, slo=60, step=60)
    >>> found = oracle(EngineLimits((0, 10, 20), startup=60), Task(steady, 300), terms)
    >>> found.executors.tolist(), found.seconds, found.late
    ([1, 2, 1, 1, 1, 1], 420.0, 0.0)
    """
    return oracles(plant, [task], terms)[0]


def oracles(plant: EngineLimits, tasks: Sequence[Task], terms: Terms) -> list[Oracle]:
    """Of many workloads at once, which is faster than one by one and gives the same."""
    found: list[Oracle | None] = [None] * len(tasks)
    groups: dict[int, list[int]] = {}
    for row, task in enumerate(tasks):
        groups.setdefault(math.floor(task.until / terms.step + 1e-9), []).append(row)
    for ticks, rows in groups.items():
        paces = [_pace(tasks[row], ticks) for row in rows]
        asked = demand(plant, terms, [tasks[row].arrivals for row in rows], np.array(paces).reshape(len(rows), ticks))
        for row, answer in zip(rows, _solved(plant, terms, asked), strict=True):
            found[row] = answer
    return [answer for answer in found if answer is not None]


def _pace(task: Task, ticks: int) -> Array:
    if task.pace is None:
        return np.ones(ticks)
    if len(task.pace) < ticks:
        raise InvalidInput(f"need a pace for each of {ticks} steps, got {len(task.pace)}")
    return task.pace[:ticks]


def window(plant: EngineLimits, terms: Terms) -> int:
    """How many executor-steps above the cheapest a schedule is followed at first: enough to catch up an SLO."""
    return terms.limits.maximum * (4 + math.ceil((terms.slo + plant.outage) / terms.step))


def _solved(plant: EngineLimits, terms: Terms, asked: Demand) -> list[Oracle]:
    steps = asked.most.shape[1] - 1
    full = steps * (terms.limits.maximum - terms.limits.minimum) + 1
    found: dict[int, Oracle] = {}
    width, open_rows = window(plant, terms), list(range(len(asked.most)))
    limit = width * 2**_DOUBLINGS
    while open_rows:
        width = min(width, full)
        for rows in _portions(plant, terms, open_rows, (steps, width)):
            search = Search(plant, terms, asked.only(rows), width)
            found.update(_answers(search, rows, settle=width >= limit))
        open_rows = [row for row in open_rows if row not in found]
        width *= 2
    return [found[row] for row in range(len(asked.most))]


def _portions(plant: EngineLimits, terms: Terms, rows: list[int], size: tuple[int, int]) -> list[list[int]]:
    """So many workloads at a time that their layers fit into memory."""
    steps, width = size
    phases = max(1, 2 * plant.steps_down(terms.step) - 1)
    layer = phases * terms.limits.maximum * (width + terms.limits.maximum)
    many = max(1, _MEMORY // (layer * (2 * math.isqrt(steps) + 4)))
    return [rows[k : k + many] for k in range(0, len(rows), many)]


def _answers(search: Search, rows: list[int], *, settle: bool) -> dict[int, Oracle]:
    """Those that are proven, or all where it must be settled."""
    executors = schedules(search)
    if executors is None:
        return _apart(search, rows, settle=settle)
    step = search.terms.step
    times: Array = np.arange(executors.shape[1], dtype=np.float64) * step
    return {
        row: Oracle(times, plan, search.plant.paid(plan, step), float(late), bool(sure))
        for row, plan, late, sure in zip(rows, executors, search.demand.late, search.sure, strict=True)
        if sure or settle
    }


def _apart(search: Search, rows: list[int], *, settle: bool) -> dict[int, Oracle]:
    """One without a schedule must not hold up the others of its batch."""
    if len(rows) == 1:
        return {}
    found: dict[int, Oracle] = {}
    for k, row in enumerate(rows):
        one = Search(search.plant, search.terms, search.demand.only([k]), search.width)
        found.update(_answers(one, [row], settle=settle))
    return found
