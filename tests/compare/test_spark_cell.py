"""Cells of a comparison on Spark: what is switched on, and how its runs are measured. No Spark is started here."""

from __future__ import annotations

from tidegate.compare.spark_cell import as_native
from tidegate.core import Batch, Observation, Tick
from tidegate.experiment import Experiment
from tidegate.score import Cumulative, trace_from_ticks


def seen(time: float, executors: int, *batches: Batch) -> Tick:
    return Tick(Observation(1000 + time, executors, executors, batches=batches))


def test_spark_dra_is_sparks_own_allocation() -> None:
    e = as_native(Experiment(policy="spark-dra", minimum=1, maximum=3, initial=2))
    assert e.mode == "native"
    assert e.allocation() == {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": "3",
        "spark.dynamicAllocation.initialExecutors": "2",
    }


def test_other_policies_stay_and_nothing_is_switched_on() -> None:
    e = Experiment(policy="hpa-cpu")
    assert as_native(e) is e
    assert e.allocation() == {}


def test_where_spark_scales_every_change_is_a_move() -> None:
    e = Experiment(policy="spark-dra", mode="native", workload="constant", duration=40, peak=10)
    ticks = [seen(0, 1), seen(10, 1), seen(20, 3), seen(30, 2, Batch(0, 1010, 1029, 0, 100, 100)), seen(40, 2)]
    found = trace_from_ticks(ticks, 1000.0, Cumulative.of(e.load()), native=e.mode == "native")
    assert [(move.time, move.before, move.after) for move in found.moves] == [(20, 1, 3), (30, 3, 2)]
    assert found.failures == ()
    assert found.arrivals.whole == 400
    assert (found.finished.times.tolist(), found.finished.ends.tolist()) == ([29.0], [100.0])
