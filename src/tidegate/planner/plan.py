"""A plan for a rate: the smallest number of slots that is almost certain to hold it, or why there is none.

The plan is the smallest number of slots whose capacity is at least the rate with a probability of `confidence`: the
rate is a lower bound of their capacity. So there is no fixed head-room. A plan needs less of it where measurements
agree, and more where laws that fit equally well disagree at the target.

A prediction is supported up to its *reach*, the largest number of slots at which the 90 % interval of capacity spans at
most a factor of `widest`, and in any case at most `farthest` times the largest measured number of slots (StreamBed went
to 22 times). A target beyond is refused, with the reach: a number with an interval of a factor of three is no plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import InvalidInput, check, parameter
from tidegate.planner.averaging import AveragedCapacity, Interval, SlotsInterval
from tidegate.units import count, share


@dataclass(frozen=True, slots=True)
class PlanRules:
    confidence: float = parameter(0.975, "share", "probability that the plan holds the rate", least=0.5, most=0.999)
    widest: float = parameter(1.5, "", "upper over lower bound of capacity, up to which it is supported", above=1)
    farthest: float = parameter(32.0, "", "planned over measured slots, up to which capacity is supported", least=1)

    def __post_init__(self) -> None:
        check(self, "plan")


@dataclass(frozen=True, slots=True)
class Plan:
    """`interval` is that of the slots needed, `capacity` that of the planned slots."""

    rate: float
    slots: int
    interval: SlotsInterval
    capacity: Interval
    reach: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """`interval` is of the slots needed all the same; `partitions` how many there must be, if they are the limit."""

    rate: float
    reason: str
    interval: SlotsInterval
    reach: int
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class _Need:
    """In words. `slots` hold the rate with the confidence of the rules."""

    rate: float
    interval: SlotsInterval
    slots: int | None

    def text(self, rules: PlanRules) -> str:
        low, high = self.interval.low, self.interval.high
        if low is None:
            return f"{count(self.rate)} records/s need more slots than can be predicted"
        bounds = f"{low:,} slots or more" if high is None else f"{low:,} to {_slots(high)}"
        sure = f", {self.slots:,} to be {share(rules.confidence)} sure" if self.slots is not None else ""
        return f"{count(self.rate)} records/s need {_slots(low) if low == high else bounds}{sure}"


def plan(
    capacity: AveragedCapacity, rate: float, memory: float | None = None, rules: PlanRules | None = None
) -> Plan | Refusal:
    """
    >>> from tidegate.planner.averaging import average
    >>> from tidegate.planner.measurement import Measurement
    >>> from tidegate.planner.tasks import Tasks
    >>> points = [Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16, 32)]
    >>> planned = plan(average(points), 200_000)
    >>> planned.slots, planned.interval
    (212, SlotsInterval(low=195, median=201, high=207))
    >>> plan(average(points, Tasks(partitions=96)), 200_000).partitions
    212
    """
    _check_rate(rate)
    rules = rules or PlanRules()
    most = rules.farthest * capacity.largest
    interval = capacity.slots_interval(rate, memory, most)
    slots = capacity.slots_for(rate, rules.confidence, memory, most)
    reach = supported(capacity, memory, rules)
    if slots is not None and slots <= reach:
        return Plan(rate, slots, interval, capacity.interval(slots, memory), reach)
    partitions = _partitions(capacity, rate, memory, rules) if slots is None else None
    if partitions is not None:
        return Refusal(rate, _too_few(capacity, rate, memory, rules, partitions), interval, reach, partitions)
    return Refusal(rate, _too_far(capacity, _Need(rate, interval, slots), reach, rules), interval, reach)


def supported(capacity: AveragedCapacity, memory: float | None = None, rules: PlanRules | None = None) -> int:
    """The reach; 0 if measurements contradict each other so much that not even the largest is within it. A single
    number of slots shows nothing about others.
    """
    rules = rules or PlanRules()
    farthest = 1.0 if _single(capacity) else rules.farthest
    most = int(min(farthest * capacity.largest, capacity.tasks.most))
    low, high = 0, min(capacity.largest, most)
    if not _narrow(capacity, high, memory, rules):
        return 0
    while high < most and _narrow(capacity, high, memory, rules):
        low, high = high, min(2 * high, most)
    if _narrow(capacity, high, memory, rules):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _narrow(capacity, middle, memory, rules) else (low, middle)
    return low


def _single(capacity: AveragedCapacity) -> bool:
    return len({m.slots for m in capacity.measurements}) == 1


def _narrow(capacity: AveragedCapacity, slots: int, memory: float | None, rules: PlanRules) -> bool:
    interval = capacity.interval(slots, memory)
    return interval.high <= rules.widest * interval.low


def _partitions(capacity: AveragedCapacity, rate: float, memory: float | None, rules: PlanRules) -> int | None:
    """How many partitions the rate needs; None if partitions are not the limit, or no number of them would do."""
    if math.isinf(capacity.tasks.most):
        return None
    effective = capacity.effective_for(rate, rules.confidence, memory, rules.farthest * capacity.largest)
    return None if effective is None else capacity.tasks.partitions_for(effective)


def _too_few(capacity: AveragedCapacity, rate: float, memory: float | None, rules: PlanRules, partitions: int) -> str:
    most = int(capacity.tasks.most)
    low = capacity.quantile(most, 1 - rules.confidence, memory)
    skew = f" (the largest is {share(capacity.tasks.skew)} over the mean)"
    return (
        f"{most:,} partitions keep at most {most:,} slots busy{skew if capacity.tasks.skew else ''}, which hold "
        f"{count(low)} records/s at the lower bound; {count(rate)} records/s need at least {partitions:,} partitions"
    )


def _too_far(capacity: AveragedCapacity, need: _Need, reach: int, rules: PlanRules) -> str:
    largest = _slots(capacity.largest)
    if not reach:
        return (
            f"{need.text(rules)}: the {len(capacity.measurements)} measurements support no prediction, "
            f"their 90 % interval at {largest} is already wider than a factor of {rules.widest:g}"
        )
    if _single(capacity) and reach == capacity.largest:
        return (
            f"{need.text(rules)}: all measurements are with {largest}, which shows nothing about more of them: measure "
            "at least one other number, better three"
        )
    beyond = f"beyond which the 90 % interval of capacity is wider than a factor of {rules.widest:g}"
    if reach >= int(rules.farthest * capacity.largest):
        beyond = f"{rules.farthest:g} times as many"
    elif reach == capacity.tasks.most:
        beyond = "as many as there are partitions"
    return f"{need.text(rules)}: measurements with up to {largest} support predictions up to {_slots(reach)}, {beyond}"


def _slots(number: int) -> str:
    return f"{number:,} slot{'s' * (number != 1)}"


def _check_rate(rate: float) -> None:
    if not (math.isfinite(rate) and rate > 0):
        raise InvalidInput(f"plan: need a finite rate > 0, got {rate:g}")
