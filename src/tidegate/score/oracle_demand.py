"""The records that must be served by each tick so that as few as possible are late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidegate.score.engine_limits import EngineLimits, Terms
from tidegate.score.trace import Array, Cumulative

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Demand:
    """One row per workload, one column per tick."""

    #: the most that can have been served
    most: Array
    #: the least that must have been served
    need: Array
    #: share of records that are late in the best case
    late: Array
    #: tolerance for rounding errors
    slack: Array
    #: speed of the engine in each step, relative to its capacity; one column fewer than ticks
    pace: Array

    def only(self, rows: Sequence[int]) -> Demand:
        return Demand(self.most[rows], self.need[rows], self.late[rows], self.slack[rows], self.pace[rows])


def demand(engine: EngineLimits, terms: Terms, arrivals: Sequence[Cumulative], pace: Array) -> Demand:
    """The demand of workloads. A record is late if the first tick at which it is older than the SLO finds it unserved.

    So records due between two ticks are late if they are not served by the second one. If all of them are late in any
    case, that tick requires nothing. Each tick also requires enough that the maximum of executors can do the rest.
    """
    times: Array = np.arange(pace.shape[1] + 1, dtype=np.float64) * terms.step
    most = np.array([workload.by(times - engine.floor) for workload in arrivals])
    due = np.array([_due(workload, times - terms.slo) for workload in arrivals])
    before = np.concatenate([np.zeros((len(due), 1)), due[:, :-1]], axis=1)
    totals = np.array([max(workload.whole, 1e-9) for workload in arrivals])
    slack = 1e-9 * totals
    served = _fastest(engine, terms, (most, pace), (due, before))
    missed = np.maximum(due - np.maximum(served, before), 0.0)
    late = np.where(missed <= slack[:, None], 0.0, missed).sum(axis=1) / totals
    nothing_required = (due <= before) | (served <= before)
    fastest = float(engine.rates(terms.limits)[-1]) * terms.step * pace
    need = _reachable(np.where(nothing_required, 0.0, np.minimum(due, served)), fastest)
    return Demand(most, need, late, slack, pace)


def _due(arrivals: Cumulative, times: Array) -> Array:
    """Records that are present from the start count as arrived at the start, not before."""
    due: Array = np.where(times < arrivals.times[0], 0.0, arrivals.by(times))
    return due


def _reachable(need: Array, fastest: Array) -> Array:
    """What must be served by each tick so that later ticks can be met with at most `fastest` in each step."""
    fastest_by = np.concatenate([np.zeros((len(need), 1)), np.cumsum(fastest, axis=1)], axis=1)
    required: Array = np.maximum.accumulate((need - fastest_by)[:, ::-1], axis=1)[:, ::-1] + fastest_by
    positive: Array = np.maximum(required, 0.0)
    return positive


def _fastest(engine: EngineLimits, terms: Terms, load: tuple[Array, Array], deadlines: tuple[Array, Array]) -> Array:
    """Records served by each tick on the path with the fewest late records.

    Without outages this path goes to the maximum as soon as possible. With outages it changes to the maximum once at
    some tick, or never: a path that changes at a tick is nowhere ahead of one that goes to the maximum there and stays.
    """
    most, pace = load
    steps = most.shape[1] - 1
    if engine.outage == 0:
        return _served(most, _adding(engine, terms, steps) * pace)
    served = _served(most, _restarting(engine, terms, np.array([0]), steps))
    for row, (due, before) in enumerate(zip(*deadlines, strict=True)):
        if _late(served[row], due, before) > 0:
            paths = _served(most[row], _restarting(engine, terms, np.arange(steps + 1), steps))
            served[row] = paths[_late(paths, due, before).argmin()]
    return served


def _late(served: Array, due: Array, before: Array) -> Array:
    records: Array = np.maximum(due - np.maximum(served, before), 0.0).sum(axis=-1)
    return records


def _served(most: Array, work: Array) -> Array:
    """Records served by each tick, for workloads or paths; `work[..., k]` can be done between ticks k and k + 1."""
    served = np.zeros(np.broadcast_shapes(most.shape, (*work.shape[:-1], most.shape[-1])))
    for k in range(work.shape[-1]):
        served[..., k + 1] = np.minimum(most[..., k + 1], served[..., k] + work[..., k])
    return served


def _adding(engine: EngineLimits, terms: Terms, steps: int) -> Array:
    rates = engine.rates(terms.limits)
    first, top, ahead = rates[terms.initial - terms.limits.minimum], rates[-1], engine.ahead(terms.step)
    added = np.arange(steps + 1) * terms.step >= engine.startup - 1e-9
    added[0] = terms.initial == terms.limits.maximum
    rate_at = np.where(added, top, first)
    work: Array = rate_at[:-1] * (terms.step - ahead) + np.maximum(rate_at[1:], rate_at[:-1]) * ahead
    return work


def _restarting(engine: EngineLimits, terms: Terms, changes: Whole, steps: int) -> Array:
    """One row per tick of the change; a change at the last tick has no effect."""
    rates = engine.rates(terms.limits)
    first, top = rates[terms.initial - terms.limits.minimum], rates[-1]
    since = (np.arange(steps)[None, :] + 1 - changes[:, None]) * terms.step
    work: Array = np.where(since <= 0, first * terms.step, top * np.clip(since - engine.outage, 0.0, terms.step))
    return work
