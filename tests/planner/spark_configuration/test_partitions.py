import pytest

from tidegate.planner.spark_configuration.partitions import TaskLoad, idle_share, plan_partitions
from tidegate.planner.spark_configuration.rules import ConfigurationRules
from tidegate.planner.spark_configuration.skew import Skew


@pytest.mark.parametrize("slots", [1, 2, 5, 7, 8, 24, 100, 1000])
def test_waves_are_full_at_the_plan_and_nearly_full_at_half_of_it_and_at_the_peak(slots: int) -> None:
    plan = plan_partitions(TaskLoad(busy=0.8 * slots, per_task=0.001), slots, 2 * slots, trigger=10.0)
    assert idle_share(plan.partitions, slots) == 0.0
    assert idle_share(plan.partitions, max(1, slots // 2)) <= 0.1
    assert idle_share(plan.partitions, 2 * slots) <= 0.1
    assert plan.partitions >= 2 * slots
    assert plan.broken == ()


def test_the_largest_task_takes_at_most_its_share_of_the_trigger() -> None:
    # 8 slots busy for 80 %: 6.4 / 16 = 40 % of the trigger, 6.4 / 24 = 26.7 %; but 24 leave a quarter of 16 slots idle
    assert plan_partitions(TaskLoad(6.4, 0.0), 8, 16, trigger=10.0).partitions == 32
    assert plan_partitions(TaskLoad(6.4, 0.0), 8, 8, trigger=10.0).partitions == 24
    # 60 % over the mean: 1.6 * 6.4 / 32 = 32 %
    skewed = plan_partitions(TaskLoad(6.4, 0.0, Skew(10, 0.16)), 8, 8, trigger=10.0)
    assert (skewed.partitions, skewed.largest_task) == (40, pytest.approx(0.256))


def test_a_hot_key_is_not_divided_by_more_partitions() -> None:
    # a key of half of all records: its task takes 3.2 triggers, the others divide 3.2 / 16 = 20 %
    plan = plan_partitions(TaskLoad(6.4, 0.0, Skew(5, 0.6)), 8, 8, trigger=10.0)
    assert plan.partitions == 16
    assert plan.largest_task == pytest.approx(3.4)


def test_tasks_cost_at_most_their_share_of_the_trigger() -> None:
    # 0.4 s of 10 s: two waves are 8 %, three would be 12 %
    plan = plan_partitions(TaskLoad(4.0, 0.4), 8, 8, trigger=10.0)
    assert (plan.waves, plan.task_share, plan.broken) == (2, pytest.approx(0.08), ())


def test_growth_counts_more_than_what_tasks_cost() -> None:
    plan = plan_partitions(TaskLoad(2.0, 0.4), 8, 32, trigger=10.0)
    assert plan.partitions == 32
    assert plan.broken == (
        "4 tasks of 0.4 s without records take 16 % of the trigger, more than 10 %: a longer trigger loses less",
    )


def test_where_both_cannot_be_had_the_rules_are_exceeded_least() -> None:
    # 8 tasks a slot would divide enough but cost 40 %
    plan = plan_partitions(TaskLoad(16.0, 0.5), 8, 8, trigger=10.0)
    assert 16 <= plan.partitions <= 32
    assert any("more than 30 %" in sentence for sentence in plan.broken)
    assert any("more than 10 %" in sentence for sentence in plan.broken)


def test_other_rules() -> None:
    strict = ConfigurationRules(largest_task=0.1)
    assert plan_partitions(TaskLoad(6.4, 0.0), 8, 8, trigger=10.0, rules=strict).partitions == 64  # 6.4 / 64 = 10 %
