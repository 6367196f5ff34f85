"""The simulated Spark, against arithmetic and against what Tidegate reads from Spark's own reports."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.control import ticks as ticks_of
from tidegate.core import Batch, Decision, Limits, Observation, QueryEnded
from tidegate.presets import autoscaler
from tidegate.score.trace import Cumulative
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.spark.reports import ReportLog
from tidegate.workloads import Constant, Steps, named

#: 1,000 records take 1 s of one executor, every batch 1 s more
PLAIN = BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-3, tasks=12, cold=0.0, noise=0.0, startup=4.0, leave=2.0)


def engine(model: BatchModel = PLAIN, rate: float = 500.0, executors: int = 1, **query: Any) -> MicroBatchEngine:
    arrivals = Cumulative.of(Constant(duration=600, level=rate))
    return MicroBatchEngine(model, Query(**{"trigger": 10.0, **query}), arrivals, executors)


def batches(running: MicroBatchEngine, until: float) -> list[Batch]:
    running.sleep_until(until)
    return list(running.observe().batches)


def test_batches_stand_on_the_grid_and_last_as_the_model_says() -> None:
    # at 10 s 5,000 records wait: 1 + 5,000 / 1,000 = 6 s, done at 16; the next at 20
    first, second = batches(engine(), 29.0)
    assert (first.planned, first.finished, first.begin, first.end) == (10.0, 16.0, 0.0, 5000.0)
    assert (second.planned, second.finished, second.end) == (20.0, 26.0, 10_000.0)


def test_a_batch_that_is_late_is_followed_at_once() -> None:
    # 900/s: 9,000 records in 10 s on one executor; 2,000/s: 1 + 20 s, so the next starts at 31 with 42,000 records
    late = batches(engine(rate=2000.0), 31.0)
    assert [(b.planned, b.finished) for b in late] == [(10.0, 31.0)]
    running = engine(rate=2000.0)
    assert [b.planned for b in batches(running, 80.0)] == [10.0, 31.0]


def test_a_limit_cuts_batches() -> None:
    first, second = batches(
        engine(rate=2000.0, limit=4000), 25.0
    )  # 5 s each; what waits does so until the next trigger
    assert (first.end, second.begin, second.end, second.planned) == (4000.0, 4000.0, 8000.0, 20.0)


def test_executors_share_the_work_up_to_the_partitions() -> None:
    # 12 tasks on 4 slots: 3 waves of 1/12 each; on 12 and more: one wave
    assert [PLAIN.batch_time(12_000, n) for n in (1, 4, 5, 12, 50)] == [13.0, 4.0, 4.0, 2.0, 2.0]


def test_new_executors_come_after_a_while_and_help_with_what_is_left() -> None:
    running = engine(rate=1000.0)  # planned at 10, 11 s long: 1 s fixed (half before the tasks) and 10 s of tasks
    running.sleep_until(10.0)
    running.scale(Decision(2, "more"))
    running.sleep_until(13.9)
    assert running.observe().executors == 1
    running.sleep_until(14.0)
    seen = running.observe()
    assert (seen.executors, seen.requested) == (2, 2)
    # tasks run from 10.5 to 20.5; at 14 there are 6.5 s left for one, 3.25 s for two: done at 17.25 + 0.5
    assert batches(running, 20.0)[0].finished == pytest.approx(17.75)


def test_a_cold_executor_that_joins_a_batch_can_make_it_longer() -> None:
    cold = BatchModel("cold", fixed=1.0, overhead=0.0, cost=1e-3, tasks=12, cold=8.0, noise=0.0, startup=4.0)
    running = engine(cold, rate=1200.0)  # 12 s of tasks from 10.5 on, a second each
    running.sleep_until(10.0)
    running.scale(Decision(2, "more"))
    # at 14 it takes a task, which it has done at 14 + 8 + 1 = 23; without it all were done at 22.5; 0.5 s follow
    assert batches(running, 25.0)[0].finished == pytest.approx(23.5)


def test_a_cold_executor_holds_up_its_first_batch() -> None:
    cold = BatchModel("cold", fixed=1.0, overhead=0.0, cost=1e-3, tasks=12, cold=3.0, noise=0.0, startup=4.0)
    running = engine(cold, rate=1000.0)
    running.sleep_until(5.0)
    running.scale(Decision(2, "more"))  # there at 9; the batch of 10 takes 1 + 10 / 2 + 3 = 9 s, the next one 6
    assert [b.finished for b in batches(running, 27.0)] == pytest.approx([19.0, 26.0])


def test_young_executors_get_faster_with_what_they_do() -> None:
    slow = BatchModel("slow", fixed=0.0, overhead=0.0, cost=1e-3, tasks=12, cold=0.0, noise=0.0, young=1.0, fade=10.0)
    assert [round(slow.speed(worked), 3) for worked in (0.0, 10.0, 1e9)] == [0.5, 0.731, 1.0]
    running = engine(slow, rate=900.0)
    running.sleep_until(1.0)
    running.scale(Decision(2, "more"))
    # one at 1 and one at 0.5: 9,000 records take 9 / 1.5 = 6 s
    assert batches(running, 17.0)[0].finished == pytest.approx(16.0)


def test_executors_that_must_go_finish_their_batch_and_leave_soon_after() -> None:
    running = engine(executors=2)  # 10 to 10 + 1 + 2.5 = 13.5
    running.sleep_until(11.0)
    running.scale(Decision(1, "fewer"))
    running.sleep_until(13.4)
    assert running.observe().executors == 2
    running.sleep_until(15.4)
    assert running.observe().executors == 2
    running.sleep_until(15.5)
    assert running.observe().executors == 1
    assert batches(running, 27.0)[-1].finished == pytest.approx(26.0)  # 6 s with one


def test_an_executor_that_dies_is_told_of_and_replaced() -> None:
    running = engine(executors=2, failures=(12.0,))
    running.sleep_until(12.5)
    seen = running.observe()
    assert (seen.executors, [event.kind for event in seen.events]) == (1, ["ExecutorLost"])
    assert seen.rerun_tasks == 6  # half of the 12 tasks
    running.sleep_until(22.0)
    seen = running.observe()
    assert seen.executors == 2
    # alone it has more to do than 13.5 - 12 = 1.5 s: the other's part of what was done as well
    assert seen.batches[0].finished > 16.0


@given(
    rate=st.floats(10, 3000),
    cost=st.floats(1e-5, 1e-3),
    trigger=st.sampled_from([3.0, 10.0]),
    wishes=st.lists(st.tuples(st.floats(0, 550), st.integers(1, 8)), max_size=8),
    failures=st.lists(st.floats(0, 500), max_size=2),
)
@settings(max_examples=40, deadline=None)
def test_no_record_is_lost_or_done_twice(
    rate: float, cost: float, trigger: float, wishes: list[tuple[float, int]], failures: list[float]
) -> None:
    model = BatchModel("any", fixed=0.2, overhead=0.01, cost=cost, tasks=12, young=0.5, noise=0.1)
    running = engine(model, rate, 2, trigger=trigger, failures=tuple(failures), limit=50 * rate)
    for time, executors in sorted(wishes):
        running.sleep_until(time)
        running.scale(Decision(executors, "wish"))
    running.sleep_until(600.0)
    done = running.finished()
    assert np.all(done.begins[1:] == done.ends[:-1])
    assert np.all(np.diff(done.times) > 0)
    assert np.all(done.ends <= rate * done.times + 1e-6)  # nothing before it arrived


def as_spark_reports(batch: Batch) -> dict[str, Any]:
    source = {"startOffset": batch.begin, "endOffset": batch.end, "latestOffset": batch.arrived}
    spent = 1000 * (batch.finished - batch.planned)
    planned = datetime.fromtimestamp(batch.planned, UTC).isoformat()
    durations = {"addBatch": spent, "triggerExecution": spent}
    rows = {"numInputRows": batch.rows, "sources": [source]}
    return {"batchId": batch.id, "timestamp": planned, "durationMs": durations, **rows}


@pytest.mark.parametrize("workload", ["cosine", "steps", "spikes"])
def test_what_is_seen_is_what_the_spark_engine_reads_from_reports(workload: str) -> None:
    arrivals = Cumulative.of(named(workload, 1200, 2500.0))
    model = BatchModel("x", fixed=0.5, overhead=0.01, cost=1e-3, tasks=24, noise=0.05)
    running = MicroBatchEngine(model, Query(10.0, limit=120_000), arrivals, 3, seed=4)
    log = ReportLog(base=0.0)
    compared = 0
    for second in range(5, 1200, 5):
        running.sleep_until(float(second))
        seen = running.observe()
        for batch in seen.batches:
            log.add(as_spark_reports(batch))
        if running._log.idle is not None:
            log.idle = running._log.idle
        if seen.batches and running._running is None and log.trigger is not None:
            compared += 1
            found = (seen.arrival_rate, seen.processing_rate, seen.latency, seen.trigger, seen.backlog)
            read = (log.arrival_rate, log.processing_rate, log.latency, log.trigger, log.backlog(seen.time))
            assert found == pytest.approx(read, rel=1e-3, abs=1e-2)
    assert compared > 20


def seen_by(policy: str, seed: int) -> list[Observation]:
    arrivals = Cumulative.of(Steps(1800, levels=(300, 2500, 800)))
    model = BatchModel("x", fixed=0.5, overhead=0.01, cost=1e-3, tasks=24, noise=0.05, young=0.4)
    running = MicroBatchEngine(model, Query(10.0, limit=60_000), arrivals, 1, seed=seed)
    ticks = list(ticks_of(running, autoscaler(policy, Limits(1, 8)), running, period=15.0))
    assert not [tick for tick in ticks if tick.decision and "failed" in tick.decision.reason]
    return [tick.observation for tick in ticks]


def test_a_seed_is_a_run() -> None:
    assert seen_by("hpa-cpu", 1) == seen_by("hpa-cpu", 1) != seen_by("hpa-cpu", 2)


def test_the_query_ends_with_its_workload() -> None:
    running = engine()
    running.sleep_until(601.0)
    with pytest.raises(QueryEnded):
        running.observe()
