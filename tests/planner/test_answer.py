"""Whole answers from what is known of a query."""

from __future__ import annotations

from tidegate.planner.answer import Knowledge, Wanted, answer
from tidegate.planner.averaging import Interval
from tidegate.planner.measurement import Measurement
from tidegate.planner.plan import Plan, Refusal
from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.feasibility import NoConfiguration
from tidegate.planner.spark_configuration.partition_trial import TrialCount, TrialVerdict
from tidegate.planner.spark_configuration.rules import MIB
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.planner.validation import Validation

MEASURED = tuple(Measurement(slots, 768, 10_000.0 * slots) for slots in (1, 2, 4, 8))


def figures(skew: Skew | None = None) -> RunFigures:
    """80 µs for a record, and of 5 s a quarter for the driver and the tasks."""
    stages = (StageFigures(24, 3e-5, per_task=0.02), StageFigures(24, 5e-5, per_task=0.02, skew=skew))
    return RunFigures(8e4, 8, 1, stages, trigger=5.0, batch_seconds=4.5, batch_records=4e5, keyed=1, fixed=0.8)


def test_slots_become_a_configuration() -> None:
    answered = answer(Wanted(200_000.0, slo=20.0), Knowledge(MEASURED, figures()))
    assert isinstance(answered.plan, Plan)
    configuration = answered.configuration
    assert isinstance(configuration, SparkConfiguration)
    assert configuration.executors.executors == answered.plan.slots
    assert configuration.needed.capacity == answered.plan.capacity.low
    assert configuration.memory.heap >= 768 * MIB
    assert configuration.state is not None
    assert configuration.state.partitions >= configuration.executors.most
    assert configuration.needed.slo == 20.0
    assert answered.refusal == ""


def test_executors_of_several_cores() -> None:
    answered = answer(Wanted(200_000.0, cores=4), Knowledge(MEASURED, figures()))
    assert isinstance(answered.plan, Plan)
    assert isinstance(answered.configuration, SparkConfiguration)
    assert answered.configuration.executors.cores == 4
    assert 0 <= answered.configuration.executors.slots - answered.plan.slots < 4


def test_partitions_that_are_fixed_are_taken_and_bound_the_autoscaler() -> None:
    answered = answer(Wanted(200_000.0, partitions=30), Knowledge(MEASURED, figures()))
    configuration = answered.configuration
    assert isinstance(configuration, SparkConfiguration)
    assert configuration.source.partitions == 30
    assert configuration.state is not None
    assert configuration.state.partitions == 30
    assert configuration.executors.most == 30


def test_state_partitions_are_for_the_highest_rate_if_it_is_more_than_growth() -> None:
    usual = answer(Wanted(50_000.0, highest=90_000.0), Knowledge(MEASURED, figures())).configuration
    assert isinstance(usual, SparkConfiguration)
    # twice the planned slots anyway
    assert usual.executors.most == 2 * usual.executors.executors
    answered = answer(Wanted(50_000.0, highest=200_000.0), Knowledge(MEASURED, figures()))
    high, configuration = answer(Wanted(200_000.0), Knowledge(MEASURED)).plan, answered.configuration
    assert isinstance(configuration, SparkConfiguration)
    assert isinstance(high, Plan)
    assert isinstance(answered.plan, Plan)
    assert configuration.state is not None
    assert configuration.executors.executors == answered.plan.slots < high.slots
    assert configuration.executors.most == high.slots <= configuration.state.partitions


def test_a_trial_decides_about_state_partitions() -> None:
    verdict = TrialVerdict(TrialCount(planned=72, testbed=24), "72 partitions instead of 144")
    answered = answer(Wanted(200_000.0), Knowledge(MEASURED, figures()), verdict)
    assert isinstance(answered.configuration, SparkConfiguration)
    assert answered.configuration.state is not None
    assert answered.configuration.state.partitions == 72
    assert answered.trial == verdict


def test_a_hot_key_that_the_testbed_did_not_show_is_a_refusal() -> None:
    # a key has 17 % of the records: 50 µs of it bound the rate to (1 - 0.68 / 5) / (5e-5 * 0.167) = 103,000/s
    answered = answer(Wanted(200_000.0), Knowledge(MEASURED, figures(Skew(24, 0.2))))
    assert isinstance(answered.plan, Plan)
    assert isinstance(answered.configuration, NoConfiguration)
    assert "divide the key" in answered.refusal


def test_without_figures_there_are_slots_only() -> None:
    answered = answer(Wanted(200_000.0), Knowledge(MEASURED, no_figures="not looked at"))
    assert isinstance(answered.plan, Plan)
    assert (answered.configuration, answered.refusal) == (None, "")


def test_a_validation_run_is_learnt_from() -> None:
    low = Validation(Measurement(32, 768, 240_000.0), Interval(300_000.0, 320_000.0, 340_000.0))
    before = answer(Wanted(280_000.0), Knowledge(MEASURED, figures()))
    after = answer(Wanted(280_000.0), Knowledge(MEASURED, figures(), validations=(low,)))
    assert isinstance(before.plan, Plan)
    assert after.capacity.largest == 32
    assert isinstance(after.plan, Refusal) or after.plan.slots > before.plan.slots


def test_a_single_number_of_slots_supports_no_more_than_itself() -> None:
    single = Knowledge((Measurement(1, 512, 10_000.0), Measurement(1, 512, 10_100.0)), figures())
    assert isinstance(answer(Wanted(7_000.0), single).plan, Plan)
    refused = answer(Wanted(15_000.0), single)
    assert isinstance(refused.plan, Refusal)
    assert refused.plan.reach == 1
    assert "all measurements are with 1 slot, which shows nothing about more of them" in refused.refusal
