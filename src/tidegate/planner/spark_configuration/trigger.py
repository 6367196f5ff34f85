"""The trigger interval, and the largest batch that the planned slots finish within it.

A long trigger wastes little on what every batch takes without records, a short one answers soon: the oldest record of a
batch waits for a trigger and then for its batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tidegate.planner.spark_configuration.rules import ConfigurationRules
from tidegate.units import seconds, share

#: triggers are multiples of it
STEP = 0.1
#: and of these from a length on, where that is possible
COARSE = ((10.0, 1.0), (2.0, 0.5))
#: a capacity that changes less with the trigger is the same
NOTABLE = 0.03


@dataclass(frozen=True, slots=True)
class BatchTime:
    """How long a batch takes with the planned slots at the target: `fixed`, None if unknown, and `load` for each second
    of the trigger.

    >>> BatchTime(fixed=1.0, load=0.5).latency(4.0)  # 4 s until it is planned, 1 s + 0.5 * 4 s until it is done
    7.0
    """

    fixed: float | None
    load: float

    def latency(self, trigger: float) -> float:
        """The age of the oldest record of a batch when it is done."""
        return trigger + (self.fixed or 0.0) + self.load * trigger

    def longest(self, slo: float) -> float:
        """The longest trigger with which latency stays within the SLO; below 0 if none does."""
        return (slo - (self.fixed or 0.0)) / (1 + self.load)


@dataclass(frozen=True, slots=True)
class TriggerPlan:
    """`fixed_share` is None if the run does not show what a batch takes without records."""

    trigger: float
    latency: float
    fixed_share: float | None
    #: what could not be had, or has changed, as sentences
    notes: tuple[str, ...] = ()


def plan_trigger(
    batch: BatchTime, measured: float, slo: float | None = None, rules: ConfigurationRules | None = None
) -> TriggerPlan:
    """The trigger of the run, unless it is too short for the fixed time or too long for the SLO: capacity was measured
    with it. Where both cannot be had, the fixed time counts, as a query that falls behind has no latency to speak of.

    >>> plan_trigger(BatchTime(fixed=0.5, load=0.5), measured=4.0, slo=10.0).trigger
    4.0
    >>> plan_trigger(BatchTime(fixed=2.0, load=0.5), measured=4.0).trigger  # 2 s are 25 % of 8 s
    8.0
    """
    rules = rules or ConfigurationRules()
    least = _in_steps(math.ceil, (batch.fixed or 0.0) / rules.fixed_share, STEP)
    most = math.inf if slo is None else _in_steps(math.floor, batch.longest(slo), STEP)
    trigger = max(least, min(measured, most))
    notes: tuple[str, ...] = ()
    if trigger > most or trigger <= 0:
        trigger = _readable(trigger or measured, least, math.inf)
        notes = (_conflict(batch, trigger, slo or 0.0, rules),)
    elif trigger != measured:
        trigger = _readable(trigger, least, most)
    if trigger != measured:
        notes += _changed(batch, measured, trigger)
    if batch.fixed is None:
        notes += ("what a batch takes without records is unknown: the run had batches of one size only",)
    fixed_share = None if batch.fixed is None else batch.fixed / trigger
    return TriggerPlan(trigger, batch.latency(trigger), fixed_share, notes)


def _in_steps(rounded: Callable[[float], int], trigger: float, step: float) -> float:
    """
    >>> _in_steps(math.ceil, 2.0 / 0.25, 0.1), _in_steps(math.floor, 0.3, 0.1), _in_steps(math.ceil, 6.03, 0.5)
    (8.0, 0.3, 6.5)
    """
    # quotients of decimal fractions are not quite what they should be
    return round(rounded(round(trigger / step, 6)) * step, 6)


def _readable(trigger: float, least: float, most: float) -> float:
    """In coarse steps, if there is a multiple near within the bounds.

    >>> _readable(6.3, least=6.3, most=9.0), _readable(6.3, least=0.5, most=6.3), _readable(6.3, least=6.3, most=6.4)
    (6.5, 6.0, 6.3)
    """
    for length, step in COARSE:
        for rounded in (math.ceil, math.floor):
            near = _in_steps(rounded, trigger, step)
            if trigger >= length and least <= near <= most:
                return near
    return trigger


def _conflict(batch: BatchTime, trigger: float, slo: float, rules: ConfigurationRules) -> str:
    asked = f"a latency within {seconds(slo)}"
    if batch.fixed is None:
        return f"{asked} cannot be had: batches take longer than the run's"
    most = batch.longest(slo)
    text = (
        f"{asked} and at most {share(rules.fixed_share)} of the trigger for the {seconds(batch.fixed)} that a batch "
        f"takes without records cannot both be had: a trigger of {seconds(trigger)} has latencies up to "
        f"{seconds(batch.latency(trigger))}"
    )
    if most <= batch.fixed / max(1e-9, 1 - min(batch.load, 1.0)):
        return f"{text}, and with any trigger that holds the SLO batches would not end in time"
    return f"{text}, one of {seconds(most)} spends {share(batch.fixed / most)} on it"


def _changed(batch: BatchTime, measured: float, trigger: float) -> tuple[str, ...]:
    """What another trigger than that of the run does to the capacity that was measured with it."""
    if batch.fixed is None:
        return (f"capacity was measured with a trigger of {seconds(measured)}, and with a shorter one it is smaller",)
    before, after = max(0.0, 1 - batch.fixed / measured), 1 - batch.fixed / trigger
    if abs(after - before) <= NOTABLE * before:
        return ()
    how = f"{share(abs(1 - after / before))} {'larger' if after > before else 'smaller'}" if before else "larger"
    advice = ": measured with it, fewer slots may do" if after > before else ""
    return (
        f"capacity was measured with a trigger of {seconds(measured)}, and with {seconds(trigger)} it is {how}, as "
        f"every batch takes {seconds(batch.fixed)} without records{advice}",
    )


def batch_limit(capacity: float, rate: float, trigger: float) -> int:
    """The most records of a batch: what is processed within a trigger at a lower bound of capacity, in three digits.

    After an outage, batches then last as long as always, and the backlog goes down by what capacity exceeds the rate.
    Never less than what arrives.

    >>> batch_limit(capacity=123_456.0, rate=100_000.0, trigger=4.0), batch_limit(1_001.9, 1_001.0, 10.0)
    (493000, 10010)
    """
    records = max(1.0, capacity * trigger)
    step = 10 ** max(0, math.floor(math.log10(records)) - 2)
    return max(int(records // step * step), math.ceil(rate * trigger - 1e-9))
