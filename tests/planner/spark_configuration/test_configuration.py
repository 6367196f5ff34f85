"""Whole configurations, their refusals, and what they look like as flags."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature

import pytest

from tidegate.attachment.attaching import attach
from tidegate.attachment.settings import Settings
from tidegate.core import InvalidInput
from tidegate.planner.spark_configuration.configuration import SparkConfiguration, configure
from tidegate.planner.spark_configuration.description import describe
from tidegate.planner.spark_configuration.feasibility import NoConfiguration
from tidegate.planner.spark_configuration.flags import attach_bounds, stream_options, submit_flags
from tidegate.planner.spark_configuration.limiting_factor import Limit
from tidegate.planner.spark_configuration.memory import Provider
from tidegate.planner.spark_configuration.requirement import Requirement
from tidegate.planner.spark_configuration.rules import MIB, ConfigurationRules
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures, StateFigures
from tidegate.planner.spark_configuration.skew import Skew

#: two executors of two cores at 40,000 records/s: 60 µs for a record, 0.5 s for the driver, 100 MiB of state
RUN = RunFigures(
    rate=40_000.0,
    executors=2,
    cores=2,
    stages=(StageFigures(8, 4e-5, per_task=0.05), StageFigures(8, 2e-5, per_task=0.05, skew=Skew(8, 0.15))),
    trigger=5.0,
    batch_seconds=4.0,
    batch_records=200_000.0,
    keyed=1,
    fixed=0.7,
    state=StateFigures(1e5, 100.0 * MIB),
)
#: ten times the rate, on 32 slots
TENFOLD = Requirement(rate=400_000.0, slots=32, capacity=430_000.0, slo=12.0, least_rate=100_000.0)


def configured(run: RunFigures = RUN, needed: Requirement = TENFOLD, growth: float = 2.0) -> SparkConfiguration:
    configuration = configure(run, needed, ConfigurationRules(growth=growth))
    assert isinstance(configuration, SparkConfiguration)
    return configuration


def refused(run: RunFigures = RUN, needed: Requirement = TENFOLD) -> NoConfiguration:
    configuration = configure(run, needed)
    assert isinstance(configuration, NoConfiguration)
    return configuration


def test_a_configuration_from_a_small_run() -> None:
    configuration = configured()
    executors = configuration.executors
    assert (executors.executors, executors.cores, executors.fewest, executors.most) == (16, 2, 4, 32)
    assert configuration.state is not None
    # the largest of 64 tasks: 400,000 * 2e-5 * 1.2 / 64 + 0.05 / 5 = 16 % of the trigger; of the source 26 %
    assert (configuration.state.partitions, configuration.source.partitions) == (64, 64)
    assert configuration.trigger.trigger == 5.0
    assert configuration.batch_limit == 2_150_000  # 430,000/s for 5 s
    # 1000 MiB of state in 16 executors, 20 % more in one partition of four: 65.6 MiB beside the heap and its 384 MiB
    assert (configuration.memory.heap, configuration.memory.overhead) == (512 * MIB, 512 * MIB)
    assert [factor.limit for factor in configuration.limits] == [Limit.NOTHING]
    assert configuration.notes == ()


def test_flags_of_spark_submit_and_bounds_of_attach() -> None:
    assert submit_flags(configured()) == (
        "--num-executors 16",
        "--executor-cores 2",
        "--executor-memory 512m",
        "--conf spark.executor.memoryOverhead=512m",
        "--conf spark.sql.shuffle.partitions=64",
        "--conf spark.sql.streaming.stateStore.providerClass="
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "--conf spark.dynamicAllocation.enabled=false",
    )
    options = stream_options(configured())
    assert options.lines == (".trigger(processingTime='5 seconds')", '.option("maxOffsetsPerTrigger", 2150000)')
    bounds = attach_bounds(configured())
    assert bounds.call == "tidegate.attach(query, min_executors=4, max_executors=32, slo=12.0)"
    known = {*signature(attach).parameters, *Settings.__dataclass_fields__}
    assert set(bounds.arguments) <= known


def test_a_configuration_in_lines() -> None:
    assert list(describe(configured())) == [
        "16 executors of 2 cores and 1,024 MiB, 512 of them heap",
        "64 source partitions, 2 for each slot, the largest task takes 26 % of the trigger",
        "64 state partitions, 2 for each slot, the largest task takes 16 % of the trigger; fixed when the query first"
        " starts, and enough for 32 executors",
        # a batch at 93 % of capacity takes 0.7 s, and 0.86 * 0.93 of the trigger
        "a trigger of 5 s, 14 % of it without records; latency up to 9.7 s; at most 2.15 M records in a batch",
        "nothing limits it yet: more slots would do more",
        f"spark-submit {' '.join(submit_flags(configured()))}",
        ".trigger(processingTime='5 seconds')",
        '.option("maxOffsetsPerTrigger", 2150000)',
        "tidegate.attach(query, min_executors=4, max_executors=32, slo=12.0)",
    ]


def test_slots_that_executors_round_up() -> None:
    executors = configured(needed=replace(TENFOLD, slots=31, cores=4)).executors
    assert (executors.executors, executors.cores, executors.slots) == (8, 4, 32)


def test_partitions_are_for_the_peak_and_never_for_the_testbed() -> None:
    four = configured(growth=4.0)
    assert four.state is not None
    assert (four.state.partitions, four.executors.most) == (128, 64)
    given = configured(needed=replace(TENFOLD, peak_slots=96))
    assert given.state is not None
    assert (given.state.partitions, given.executors.most) == (96, 48)


def test_one_slot() -> None:
    configuration = configured(needed=Requirement(rate=10_000.0, slots=1, cores=1))
    assert (configuration.executors.executors, configuration.executors.most) == (1, 2)
    assert configuration.state is not None
    assert configuration.state.partitions >= 2


def test_a_query_without_a_shuffle() -> None:
    plain = replace(RUN, stages=RUN.stages[:1], keyed=None, state=None)
    configuration = configured(plain)
    assert (configuration.state, configuration.provider, configuration.memory.overhead) == (None, None, None)
    flags = " ".join(submit_flags(configuration))
    assert "shuffle.partitions" not in flags
    assert "stateStore" not in flags
    assert configuration.notes == ()


def test_a_run_with_batches_of_one_size_leaves_the_trigger_alone() -> None:
    stages = tuple(replace(stage, per_task=None) for stage in RUN.stages)
    configuration = configured(replace(RUN, fixed=None, stages=stages))
    assert configuration.trigger.trigger == 5.0
    assert configuration.notes == (
        "what a batch takes without records is unknown: the run had batches of one size only",
    )


def test_what_small_batches_of_one_size_took_is_no_reason_to_refuse() -> None:
    # 600 µs for a record would be 240 slots, and a source of 64 partitions read in 6.25 µs would do 160,000/s
    stages = tuple(replace(stage, each=10 * stage.each, per_task=None) for stage in RUN.stages)
    small = replace(RUN, fixed=None, stages=stages)
    configuration = configured(small, replace(TENFOLD, source_partitions=64))
    assert configuration.source.largest_task == pytest.approx(32 * 2 / 3 / 64 + 0.05 / 5)


def test_a_driver_that_takes_long_gets_a_longer_trigger() -> None:
    # 2 s and four waves of 0.05 s, where the run had four, too: 2.2 s are 25 % of 8.8 s, in half seconds 9
    configuration = configured(replace(RUN, fixed=2.2), replace(TENFOLD, slo=None))
    assert configuration.trigger.trigger == 9.0
    # the capacity that was measured for 9 s; that it grows with the trigger is said, and does not count
    assert configuration.batch_limit == 3_870_000
    assert "with 9 s it is 34.9 % larger" in configuration.notes[0]


def test_a_shorter_trigger_makes_the_limit_smaller_than_in_proportion() -> None:
    configuration = configured(needed=replace(TENFOLD, slo=6.0, capacity=500_000.0))
    # a batch without records takes 0.7 s; at 80 % of capacity the others take 0.8 * 0.86 of a trigger: 5.3 / 1.688
    assert configuration.trigger.trigger == 3.0
    # 500,000 * (1 - 0.7 / 3) / (1 - 0.7 / 5) * 3 s = 1,337,209
    assert configuration.batch_limit == 1_330_000


def test_a_driver_that_an_slo_keeps_busy_is_what_limits() -> None:
    configuration = configured(replace(RUN, fixed=2.2), replace(TENFOLD, slo=7.0))
    assert any("cannot both be had" in note for note in configuration.notes)
    assert [factor.sentence for factor in configuration.limits] == [
        "driver: planning, starting tasks and commit take 2.2 s of every batch, 44 % of the run's trigger of 5 s"
    ]


def test_few_source_partitions_are_what_limits() -> None:
    # at least 400,000 * 4e-5 / (1 - 0.5 / 5) = 17.8 of them
    configuration = configured(needed=replace(TENFOLD, source_partitions=24))
    assert configuration.source.partitions == 24
    assert [factor.sentence for factor in configuration.limits] == [
        "partitions: the source has 24, so 8 of 32 slots are idle while it is read"
    ]


def test_state_partitions_that_are_given_are_taken_and_bound_what_the_query_may_grow_to() -> None:
    configuration = configured(needed=replace(TENFOLD, state_partitions=48))
    assert configuration.state is not None
    assert configuration.state.partitions == 48
    # 48 slots, and not the double of 32: executors of two cores
    assert configuration.executors.most == 24
    assert "48 state partitions" in "\n".join(describe(configuration))
    few = configured(needed=replace(TENFOLD, state_partitions=16))
    assert few.executors.most == few.executors.executors == 16
    assert any("state has 16" in factor.sentence for factor in few.limits)
    assert "enough for 8 executors" in "\n".join(describe(few))
    # who names the peak has it
    assert configured(needed=replace(TENFOLD, state_partitions=48, peak_slots=60)).executors.most == 30


def test_a_rate_beyond_the_partitions_of_the_source() -> None:
    # (1 - 0.5 / 5) / (4e-5 / 8) = 180,000
    refusal = refused(needed=replace(TENFOLD, source_partitions=8))
    assert refusal.most == pytest.approx(180_000)
    assert refusal.reason == (
        "no number of slots does more than 180 k records/s; the source has 8 partitions, and a slot reads one at a "
        "time: repartition the topic to at least 18, or set minPartitions of the Kafka source"
    )
    enough = replace(TENFOLD, source_partitions=18)
    assert isinstance(configure(RUN, enough), SparkConfiguration)


def test_a_rate_beyond_what_a_task_does_for_one_key() -> None:
    hot = replace(RUN, stages=(RUN.stages[0], replace(RUN.stages[1], skew=Skew(5, 0.36 * 2))))
    # the others have 7 %, the key 65 %: (1 - 0.5 / 5) / (0.65 * 2e-5) = 69,231
    refusal = refused(hot)
    assert refusal.most == pytest.approx(69_231, rel=1e-4)
    assert refusal.reason == (
        "no number of slots does more than 69.2 k records/s; one key has 65 % of all records, and a single task"
        " processes it: divide the key (a salt, and a second aggregation), or filter it"
    )


def test_a_driver_that_takes_longer_than_the_trigger_of_the_run() -> None:
    slow = replace(RUN, fixed=6.0)
    assert configured(slow, replace(TENFOLD, slo=None)).trigger.trigger == 24.0


def test_slots_that_cannot_do_the_rate() -> None:
    refusal = refused(needed=Requirement(rate=400_000.0, slots=8))
    assert refusal.reason == (
        "8 slots cannot do 400 k records/s: at 60 µs of a slot for a record, they keep 24 slots busy"
    )
    assert refusal.most == pytest.approx(8 / 6e-5)
    # a capacity that comes from laws is believed, but not silently
    configuration = configured(needed=Requirement(rate=400_000.0, slots=23, cores=1, capacity=410_000.0))
    assert configuration.notes == (
        "in this run a record took 60 µs of a slot, which for 400 k records/s keeps 24.0 slots busy, more than the 23 "
        "that are planned",
    )


def test_large_state_on_the_heap_belongs_into_rocksdb() -> None:
    large = replace(RUN, state=StateFigures(1e6, 1000.0 * MIB))
    configuration = configured(large, replace(TENFOLD, provider=Provider.MEMORY))
    assert configuration.provider is Provider.ROCKSDB
    # 10 times 1000 MiB in 16 executors, 5 % more in the largest, twice: 1312 MiB = 1376 MB
    assert configuration.notes[0].startswith("1,376 MB of state on the heap of an executor make long garbage")
    small = configured(needed=replace(TENFOLD, provider=Provider.MEMORY))
    assert small.provider is Provider.MEMORY
    assert "providerClass" not in " ".join(submit_flags(small))


def test_memory_that_cannot_be_judged_is_noted() -> None:
    notes = configured(replace(RUN, state=None)).notes
    assert notes == ("the run reported no size of state, so memory is that of running tasks alone",)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": 0.0, "slots": 4}, "need a finite rate > 0, got 0"),
        ({"rate": float("nan"), "slots": 4}, "need a finite rate > 0, got nan"),
        ({"rate": 1.0, "slots": 0}, "need a whole number of slots >= 1, got 0"),
        ({"rate": 1.0, "slots": 1, "slo": -1.0}, "need a finite slo > 0, got -1"),
        ({"rate": 1.0, "slots": 1, "heap": -1.0}, "need a finite heap >= 0 bytes, got -1"),
    ],
)
def test_requirements_that_make_no_sense(values: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Requirement(**values)  # type: ignore[arg-type]
    assert str(error.value) == f"Spark configuration: {message}"
