"""The cheapest schedule, traced backwards through the search; it rescales only where it has to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.score.oracle_demand import Whole
from tidegate.score.oracle_search import Layer, Search

#: values that may be kept at once: 64 MB
FITS = 2**23


@dataclass(frozen=True, slots=True)
class Arc:
    """A transition into a state from one at the previous tick, and the records that can be served on it."""

    phase: int
    place: int
    work: float
    #: paid executors above the minimum
    paid: int


@dataclass(slots=True)
class _Walk:
    """Position on the way back for one workload: the records to be served there, and the cost left until there."""

    task: int
    phase: int
    place: int
    cost: int
    want: float


def schedules(search: Search) -> Whole | None:
    """Executors by workload and tick; None if some workload has no schedule within the range of costs."""
    ticks = search.demand.most.shape[1] - 1
    first = search.first()
    # if not all layers fit into memory, only every stride-th is kept and those between are recomputed
    stride = 1 if first.best.size * (ticks + 1) <= FITS else math.isqrt(ticks) + 1
    checkpoints = [layer for k, layer in enumerate(search.layers(first, 0, ticks)) if k % stride == 0 or k == ticks]
    if not np.isfinite(checkpoints[-1].best.max(axis=(0, 1, 3))).all():
        return None
    walks = [_begin(search, checkpoints[-1], task) for task in range(search.demand.most.shape[0])]
    arcs, minimum = _arcs(search), search.terms.limits.minimum
    executors = np.zeros((len(walks), ticks + 1), dtype=np.int64)
    executors[:, ticks] = [walk.place + minimum for walk in walks]
    for begin in range((ticks - 1) // stride * stride, -1, -stride):
        end = min(begin + stride, ticks) - 1
        layers = list(search.layers(checkpoints[begin // stride], begin, end))
        for k in range(end, begin - 1, -1):
            for walk in walks:
                _back(search, arcs, layers[k - begin], (walk, k))
                executors[walk.task, k] = walk.place + minimum
    # the last tick is not paid, so a change down at it does not count
    executors[:, -1] = np.maximum(executors[:, -1], executors[:, max(ticks - 1, 0)])
    return executors


def _begin(search: Search, layer: Layer, task: int) -> _Walk:
    best = layer.best[:, :, task]
    column = int((best.max(axis=(0, 1)) > -np.inf).argmax())
    phase, place = (int(indexes[0]) for indexes in np.nonzero(best[:, :, column] > -np.inf))
    want = min(float(best[phase, place, column]), float(search.demand.need[task, -1]))
    return _Walk(task, phase, place, column + int(layer.base[task]), want)


def _back(search: Search, arcs: dict[tuple[int, int], list[Arc]], layer: Layer, at: tuple[_Walk, int]) -> None:
    walk, k = at
    left = walk.cost - search.terms.limits.minimum - int(layer.base[walk.task])
    pace = search.demand.pace.item(walk.task, k)
    enough = walk.want - 0.01 * float(search.demand.slack[walk.task])
    for arc in arcs[walk.phase, walk.place]:
        column = left - arc.paid
        if 0 <= column < search.width:
            served = layer.best.item(arc.phase, arc.place, walk.task, column)
            if served + arc.work * pace >= enough:
                break
    else:
        raise AssertionError(f"no path back from tick {k + 1}")
    walk.want = min(served, max(search.demand.need.item(walk.task, k), walk.want - arc.work * pace))
    walk.phase, walk.place, walk.cost = arc.phase, arc.place, walk.cost - arc.paid - search.terms.limits.minimum


def _arcs(search: Search) -> dict[tuple[int, int], list[Arc]]:
    """Arcs into each phase and place: staying first, then from the nearest place."""
    places = len(search.engine.rates(search.terms.limits))
    into = {(phase, place): _into(search, phase, place) for phase in range(search.phases) for place in range(places)}
    return {(_, to): sorted(arcs, key=lambda arc: abs(arc.place - to)) for (_, to), arcs in into.items()}


def _into(search: Search, phase: int, to: int) -> list[Arc]:
    engine, step = search.engine, search.terms.step
    down, rates = engine.steps_down(step), engine.rates(search.terms.limits).tolist()
    stay, places = Arc(0, to, rates[to] * step, to), range(len(rates))
    if down == 0:
        gain, ahead = rates[to], engine.ahead(step)
        work = [rates[n] * step + max(gain - rates[n], 0.0) * ahead for n in places]
        return [stay, *(Arc(0, n, work[n], max(n, to)) for n in places if n != to)]
    rest = rates[to] * (down * step - engine.outage)
    if down == 1:
        return [stay, *(Arc(0, n, rest, n) for n in places if n != to)]
    if phase == 0:
        return [stay, Arc(1, to, rest, to), *(Arc(down, n, rest, n) for n in range(to))]
    if phase == down - 1:
        return [Arc(q, n, 0.0, n) for n in places[to + 1 :] for q in range(down)]
    if phase == search.phases - 1:
        return [Arc(q, to, 0.0, to) for q in range(down)]
    return [Arc(phase + 1, to, 0.0, to)]
