"""The search for the cheapest schedule: for each state and each cost, the most records that can have been served.

A state is a number of executors and a phase. More records served is never worse, so no other state is needed. In phase
0 the job works. If a rescale stops the job for L > 1 steps, it is down in phases 1 … L-1 after removing executors,
which are already gone, and in phases L … 2L-2 before adding executors, which are not there yet; each phase counts the
steps to go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from tidegate.score.engine_limits import EngineLimits, Terms
from tidegate.score.oracle_demand import Demand, Whole
from tidegate.score.trace import Array


@dataclass(frozen=True, slots=True)
class Layer:
    """State of the search at one tick: `best[phase, executors - minimum, workload, cost - base[workload]]`; -inf where
    a state is unreachable.
    """

    best: Array
    base: Whole


@dataclass(slots=True)
class Search:
    """Searches a group of workloads, keeping the `width` lowest costs of each at every tick."""

    engine: EngineLimits
    terms: Terms
    demand: Demand
    width: int
    #: per workload, whether every state that was cut off was no better than a cheaper one that was kept
    sure: npt.NDArray[np.bool_] = field(init=False)
    _rates: Array = field(init=False)
    _down: int = field(init=False)
    _paid: Array = field(init=False)
    _skewed: Array = field(init=False)
    _raised: Array = field(init=False)
    _rising: Array = field(init=False)

    def __post_init__(self) -> None:
        rates, tasks = self.engine.rates(self.terms.limits), len(self.demand.most)
        self.sure = np.ones(tasks, dtype=bool)
        self._rates = rates[:, None, None]
        self._down = self.engine.steps_down(self.terms.step)
        shape = (self.phases, len(rates), tasks, self.width)
        self._paid = np.full((*shape[:3], self.width + len(rates) - 1), -np.inf)
        # row n of the view begins n columns further right, as each additional executor costs one more
        phase, row, task, column = self._paid.strides
        self._skewed = as_strided(self._paid, shape, (phase, row + column, task, column))
        self._raised = np.full_like(self._paid[0], -np.inf)
        self._rising = as_strided(self._raised, shape[1:], (row + column, task, column))

    @property
    def phases(self) -> int:
        return max(1, 2 * self._down - 1)

    def first(self) -> Layer:
        best: Array = np.full_like(self._skewed, -np.inf)
        best[0, self.terms.initial - self.terms.limits.minimum, :, 0] = 0.0
        return Layer(best, np.zeros(len(self.sure), dtype=np.int64))

    def layers(self, layer: Layer, begin: int, end: int) -> Iterator[Layer]:
        """The layers of ticks `begin` to `end`; `layer` is that of `begin`."""
        yield layer
        for tick in range(begin + 1, end + 1):
            layer = self._next(layer, tick)
            yield layer

    def _next(self, layer: Layer, tick: int) -> Layer:
        self._skewed[...] = layer.best
        reached = (
            self._added(layer.best[0], self._paid[0], tick)[None] if self._down == 0 else self._restarted(self._paid)
        )
        np.minimum(reached, self.demand.most[:, tick, None], out=reached)
        least = self.demand.need[:, tick] - self.demand.slack
        np.copyto(reached, -np.inf, where=reached < least[:, None])
        return self._cut(reached, layer.base + self.terms.limits.minimum)

    def _added(self, best: Array, paid: Array, tick: int) -> Array:
        step, ahead = self.terms.step, self.engine.ahead(self.terms.step)
        rates = self._rates * self.demand.pace[:, tick - 1, None]
        reached = _from_above(paid + rates * step)
        fewer = _from_below(best + rates * (step - ahead))
        # requested executors are paid from the request on
        self._rising[1:] = fewer[:-1] + rates[1:] * ahead
        np.maximum(reached, self._raised, out=reached)
        if tick * step < self.engine.startup - 1e-9:
            reached[self.terms.initial - self.terms.limits.minimum + 1 :] = -np.inf
        return reached

    def _restarted(self, paid: Array) -> Array:
        down, reached = self._down, np.full_like(paid, -np.inf)
        rest = self._rates * (down * self.terms.step - self.engine.outage)
        reached[0] = paid[0] + self._rates * self.terms.step
        # if the job works again within the step, this is both the begin and the end of a change
        ending = paid[0] if down == 1 else paid[down]
        np.maximum(reached[0, 1:], _from_below(ending)[:-1] + rest[1:], out=reached[0, 1:])
        if down == 1:
            np.maximum(reached[0, :-1], _from_above(ending)[1:] + rest[:-1], out=reached[0, :-1])
            return reached
        np.maximum(reached[0], paid[1] + rest, out=reached[0])
        from_any = paid[:down].max(axis=0)
        reached[1 : down - 1] = paid[2:down]
        reached[down - 1, :-1] = _from_above(from_any)[1:]
        reached[down:-1] = paid[down + 1 :]
        reached[-1] = from_any
        return reached

    def _cut(self, reached: Array, base: Whole) -> Layer:
        cheapest = (reached.max(axis=(0, 1)) > -np.inf).argmax(axis=1)
        cheapest = np.minimum(cheapest, reached.shape[3] - self.width)
        remaining = sliding_window_view(reached, self.width, axis=3)[:, :, np.arange(len(base)), cheapest]
        cut = reached[..., self.width :].max(axis=3, initial=-np.inf)
        if cut.max() > -np.inf:
            self.sure &= (cut <= remaining.max(axis=3)).all(axis=(0, 1))
        return Layer(remaining, base + cheapest)


def _from_above(values: Array) -> Array:
    """For each number of executors, the maximum over as many or more."""
    highest = values.copy()
    # three times as fast as np.maximum.accumulate, which does not vectorise over the other axes
    for n in range(len(highest) - 2, -1, -1):
        np.maximum(highest[n], highest[n + 1], out=highest[n])
    return highest


def _from_below(values: Array) -> Array:
    """For each number of executors, the maximum over as many or fewer."""
    return _from_above(values[::-1])[::-1]
