"""What must have been served by each tick, so that as few records are late as can be."""

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
    """Of several workloads, one a row, at each tick a column."""

    #: no more can have been served
    most: Array
    #: no less may have been served
    need: Array
    #: share of records that are late at best
    late: Array
    #: what is lost by rounding
    slack: Array
    #: for each step, one fewer than ticks, how much faster than its capacity the engine is
    pace: Array

    def only(self, rows: Sequence[int]) -> Demand:
        return Demand(self.most[rows], self.need[rows], self.late[rows], self.slack[rows], self.pace[rows])


def demand(plant: EngineLimits, terms: Terms, arrivals: Sequence[Cumulative], pace: Array) -> Demand:
    """A record is late if it was not served by the first tick at which it was older than the SLO.

    So those due between two ticks are late as far as they were not served by the second, and where all of them are
    late anyhow that tick asks for nothing. Besides what is due, so much is needed that the maximum can do the rest.
    """
    times: Array = np.arange(pace.shape[1] + 1, dtype=np.float64) * terms.step
    most = np.array([seen.by(times - plant.floor) for seen in arrivals])
    due = np.array([_due(seen, times - terms.slo) for seen in arrivals])
    before = np.concatenate([np.zeros((len(due), 1)), due[:, :-1]], axis=1)
    whole = np.array([max(seen.whole, 1e-9) for seen in arrivals])
    slack = 1e-9 * whole
    served = _fastest(plant, terms, (most, pace), (due, before))
    missed = np.maximum(due - np.maximum(served, before), 0.0)
    late = np.where(missed <= slack[:, None], 0.0, missed).sum(axis=1) / whole
    nothing = (due <= before) | (served <= before)
    fastest = float(plant.rates(terms.limits)[-1]) * terms.step * pace
    need = _reachable(np.where(nothing, 0.0, np.minimum(due, served)), fastest)
    return Demand(most, need, late, slack, pace)


def _due(seen: Cumulative, times: Array) -> Array:
    """Records that were there from the start arrived at the start, not before."""
    due: Array = np.where(times < seen.times[0], 0.0, seen.by(times))
    return due


def _reachable(need: Array, fastest: Array) -> Array:
    """With at most so much in each step, what must be done by each tick for those that follow."""
    gone = np.concatenate([np.zeros((len(need), 1)), np.cumsum(fastest, axis=1)], axis=1)
    reach: Array = np.maximum.accumulate((need - gone)[:, ::-1], axis=1)[:, ::-1] + gone
    wanted: Array = np.maximum(reach, 0.0)
    return wanted


def _fastest(plant: EngineLimits, terms: Terms, load: tuple[Array, Array], deadlines: tuple[Array, Array]) -> Array:
    """Served by each tick on the path with the fewest late records.

    Without outages that is the maximum as soon as possible. With them it is one change to the maximum at some tick, or
    none at all: a path that changes at a tick is nowhere ahead of one that goes to the maximum there and stays.
    """
    most, pace = load
    steps = most.shape[1] - 1
    if plant.outage == 0:
        return _served(most, _adding(plant, terms, steps) * pace)
    served = _served(most, _restarting(plant, terms, np.array([0]), steps))
    for row, (due, before) in enumerate(zip(*deadlines, strict=True)):
        if _late(served[row], due, before) > 0:
            paths = _served(most[row], _restarting(plant, terms, np.arange(steps + 1), steps))
            served[row] = paths[_late(paths, due, before).argmin()]
    return served


def _late(served: Array, due: Array, before: Array) -> Array:
    records: Array = np.maximum(due - np.maximum(served, before), 0.0).sum(axis=-1)
    return records


def _served(most: Array, work: Array) -> Array:
    """By each tick, for many workloads or for many paths; `work[..., k]` can be done between ticks k and k + 1."""
    served = np.zeros(np.broadcast_shapes(most.shape, (*work.shape[:-1], most.shape[-1])))
    for k in range(work.shape[-1]):
        served[..., k + 1] = np.minimum(most[..., k + 1], served[..., k] + work[..., k])
    return served


def _adding(plant: EngineLimits, terms: Terms, steps: int) -> Array:
    rates = plant.rates(terms.limits)
    first, top, ahead = rates[terms.initial - terms.limits.minimum], rates[-1], plant.ahead(terms.step)
    here = np.arange(steps + 1) * terms.step >= plant.startup - 1e-9
    here[0] = terms.initial == terms.limits.maximum
    now = np.where(here, top, first)
    work: Array = now[:-1] * (terms.step - ahead) + np.maximum(now[1:], now[:-1]) * ahead
    return work


def _restarting(plant: EngineLimits, terms: Terms, changes: Whole, steps: int) -> Array:
    """A row for each tick of the change; one at the last tick is none."""
    rates = plant.rates(terms.limits)
    first, top = rates[terms.initial - terms.limits.minimum], rates[-1]
    since = (np.arange(steps)[None, :] + 1 - changes[:, None]) * terms.step
    work: Array = np.where(since <= 0, first * terms.step, top * np.clip(since - plant.outage, 0.0, terms.step))
    return work
