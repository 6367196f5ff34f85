import pytest

from tidegate.core import InvalidInput
from tidegate.planner.spark_configuration.partition_trial import (
    MeasuredCount,
    TrialCount,
    TrialRules,
    judge_trial,
    trial_counts,
)
from tidegate.planner.spark_configuration.partitions import PartitionPlan

PLAN = PartitionPlan(partitions=96, slots=24, largest_task=0.2, task_share=0.05)


def measured(*rates: float) -> list[MeasuredCount]:
    return [MeasuredCount(trial, (rate,)) for trial, rate in zip(trial_counts(PLAN, 4), rates, strict=True)]


def test_the_testbed_has_as_many_partitions_for_each_slot() -> None:
    assert trial_counts(PLAN, 4) == (TrialCount(48, 8), TrialCount(96, 16), TrialCount(192, 32))


def test_half_is_of_whole_waves() -> None:
    three = PartitionPlan(72, 24, 0.2, 0.05)  # 36 would be a wave and a half
    assert trial_counts(three, 2) == (TrialCount(48, 4), TrialCount(72, 6), TrialCount(144, 12))


def test_a_single_slot_tries_nothing() -> None:
    with pytest.raises(InvalidInput, match=r"^partition trial: need a testbed of at least 2 slots, got 1: "):
        trial_counts(PLAN, 1)


@pytest.mark.parametrize(
    ("rates", "taken"),
    [
        ((10_000.0, 10_000.0, 10_000.0), 96),
        ((10_400.0, 10_000.0, 9_000.0), 96),  # noise
        ((11_000.0, 10_000.0, 9_000.0), 48),
        ((9_000.0, 10_000.0, 11_000.0), 192),
        ((11_000.0, 10_000.0, 10_900.0), 192),  # both are better: state partitions cannot be added later
    ],
)
def test_the_plan_unless_another_is_better_by_more_than_noise(rates: tuple[float, ...], taken: int) -> None:
    assert judge_trial(PLAN, measured(*rates)).count.planned == taken


def test_why() -> None:
    assert judge_trial(PLAN, measured(11_000.0, 10_000.0, 9_000.0)).reason == (
        "48 partitions instead of 96: the testbed sustained 11 k records/s instead of 10 k, 10 % more; the query can"
        " then grow to 48 slots"
    )
    assert judge_trial(PLAN, measured(10_000.0, 10_000.0, 9_000.0)).reason == (
        "96 partitions as planned: no other count was better by more than noise (48: +0 %, 192: -10 %)"
    )


def test_another_tolerance() -> None:
    rates = measured(10_400.0, 10_000.0, 9_000.0)
    assert judge_trial(PLAN, rates, TrialRules(tolerance=0.02)).count.planned == 48


def test_repetitions_count_by_their_mean() -> None:
    low, middle, high = trial_counts(PLAN, 4)
    rates = [
        MeasuredCount(low, (9_000.0,)),
        MeasuredCount(middle, (10_000.0,)),
        MeasuredCount(high, (12_000.0, 8_000.0)),
    ]
    assert judge_trial(PLAN, rates).count == middle


def test_rates_that_say_nothing() -> None:
    low, middle, _ = trial_counts(PLAN, 4)
    with pytest.raises(InvalidInput, match=r"need rates of the planned 96 partitions, got 48$"):
        judge_trial(PLAN, [MeasuredCount(low, (1.0,))])
    with pytest.raises(InvalidInput, match=r"need rates > 0 for each count, got \[\] for 96$"):
        judge_trial(PLAN, [MeasuredCount(middle, ())])
