"""Head-room to recover: the capacity that works off, in a given time, what an outage at the peak has left behind.

Phoebe's model (`capacity.recovery`) in the worst case: the query fails just before a batch is committed. Then the
records of that batch are processed again, and those that arrived while it ran wait, two triggers' worth. During the
outage, from the failure until it runs again, everything waits, and the peak goes on all the time:

    time(C) = outage + rate (2 triggers + outage) / (C - rate)

Solved for C, that is the rate to plan for: all that has arrived since the last commit, in the time without the outage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tidegate.capacity.recovery import by_spare_capacity
from tidegate.core import Forecast, check, parameter
from tidegate.planner.averaging import AveragedCapacity, Interval, SlotsInterval
from tidegate.planner.plan import Plan, PlanRules, Refusal, plan, supported
from tidegate.units import count, seconds

#: seconds from a failure until the query runs again: what the policy `phoebe` assumes, so that both agree
OUTAGE = 110.0
#: triggers whose records were not committed when it fails
UNCOMMITTED = 2.0


@dataclass(frozen=True, slots=True)
class RecoveryTarget:
    """`within` counts from the failure, so it includes the outage."""

    within: float = parameter(180.0, "s", "time from the failure until nothing is left behind", above=0)
    outage: float = parameter(OUTAGE, "s", "time to detect a failure and restart", least=0)
    trigger: float = parameter(4.0, "s", "time between micro-batches", above=0)

    def __post_init__(self) -> None:
        check(self, "recovery")

    @property
    def uncommitted(self) -> float:
        """Seconds of arrivals that are processed again, or wait already."""
        return UNCOMMITTED * self.trigger

    def capacity_for(self, rate: float) -> float:
        """The capacity that is needed; infinite if the outage alone takes longer.

        >>> RecoveryTarget(within=180.0, outage=110.0, trigger=5.0).capacity_for(70_000)  # 190 s of records in 70 s
        190000.0
        """
        left = self.within - self.outage
        return rate * (self.within + self.uncommitted) / left if left > 0 else math.inf

    def seconds(self, capacity: float, rate: float) -> float:
        """The time that a capacity takes; infinite if it does not exceed the rate. For a constant rate the formulas of
        Phoebe and Daedalus agree; Phoebe's leaves out its terms below a second.

        >>> RecoveryTarget(within=180.0, outage=110.0, trigger=5.0).seconds(190_000, 70_000)
        180.0
        """
        if capacity <= rate:
            return math.inf
        return by_spare_capacity(capacity, Forecast(1.0, (rate,)), self.uncommitted * rate, self.outage)


@dataclass(frozen=True, slots=True)
class RecoveryNeed:
    """`rate` goes on while it recovers; `capacity` is what that takes, None if no capacity would do."""

    target: RecoveryTarget
    rate: float
    capacity: float | None
    answer: Plan | Refusal
    #: how long the planned slots take; None without a plan
    seconds: Interval | None = None


def plan_recovery(
    capacity: AveragedCapacity,
    rate: float,
    target: RecoveryTarget,
    memory: float | None = None,
    rules: PlanRules | None = None,
) -> RecoveryNeed:
    """
    >>> from tidegate.planner.averaging import average
    >>> from tidegate.planner.measurement import Measurement
    >>> points = average([Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16, 32)])
    >>> need = plan_recovery(points, 70_000, RecoveryTarget(within=180.0, outage=110.0, trigger=5.0))
    >>> need.capacity, need.answer.slots, round(need.seconds.median)
    (190000.0, 201, 174)
    """
    rules = rules or PlanRules()
    wanted = target.capacity_for(rate)
    answer = _too_short(target, rate) if math.isinf(wanted) else plan(capacity, wanted, memory, rules)
    needed = None if math.isinf(wanted) else wanted
    if isinstance(answer, Refusal):
        reach = supported(capacity, memory, rules)
        able = capacity.quantile(reach, 1 - rules.confidence, memory) if reach else None
        reason = answer.reason if needed is None else f"it takes {count(needed)} records/s, and {answer.reason}"
        refused = replace(answer, reach=reach, reason=reason + _best(target, rate, reach, able))
        return RecoveryNeed(target, rate, needed, refused)
    low, high = answer.capacity.low, answer.capacity.high
    taken = Interval(*(target.seconds(able, rate) for able in (high, answer.capacity.median, low)))
    return RecoveryNeed(target, rate, needed, answer, taken)


def _too_short(target: RecoveryTarget, rate: float) -> Refusal:
    reason = f"no number of slots recovers within {seconds(target.within)}, as the outage alone lasts"
    return Refusal(rate, f"{reason} {seconds(target.outage)}", SlotsInterval(None, None, None), reach=0)


def _best(target: RecoveryTarget, rate: float, reach: int, able: float | None) -> str:
    """With as many slots as can be predicted, at the lower bound of what they are able to do."""
    if able is None:
        return ""
    most = f"{reach:,} slot{'s' * (reach != 1)}, the most within reach"
    best = target.seconds(able, rate)
    if math.isinf(best):
        return f"; {most}, do not even keep up with {count(rate)} records/s"
    return f"; the best possible is {seconds(best)}, with {most}"
