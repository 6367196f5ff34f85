import pytest

from tidegate.planner.spark_configuration.memory import Layout, Provider, executor_memory
from tidegate.planner.spark_configuration.rules import MIB, ConfigurationRules
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures, StateFigures
from tidegate.planner.spark_configuration.skew import Skew


def run(size: float | None = 100.0 * MIB, growing: bool = False, skew: Skew | None = None) -> RunFigures:
    stages = (StageFigures(8, 1e-5), StageFigures(8, 1e-5, skew=skew))
    state = StateFigures(1e5, size, growing)
    return RunFigures(10_000.0, 2, 1, stages, 5.0, 2.0, 50_000.0, keyed=1, state=state)


#: ten times the rate: 1000 MiB of state, 100 MiB for each of ten executors
TENFOLD = Layout(rate=100_000.0, batch_records=500_000.0, executors=10, cores=2, partitions=40)


def test_state_in_rocksdb_is_beside_the_heap() -> None:
    memory = executor_memory(run(), TENFOLD)
    assert memory.state == 100 * MIB
    assert memory.heap == 512 * MIB  # 300 MiB and 12.5 MB of records / 0.6 are less
    assert memory.overhead == 512 * MIB  # 384 + 100, in steps of 64
    assert memory.total == 1024 * MIB


def test_state_in_memory_is_on_the_heap_in_two_versions() -> None:
    memory = executor_memory(run(), TENFOLD, Provider.MEMORY)
    # 300 MiB + (2 * 100 MiB + 2 tasks of 12,500 records * 500 bytes = 12 MiB) / 0.6 = 653
    assert (memory.heap, memory.overhead) == (704 * MIB, None)
    assert memory.total == (704 + 384) * MIB


def test_more_stores_need_more_even_at_the_same_rate() -> None:
    # 80 instead of 8 stores: 1000 MiB over two executors
    same = Layout(rate=10_000.0, batch_records=50_000.0, executors=2, cores=1, partitions=80)
    assert executor_memory(run(), same).state == 500 * MIB
    assert executor_memory(run(), same, Provider.MEMORY).state == 50 * MIB


def test_the_executor_with_the_largest_partition_counts() -> None:
    # 80 % over the mean, beside three others: 4.8 / 4
    assert executor_memory(run(skew=Skew(5, 0.36)), TENFOLD).state == pytest.approx(120 * MIB)
    # a hot key has many records, but not so many rows
    assert executor_memory(run(skew=Skew(5, 0.6)), TENFOLD).state == 100 * MIB


def test_records_of_the_tasks_that_run_at_a_time() -> None:
    large = Layout(rate=100_000.0, batch_records=10e6, executors=10, cores=2, partitions=40)
    # two of 40 tasks: 300 MiB + 500,000 * 500 bytes / 0.6 = 697.4 MiB
    assert executor_memory(run(), large).heap == 704 * MIB
    # one of the two has half of the records, and a 40th of the rest: 300 MiB + 5,125,000 * 500 bytes / 0.6, and 250,000
    assert executor_memory(run(skew=Skew(5, 0.6)), large).heap == pytest.approx(4571.2 * MIB, abs=64 * MIB)
    plain = RunFigures(10_000.0, 2, 1, (StageFigures(8, 1e-5),), 5.0, 2.0, 50_000.0)
    assert executor_memory(plain, large).heap == 512 * MIB


def test_never_less_than_was_enough_in_the_run() -> None:
    assert executor_memory(run(), TENFOLD, least=2048.0 * MIB).heap == 2048 * MIB
    assert executor_memory(run(), TENFOLD, rules=ConfigurationRules(least_heap=1024.0 * MIB)).heap == 1024 * MIB


def test_what_cannot_be_judged_is_said() -> None:
    assert executor_memory(run(), TENFOLD).unjudged == ""
    unknown = executor_memory(run(size=None), TENFOLD)
    assert (unknown.state, unknown.overhead) == (None, None)
    assert unknown.unjudged == "the run reported no size of state, so memory is that of running tasks alone"
    assert executor_memory(run(growing=True), TENFOLD).unjudged.startswith("state was still growing")


def test_a_query_without_state_is_judged_without_it() -> None:
    plain = RunFigures(10_000.0, 2, 1, (StageFigures(8, 1e-5),), 5.0, 2.0, 50_000.0)
    assert executor_memory(plain, TENFOLD).unjudged == ""
