"""Needs as sentences for the terminal, and as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tidegate.planner.needs.cost import MonthlyCost, cost_of, cost_of_executors
from tidegate.planner.needs.day import AutoscaledDay
from tidegate.planner.needs.needs import Needs
from tidegate.planner.needs.recovery import RecoveryNeed
from tidegate.planner.plan import Plan, Refusal
from tidegate.units import clock, count, seconds, share


def describe_needs(needs: Needs, price: float | None = None) -> Iterator[str]:
    """A sentence for each need, with its interval, and its cost if there is a price.

    >>> from tidegate.planner.averaging import Interval, SlotsInterval
    >>> plan = Plan(2e5, 14, SlotsInterval(12, 12, 13), Interval(2e5, 2.1e5, 2.2e5), reach=64)
    >>> list(describe_needs(Needs(cores=1, rate=plan), price=0.05))
    ['200 k records/s: 14 slots (the fewest that could do: 12 to 13), 511 a month (438 to 474)']
    """
    yield f"{count(needs.rate.rate)} records/s: {_answer(needs.rate, needs.cores, price)}"
    if needs.peak is not None:
        peak = needs.peak.peak
        what = f"peak of {needs.peak.trace}: {count(peak.rate)} records/s for {seconds(peak.window)}"
        yield f"{what}: {_answer(needs.peak.answer, needs.cores, price)}"
    if needs.recovery is not None:
        yield from _recovery(needs.recovery, needs.cores, price)
    if needs.day is not None:
        yield from _day(needs.day, price)
    yield from needs.notes


def plain_needs(needs: Needs, price: float | None = None) -> dict[str, Any]:
    """Of numbers, lists and objects alone; what is infinite or unknown is None."""
    peak, recovery, day = needs.peak, needs.recovery, needs.day
    return {
        "rate": _plain(needs.rate, needs.cores, price),
        "peak": None
        if peak is None
        else {"trace": peak.trace, **asdict(peak.peak), "plan": _plain(peak.answer, needs.cores, price)},
        "recovery": None
        if recovery is None
        else {
            **asdict(recovery.target),
            "rate": recovery.rate,
            "capacity": recovery.capacity,
            "seconds": None if recovery.seconds is None else _finite(asdict(recovery.seconds)),
            "plan": _plain(recovery.answer, needs.cores, price),
        },
        "day": None if day is None else _plain_day(day, price),
        "notes": list(needs.notes),
    }


def _plain(answer: Plan | Refusal, cores: int, price: float | None) -> dict[str, Any]:
    cost = None if price is None else asdict(cost_of(answer, cores, price))
    return {"planned": isinstance(answer, Plan), **asdict(answer), "cost": cost}


def _plain_day(day: AutoscaledDay, price: float | None) -> dict[str, Any]:
    low, high = day.executors
    cost = None
    if price is not None:
        cost = {**asdict(day.cost(price)), "static": cost_of_executors(day.static.mean, price)}
    return {**asdict(day), "executors": {"low": low, "high": high}, "saved": day.saved, "cost": cost}


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _answer(answer: Plan | Refusal, cores: int, price: float | None) -> str:
    cost = None if price is None else cost_of(answer, cores, price)
    if isinstance(answer, Refusal):
        return f"no plan: {answer.reason}"
    return f"{_slots(answer)}{'' if cost is None else f', {_cost(cost)}'}"


def _slots(plan: Plan) -> str:
    low, high = plan.interval.low, plan.interval.high
    slots = f"{plan.slots:,} slot{'s' * (plan.slots != 1)}"
    if low is None:
        return slots
    bounds = f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{slots} (the fewest that could do: {bounds})"


def _cost(cost: MonthlyCost) -> str:
    if cost.planned is None:
        return "cost unknown"
    planned, low = _money(cost.planned), None if cost.low is None else _money(cost.low)
    if low is None or (cost.high == cost.low and low == planned):
        return f"{planned} a month"
    return f"{planned} a month ({low}{' or more' if cost.high is None else f' to {_money(cost.high)}'})"


def _money(amount: float) -> str:
    """
    >>> _money(511.2), _money(7.5)
    ('511', '7.50')
    """
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:,.2f}"


def _recovery(need: RecoveryNeed, cores: int, price: float | None) -> Iterator[str]:
    target = need.target
    yield (
        f"recovery within {seconds(target.within)} of a failure at {count(need.rate)} records/s, "
        f"{seconds(target.outage)} of it outage: {_answer(need.answer, cores, price)}"
    )
    if need.seconds is not None and need.capacity is not None:
        taken = need.seconds
        slowest = f"to {seconds(taken.high)}" if math.isfinite(taken.high) else "or more"
        yield (
            f"  they recover in {seconds(taken.median)} ({seconds(taken.low)} {slowest}), "
            f"with {count(need.capacity)} records/s while the backlog is worked off"
        )


def _day(day: AutoscaledDay, price: float | None) -> Iterator[str]:
    low, high = day.executors
    cost = "" if price is None else f", {_cost(day.cost(price))}"
    yield (
        f"autoscaled by {day.policy}, {day.minimum:,} to {day.maximum:,} executors over {clock(day.seconds)}: "
        f"{day.scaled.mean:,.1f} executors on average ({low:,.1f} to {high:,.1f}){cost}"
    )
    less = f"{share(day.saved)} less" if day.saved >= 0 else f"{share(-day.saved)} more"
    static = "" if price is None else f" for {_money(cost_of_executors(day.static.mean, price))} a month"
    yield f"  {less} than {day.maximum:,} all the time{static}; records later than {seconds(day.slo)}: {_late(day)}"


def _late(day: AutoscaledDay) -> str:
    if day.scaled.late is None or day.late is None:
        return "unknown"
    low, high = (share(bound) for bound in day.late)
    bounds = "" if low == high else f" ({low} to {high})"
    return f"{share(day.scaled.late)}{bounds}, {share(day.static.late)} with {day.maximum:,} all the time"
