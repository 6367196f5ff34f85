"""The engine on a real embedded cluster: what it sees is true, and what it does loses nothing."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.processes import find_executors
from tidegate.core import Decision, QueryEnded, QueryFailed
from tidegate.jobs import job
from tidegate.spark.actuator import Pace
from tidegate.spark.engine import SparkEngine, Watching
from tidegate.workloads import Constant, Shape

pytestmark = pytest.mark.spark
Eventually = Callable[..., None]


@contextmanager
def bids(
    spark: SparkSession, load: Shape, folder: Path, *, limit: int = 0, start: float | None = None
) -> Iterator[StreamingQuery]:
    """q1 over bids into nowhere, a batch a second."""
    options = {"workload": json.dumps(load.spec()), "partitions": "4", "maxRowsPerTrigger": str(limit)}
    records = spark.readStream.format("tidegate").options(**options, start=repr(start or time.time())).load()
    writer = job("q1").build(records).writeStream.format("noop").option("checkpointLocation", str(folder))
    query = writer.trigger(processingTime="1 second").start()
    try:
        yield query
    finally:
        query.stop()


def watch_to_the_end(engine: SparkEngine) -> None:
    """Spark tells the end of a query some time after it, and later on a busy machine."""
    until = time.monotonic() + 600
    while time.monotonic() < until:
        engine.observe()
        time.sleep(0.1)


def test_arrivals_and_backlog_are_true_when_more_arrives_than_is_taken(spark: SparkSession, tmp_path: Path) -> None:
    load, start = Constant(600, level=200_000), time.time()
    errors = []
    with (
        bids(spark, load, tmp_path, limit=50_000, start=start) as query,
        closing(SparkEngine(spark, query, Watching(base=0))) as engine,
    ):
        while len(errors) < 25:
            time.sleep(0.5)
            obs = engine.observe()
            if obs.time - start < 12 or obs.arrival_rate is None or obs.backlog is None:
                continue
            assert engine.log.batch is not None
            truth = load.total(obs.time - start) - engine.log.batch.end
            errors.append((abs(obs.arrival_rate / 200_000 - 1), abs(obs.backlog / truth - 1)))
    # on a busy machine some time passes between a batch's timestamp and the reading of its offset
    assert median(rate for rate, _ in errors) < 0.03
    assert median(backlog for _, backlog in errors) < 0.03
    assert max(max(error) for error in errors) < 0.5


def test_an_observation_has_executors_stages_and_their_ceiling(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    with (
        bids(spark, Constant(60, level=20_000), tmp_path) as query,
        closing(SparkEngine(spark, query, Watching(base=0))) as engine,
    ):
        seen = [engine.observe()]
        eventually(lambda: seen.append(engine.observe()) or len([o for o in seen if o.batches]) >= 3)
        # several batches in one observation: its operators are the stages of the last one
        before = sum(len(o.batches) for o in seen)
        reports = engine._listener._reports
        eventually(lambda: len(reports) >= 3)
        seen.append(engine.observe())
        assert sum(len(o.batches) for o in seen) >= before + 3
        obs = seen[-1]
    assert (obs.executors, obs.requested, obs.ceiling) == (1, 1, 4)  # four partitions can keep four executors busy
    (stage,) = obs.operators
    assert stage.parallelism == 4
    last, cycle = obs.batches[-1], engine.log.cycle
    assert stage.rate_in == pytest.approx((last.end - last.begin) / (cycle or 0.0))
    assert stage.busy is not None
    assert stage.busy > 0
    (executor,) = obs.per_executor
    assert executor.cpu is not None
    assert executor.busy is not None
    assert executor.tasks is not None
    assert executor.rate == pytest.approx(stage.rate_in, rel=0.01)  # there is only one to read
    assert [b.begin for b in [b for o in seen for b in o.batches][1:]] == [b.end for o in seen for b in o.batches][:-1]


def test_executors_come_and_go_without_a_failed_batch(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    with (
        bids(spark, Constant(300, level=50_000), tmp_path) as query,
        closing(SparkEngine(spark, query, Watching(base=0))) as engine,
    ):
        assert engine.actuator is not None
        engine.actuator.pace = Pace(patience=600)  # however long a batch takes here
        engine.scale(Decision(3, "test"))
        engine.scale(Decision(3, "said again"))
        eventually(lambda: engine.observe().executors == 3)
        assert engine.observe().requested == 3
        engine.scale(Decision(1, "test"))
        eventually(lambda: engine.observe().executors == 1)
        batches: list[int] = []
        eventually(lambda: batches.extend(b.id for b in engine.observe().batches) or len(batches) >= 3)
        obs = engine.observe()
    assert (obs.executors, obs.requested) == (1, 1)
    assert query.exception() is None
    assert obs.rerun_tasks == 0  # it waited for the end of a batch


def test_a_stream_goes_on_from_its_checkpoint_with_the_next_record(spark: SparkSession, tmp_path: Path) -> None:
    load, start = Constant(4, level=30_000), time.time()
    out, checkpoint = str(tmp_path / "out"), tmp_path / "checkpoint"
    options = {
        "events": "numbers",
        "workload": json.dumps(load.spec()),
        "start": repr(start),
        "maxRowsPerTrigger": "17000",
    }

    def begin() -> StreamingQuery:
        writer = spark.readStream.format("tidegate").options(**options).load().writeStream.format("parquet")
        return writer.option("path", out).option("checkpointLocation", str(checkpoint)).start()

    first = begin()
    while not any(p["numInputRows"] for p in first.recentProgress):
        time.sleep(0.1)
    first.stop()
    time.sleep(max(0.0, start + 4 - time.time()))
    second = begin()
    second.processAllAvailable()
    second.stop()
    found = spark.read.parquet(out).agg(F.count("value"), F.countDistinct("value"), F.min("value"), F.max("value"))
    assert tuple(found.first() or ()) == (120_000, 120_000, 0, 119_999)


def test_a_stopped_query_ends_the_watching_and_a_failed_one_is_told(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    with bids(spark, Constant(60, level=100), tmp_path / "a") as query, closing(SparkEngine(spark, query)) as engine:
        eventually(lambda: engine.observe().batches)
        query.stop()
        with pytest.raises(QueryEnded):
            watch_to_the_end(engine)
    broken = spark.readStream.format("rate").load().select(F.raise_error(F.lit("too hot")).alias("x"))
    query = broken.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "b")).start()
    with closing(SparkEngine(spark, query)) as engine:
        eventually(lambda: not query.isActive)
        with pytest.raises(QueryFailed, match="the query failed"):
            watch_to_the_end(engine)


def test_a_total_that_the_cluster_has_no_room_for_is_told_and_nothing_hangs(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    with (
        bids(spark, Constant(300, level=1000), tmp_path) as query,
        closing(SparkEngine(spark, query)) as engine,
    ):
        assert engine.actuator is not None
        engine.actuator.pace = Pace(timeout=8)
        engine.scale(Decision(5, "more than the three there is room for"))
        told: list[str] = []
        eventually(lambda: told.extend(e.kind for e in engine.observe().events) or "ScaleTimeout" in told)
        assert engine.observe().requested == 5
        engine.scale(Decision(1, "back"))
        eventually(lambda: engine.observe().executors == 1)
        assert query.isActive


def test_with_no_executor_left_the_query_waits_for_spark_to_bring_another(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    application = str(spark.sparkContext.applicationId)
    with (
        bids(spark, Constant(300, level=1000), tmp_path) as query,
        closing(SparkEngine(spark, query, Watching(requested=1))) as engine,
    ):
        # the last test asked for more than there was room for: those that came late are sent away
        eventually(lambda: engine.observe().executors == len(find_executors(application)) == 1)
        eventually(lambda: engine.observe().batches)
        ((victim, process),) = find_executors(application).items()
        os.kill(process, signal.SIGKILL)
        seen = [engine.observe()]
        eventually(lambda: seen.append(engine.observe()) or [s.id for s in seen[-1].per_executor] not in ([], [victim]))
        eventually(lambda: engine.observe().batches)
        assert query.isActive
    assert "ExecutorLost" in [event.kind for obs in seen for event in obs.events]
    assert {obs.requested for obs in seen} == {1}
