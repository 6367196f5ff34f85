"""Whether the planned number of state partitions is right: tried on the testbed against half and double of it.

State partitions are fixed for ever when a query first starts, so a trial is cheap against a wrong number. The testbed
gets as many partitions for each slot as the plan: what tasks cost a slot, and how evenly they fill it, is then alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.core import InvalidInput, check, parameter
from tidegate.planner.spark_configuration.partitions import PartitionPlan
from tidegate.units import count, share


@dataclass(frozen=True, slots=True)
class TrialCount:
    """Partitions of the plan, and as many for each slot of the testbed."""

    planned: int
    testbed: int


@dataclass(frozen=True, slots=True)
class MeasuredCount:
    """The rates that the testbed sustained with a count, one for each repetition."""

    count: TrialCount
    rates: tuple[float, ...]

    @property
    def rate(self) -> float:
        return sum(self.rates) / len(self.rates)


@dataclass(frozen=True, slots=True)
class TrialRules:
    tolerance: float = parameter(
        0.05, "share", "by which a measured rate may differ from another by noise alone", least=0, most=0.5
    )

    def __post_init__(self) -> None:
        check(self, "partition trial")


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """The count to take, and why."""

    count: TrialCount
    reason: str


def trial_counts(plan: PartitionPlan, testbed_slots: int) -> tuple[TrialCount, ...]:
    """Half (in whole waves), the whole and double of the plan. There is no half of a single wave: slots would be idle.

    >>> trial_counts(PartitionPlan(96, 24, 0.2, 0.05), testbed_slots=4)
    (TrialCount(planned=48, testbed=8), TrialCount(planned=96, testbed=16), TrialCount(planned=192, testbed=32))
    >>> [trial.planned for trial in trial_counts(PartitionPlan(24, 24, 0.2, 0.05), testbed_slots=4)]
    [24, 48]
    """
    if testbed_slots < 2:
        raise InvalidInput(
            f"partition trial: need a testbed of at least 2 slots, got {testbed_slots}: on one slot any number of "
            "partitions is even"
        )
    half = -(-plan.waves // 2) * plan.slots
    planned = sorted({min(half, plan.partitions), plan.partitions, 2 * plan.partitions})
    scaled = [TrialCount(number, round(number * testbed_slots / plan.slots)) for number in planned]
    return tuple(trial for trial in scaled if trial.testbed >= testbed_slots)


def judge_trial(
    plan: PartitionPlan, measured: Sequence[MeasuredCount], rules: TrialRules | None = None
) -> TrialVerdict:
    """The planned count, unless another is better by more than noise. Of several that are, the most partitions: they
    cannot be added later.

    >>> counts = trial_counts(PartitionPlan(96, 24, 0.2, 0.05), testbed_slots=4)
    >>> rates = ((9_000.0,), (8_900.0,), (7_000.0,))
    >>> verdict = judge_trial(PartitionPlan(96, 24, 0.2, 0.05), list(map(MeasuredCount, counts, rates)))
    >>> verdict.count.planned, verdict.reason
    (96, '96 partitions as planned: no other count was better by more than noise (48: +1.1 %, 192: -21.3 %)')
    """
    rules = rules or TrialRules()
    chosen = _of_plan(plan, measured)
    best = max(measured, key=lambda trial: trial.rate)
    others = ", ".join(
        f"{trial.count.planned:,}: {_against(trial.rate, chosen.rate)}" for trial in measured if trial is not chosen
    )
    if best.rate <= chosen.rate * (1 + rules.tolerance):
        compared = f": no other count was better by more than noise ({others})" if others else ": no other was measured"
        return TrialVerdict(chosen.count, f"{chosen.count.planned:,} partitions as planned{compared}")
    level = [trial for trial in measured if trial.rate * (1 + rules.tolerance) >= best.rate]
    taken = max(level, key=lambda trial: trial.count.planned)
    return TrialVerdict(
        taken.count,
        f"{taken.count.planned:,} partitions instead of {chosen.count.planned:,}: the testbed sustained "
        f"{count(taken.rate)} records/s instead of {count(chosen.rate)}, {share(taken.rate / chosen.rate - 1)} more"
        f"{_growth(plan, taken)}",
    )


def _of_plan(plan: PartitionPlan, measured: Sequence[MeasuredCount]) -> MeasuredCount:
    for trial in measured:
        if not trial.rates or min(trial.rates) <= 0:
            raise InvalidInput(
                f"partition trial: need rates > 0 for each count, got {list(trial.rates)} for {trial.count.planned}"
            )
    chosen = [trial for trial in measured if trial.count.planned == plan.partitions]
    if not chosen:
        counts = ", ".join(str(trial.count.planned) for trial in measured) or "none"
        raise InvalidInput(f"partition trial: need rates of the planned {plan.partitions} partitions, got {counts}")
    return chosen[0]


def _growth(plan: PartitionPlan, taken: MeasuredCount) -> str:
    if taken.count.planned >= plan.partitions:
        return ""
    return f"; the query can then grow to {taken.count.planned:,} slots"


def _against(rate: float, other: float) -> str:
    """
    >>> _against(110.0, 100.0), _against(90.0, 100.0)
    ('+10 %', '-10 %')
    """
    return f"{'+' if rate >= other else '-'}{share(abs(rate / other - 1))}"
