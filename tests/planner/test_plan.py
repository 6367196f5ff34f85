import math

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.averaging import AveragedCapacity, average
from tidegate.planner.measurement import Measurement
from tidegate.planner.plan import Plan, PlanRules, Refusal, plan, supported
from tidegate.planner.tasks import Tasks

SLOTS = (1, 2, 5, 12, 18, 47, 48, 48)


def proportional(tasks: Tasks | None = None) -> AveragedCapacity:
    return average([Measurement(s, 512, 1000.0 * (tasks or Tasks()).effective(s)) for s in SLOTS], tasks)


def test_a_plan_is_an_upper_bound_of_the_slots_needed() -> None:
    capacity = proportional()
    # 95 % is the upper bound of the 90 % interval
    planned = plan(capacity, 400_000, rules=PlanRules(confidence=0.95))
    assert isinstance(planned, Plan)
    assert planned.slots == planned.interval.high
    assert planned.interval.median == pytest.approx(400, abs=2)
    assert planned.capacity.low >= 400_000 > capacity.interval(planned.slots - 1).low
    # the default of 97.5 % needs more
    surer = plan(capacity, 400_000)
    assert isinstance(surer, Plan)
    assert surer.slots > planned.slots


def test_no_further_than_the_rules_allow() -> None:
    # 10 * 48 = 480 slots
    refusal = plan(proportional(), 1e6, rules=PlanRules(farthest=10.0))
    assert isinstance(refusal, Refusal)
    assert refusal.reach == 480
    assert refusal.reason == (
        "1 M records/s need more slots than can be predicted: "
        "measurements with up to 48 slots support predictions up to 480 slots, 10 times as many"
    )


def test_no_further_than_the_interval_is_narrow() -> None:
    few = average([Measurement(s, 512, 1000.0 * s**0.85) for s in (4, 8, 16)])
    refusal = plan(few, 300_000)
    assert isinstance(refusal, Refusal)
    assert 16 < refusal.reach < 400
    assert refusal.reason.endswith(
        f": measurements with up to 16 slots support predictions up to {refusal.reach} slots, "
        "beyond which the 90 % interval of capacity is wider than a factor of 1.5"
    )
    reach = few.interval(refusal.reach)
    beyond = few.interval(refusal.reach + 1)
    assert reach.high / reach.low <= 1.5 < beyond.high / beyond.low
    assert isinstance(plan(few, 10_000), Plan)


def test_measurements_that_contradict_each_other_support_nothing() -> None:
    capacity = average([Measurement(s, 512, r) for s, r in ((4, 900.0), (4, 4000.0), (8, 1500.0), (8, 9000.0))])
    assert supported(capacity) == 0
    refusal = plan(capacity, 1e5)
    assert isinstance(refusal, Refusal)
    assert "the 4 measurements support no prediction, their 90 % interval at 8 slots is already wider" in refusal.reason


def test_too_few_partitions_are_the_reason_with_how_many_are_needed() -> None:
    refusal = plan(proportional(Tasks(200)), 400_000)
    assert isinstance(refusal, Refusal)
    # as many as the plan without such a limit has slots
    unlimited = plan(proportional(), 400_000)
    assert isinstance(unlimited, Plan)
    assert refusal.partitions == unlimited.slots
    assert refusal.reason.startswith("200 partitions keep at most 200 slots busy, which hold 19")
    assert refusal.reason.endswith(f"400 k records/s need at least {unlimited.slots} partitions")
    assert isinstance(plan(proportional(Tasks(unlimited.slots)), 400_000), Plan)


def test_a_target_beyond_any_number_of_partitions() -> None:
    # 32 * 48 = 1,536 slots are as far as any prediction goes
    refusal = plan(proportional(Tasks(200)), 1e7)
    assert isinstance(refusal, Refusal)
    assert refusal.partitions is None
    assert refusal.reason == (
        "10 M records/s need more slots than can be predicted: measurements with up to 48 slots support predictions "
        "up to 200 slots, as many as there are partitions"
    )


def test_the_largest_task_is_named_where_it_limits() -> None:
    # 480 tasks, the largest twice the mean: worth 240 slots
    refusal = plan(proportional(Tasks(480, skew=1.0)), 400_000)
    assert isinstance(refusal, Refusal)
    assert "480 partitions keep at most 480 slots busy (the largest is 100 % over the mean)" in refusal.reason
    assert refusal.partitions is not None
    assert refusal.partitions > 800


def test_a_law_that_saturates_makes_no_plan() -> None:
    # 1000 s / (1 + 0.1 (s - 1)) stays below 10,000
    capacity = average([Measurement(s, 512, 1000.0 * s / (1 + 0.1 * (s - 1))) for s in SLOTS])
    refusal = plan(capacity, 20_000)
    assert isinstance(refusal, Refusal)
    assert refusal.partitions is None


def test_a_testbed_of_one_slot() -> None:
    capacity = average([Measurement(1, 512, 1000.0)])
    planned = plan(capacity, 700)
    assert isinstance(planned, Plan)
    assert planned.slots == 1
    # 1 slot would probably do, but with one measurement that is not sure
    refusal = plan(capacity, 870)
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("870 records/s need 1 to 2 slots, 2 to be 97.5 % sure: ")


@pytest.mark.parametrize("rate", [0.0, -5.0, math.nan, math.inf])
def test_impossible_rates_are_refused(rate: float) -> None:
    with pytest.raises(InvalidInput, match="plan: need a finite rate > 0, got"):
        plan(proportional(), rate)


def test_rules_have_bounds() -> None:
    with pytest.raises(InvalidInput, match=r"plan: need 0.5 <= confidence <= 0.999, got 1"):
        PlanRules(confidence=1.0)
    with pytest.raises(InvalidInput, match="plan: need 1 < widest, got 1"):
        PlanRules(widest=1.0)
