"""What executors cost in a month."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import InvalidInput
from tidegate.planner.plan import Plan, Refusal

#: of a month: 365 days of 24 hours in twelve parts
HOURS = 730.0


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """In the currency of the price; `low` to `high` is the interval of what is needed. None is not known."""

    planned: float | None
    low: float | None
    high: float | None


def executors_for(slots: int, cores: int) -> int:
    """
    >>> executors_for(13, cores=4)
    4
    """
    return -(-slots // cores)


def checked_price(price: float) -> float:
    """
    >>> checked_price(0)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: plan: need --price > 0 for an executor-hour, got 0
    """
    if not (math.isfinite(price) and price > 0):
        raise InvalidInput(f"plan: need --price > 0 for an executor-hour, got {price:g}")
    return price


def cost_of(answer: Plan | Refusal, cores: int, price: float) -> MonthlyCost:
    """Of executors that run all the time. A refusal has no planned cost.

    >>> from tidegate.planner.averaging import Interval, SlotsInterval
    >>> plan = Plan(2e5, 14, SlotsInterval(12, 13, None), Interval(2e5, 2.1e5, 2.2e5), reach=64)
    >>> cost_of(plan, cores=1, price=0.05)  # 14 * 730 * 0.05
    MonthlyCost(planned=511.0, low=438.0, high=None)
    """
    planned = answer.slots if isinstance(answer, Plan) else None
    return MonthlyCost(
        *(
            None if slots is None else cost_of_executors(executors_for(slots, cores), price)
            for slots in (planned, answer.interval.low, answer.interval.high)
        )
    )


def cost_of_executors(executors: float, price: float) -> float:
    """
    >>> cost_of_executors(6.5, price=0.1)
    474.5
    """
    return round(executors * HOURS * price, 6)
