"""What one more run would be worth: the interval of the slots needed, as it is and as it is expected to be.

The run is imagined with five outcomes, the quantiles of what the present knowledge expects to be measured. For each the
capacity is learnt again, and the interval is averaged over them, so an outcome that would settle a dispute between laws
counts as much as it is probable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.core import InvalidInput
from tidegate.planner.averaging import AveragedCapacity, SlotsInterval
from tidegate.planner.measurement import Measurement
from tidegate.planner.plan import PlanRules

#: quantiles of equally probable outcomes
OUTCOMES = (0.1, 0.3, 0.5, 0.7, 0.9)
#: share of the interval's width, on a logarithmic scale, that a run must be expected to save
WORTH = 0.01


@dataclass(frozen=True, slots=True)
class Narrowing:
    """`before` and `after` are intervals of the slots needed, at 90 %."""

    slots: int
    memory: float
    before: SlotsInterval
    after: SlotsInterval

    @property
    def worthwhile(self) -> bool:
        return _width(self.after) <= (1 - WORTH) * _width(self.before) and self.after != self.before

    @property
    def sentence(self) -> str:
        run = f"one more run at {self.slots:,} slot{'s' * (self.slots > 1)}"
        if not self.worthwhile:
            return f"{run} is not expected to narrow the answer, {_text(self.before)} slots"
        return f"{run} would narrow the answer from {_text(self.before)} slots to {_text(self.after)}"


def narrowing(
    capacity: AveragedCapacity, slots: int, rate: float, memory: float | None = None, rules: PlanRules | None = None
) -> Narrowing:
    """What a run with `slots` slots is expected to do to the answer for `rate`.

    >>> from tidegate.planner.averaging import average
    >>> rates = ((1, 1000.0), (2, 1850.0), (4, 3300.0), (8, 5700.0), (12, 8600.0), (16, 10600.0))
    >>> capacity = average([Measurement(slots, 512, rate) for slots, rate in rates])
    >>> narrowing(capacity, 64, rate=40_000).sentence
    'one more run at 64 slots would narrow the answer from 63-90 slots to 68-81'
    """
    memory = capacity.memory if memory is None else memory
    most = (rules or PlanRules()).farthest * max(capacity.largest, slots)
    before = capacity.slots_interval(rate, memory, most)
    imagined = [
        capacity.with_measurement(Measurement(slots, memory, outcome)).slots_interval(rate, memory, most)
        for outcome in capacity.outcomes(slots, OUTCOMES, memory)
    ]
    after = SlotsInterval(*(_mean([getattr(i, end) for i in imagined], most) for end in ("low", "median", "high")))
    return Narrowing(slots, memory, before, after)


def best_run(
    capacity: AveragedCapacity,
    allowed: Sequence[int],
    rate: float,
    memory: float | None = None,
    rules: PlanRules | None = None,
) -> Narrowing:
    """The run, among the allowed numbers of slots, after which the interval is expected to be narrowest."""
    if not allowed:
        raise InvalidInput("next run: need at least one number of slots to choose from, got none")
    candidates = [narrowing(capacity, slots, rate, memory, rules) for slots in allowed]
    return min(candidates, key=lambda candidate: _width(candidate.after))


def _mean(ends: Sequence[int | None], most: float) -> int | None:
    """Geometric; an end beyond all numbers in question counts as the largest of them."""
    mean = math.exp(math.fsum(math.log(most if end is None else end) for end in ends) / len(ends))
    return None if sum(end is None for end in ends) > len(ends) / 2 else round(mean)


def _width(interval: SlotsInterval) -> float:
    """On a logarithmic scale; infinite without an upper bound."""
    if interval.low is None or interval.high is None:
        return math.inf
    return math.log(interval.high / interval.low)


def _text(interval: SlotsInterval) -> str:
    if interval.low is None:
        return "more than can be predicted"
    return f"{interval.low:,}-{interval.high:,}" if interval.high is not None else f"{interval.low:,} or more"
