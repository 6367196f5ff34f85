"""BIDS2, bounded-inverse DS2 (StreamBed, DEBS'24, section 5): task slots for operators that each have their own.

The source rate is to be as high as possible while no operator exceeds what its slots can do:

    max rate    with    slots_i * true_rate_i >= rate * input_ratio_i,    slots_i >= 1,    sum of slots_i = budget

StreamBed solves it as an integer program. It has a closed form: the best rate is the highest one for which the sum of
max(1, ceil(rate * input_ratio_i / true_rate_i)) is within the budget. Giving each further slot to the bottleneck
reaches it, as no other slot raises the rate.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.core import InvalidInput

#: larger numbers of slots are mistakes
MOST_SLOTS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class IsolatedOperator:
    """An operator as a run with one task each shows it. Sources have slots of their own and are left out.

    `input_ratio` is its input rate over that of the source, `true_rate` the records per second that one task takes in
    when it is busy all the time.

    >>> IsolatedOperator(input_ratio=0.5, true_rate=100.0).source_rate(slots=3)
    600.0
    """

    input_ratio: float
    true_rate: float

    def source_rate(self, slots: int) -> float:
        """The highest rate of the source that this many slots keep up with."""
        return slots * (self.true_rate / self.input_ratio)

    def slots(self, source_rate: float) -> int:
        """The fewest slots that keep up with a rate of the source, in agreement with `source_rate` to the last bit."""
        slots = max(1, math.ceil(source_rate / (self.true_rate / self.input_ratio)))
        while slots > 1 and self.source_rate(slots - 1) >= source_rate:
            slots -= 1
        while self.source_rate(slots) < source_rate:
            slots += 1
        return slots


@dataclass(frozen=True, slots=True)
class Allocation:
    """Slots per operator, in the order of the operators, and the source rate that the `bottleneck` limits them to."""

    slots: tuple[int, ...]
    source_rate: float
    #: index of the operator with the lowest source rate; the first of several
    bottleneck: int

    @property
    def total(self) -> int:
        return sum(self.slots)


def best_allocation(operators: Sequence[IsolatedOperator], budget: int) -> Allocation:
    """The allocation of exactly `budget` slots with the highest source rate.

    Slots that cannot raise the rate any more are also given to the bottleneck of the moment, which leaves the other
    operators with as little spare capacity as possible. `fewest_slots` at the same rate does without them.

    >>> operators = [IsolatedOperator(1.0, 400.0), IsolatedOperator(0.5, 100.0), IsolatedOperator(0.1, 90.0)]
    >>> best_allocation(operators, budget=6)  # 2 * 400, 3 * 100 / 0.5 and 90 / 0.1
    Allocation(slots=(2, 3, 1), source_rate=600.0, bottleneck=1)
    """
    _check(operators)
    if not len(operators) <= budget <= MOST_SLOTS:
        rule = f"{len(operators)} (one per operator) <= slots <= {MOST_SLOTS:,}"
        raise InvalidInput(f"BIDS2: need {rule}, got a budget of {budget}")
    slots = list(_lower_bound(operators, budget))
    bottlenecks = [(operator.source_rate(n), k) for k, (operator, n) in enumerate(zip(operators, slots, strict=True))]
    heapq.heapify(bottlenecks)
    for _ in range(budget - sum(slots)):
        k = bottlenecks[0][1]
        slots[k] += 1
        heapq.heapreplace(bottlenecks, (operators[k].source_rate(slots[k]), k))
    return _allocation(operators, slots)


def fewest_slots(operators: Sequence[IsolatedOperator], source_rate: float) -> Allocation:
    """The allocation with the fewest slots that keeps up with a source rate, as in DS2.

    Its own rate is usually higher, as slots are whole.

    >>> fewest_slots([IsolatedOperator(1.0, 400.0), IsolatedOperator(0.5, 100.0)], source_rate=500.0)
    Allocation(slots=(2, 3), source_rate=600.0, bottleneck=1)
    """
    _check(operators)
    if not 0 < source_rate < math.inf:
        raise InvalidInput(f"BIDS2: need a finite source rate > 0 records/s, got {source_rate:g}")
    lowest = min(operator.source_rate(1) for operator in operators)
    if source_rate > lowest * MOST_SLOTS:
        raise InvalidInput(
            f"BIDS2: {source_rate:g} records/s would need more than {MOST_SLOTS:,} slots of {lowest:g} records/s each"
        )
    return _allocation(operators, [operator.slots(source_rate) for operator in operators])


def _lower_bound(operators: Sequence[IsolatedOperator], budget: int) -> Sequence[int]:
    """Slots that every best allocation contains, so that a large budget is not handed out slot by slot.

    Rounding up adds less than one slot per operator: at the rate that `budget - len(operators)` divisible slots would
    reach, whole slots are still within the budget.
    """
    divisible = (budget - len(operators)) * (1 - 1e-9)
    rate = divisible / math.fsum(operator.input_ratio / operator.true_rate for operator in operators)
    return [operator.slots(rate) for operator in operators]


def _allocation(operators: Sequence[IsolatedOperator], slots: Sequence[int]) -> Allocation:
    rates = [operator.source_rate(n) for operator, n in zip(operators, slots, strict=True)]
    return Allocation(tuple(slots), min(rates), rates.index(min(rates)))


def _check(operators: Sequence[IsolatedOperator]) -> None:
    if not operators:
        raise InvalidInput("BIDS2: need at least one operator, got none")
    for number, operator in enumerate(operators, 1):
        for name, value in (("input ratio", operator.input_ratio), ("true rate", operator.true_rate)):
            if not 0 < value < math.inf:
                raise InvalidInput(f"BIDS2, operator {number}: need a finite {name} > 0, got {value:g}")
        if not 0 < operator.source_rate(1) * MOST_SLOTS < math.inf:
            ratio, rate = operator.input_ratio, operator.true_rate
            raise InvalidInput(f"BIDS2, operator {number}: a ratio of {ratio:g} at {rate:g} records/s is out of range")
