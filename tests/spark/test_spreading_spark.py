"""State on a real cluster: it spreads over new executors and leaves old ones, and nothing is lost on the way."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import pandas as pd
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from tidegate.cluster.jvm import Driver
from tidegate.cluster.session import Cluster, session
from tidegate.core import Decision, Limits, QueryFailed
from tidegate.kafka import Broker, connector, create_topic
from tidegate.kafka.client import settings
from tidegate.presets import autoscaler
from tidegate.spark.actuator import Pace
from tidegate.spark.engine import SparkEngine, Watching

pytestmark = pytest.mark.spark
Eventually = Callable[..., None]
KEYS = 50


def counted(records: DataFrame) -> DataFrame:
    return records.groupBy("key").agg(F.count("*").alias("records"), F.sum("value").alias("sum"))


def deduplicated(records: DataFrame) -> DataFrame:
    return records.select((F.col("value") % 1000).alias("value")).dropDuplicates(["value"])


def joined(records: DataFrame) -> DataFrame:
    left = records.select("key", F.col("value").alias("left"), F.col("timestamp").alias("at")).where("left % 3 = 0")
    right = records.select("key", F.col("value").alias("right"), F.col("timestamp").alias("then")).where(
        "right % 5 = 0"
    )
    left, right = left.withWatermark("at", "1 hour"), right.withWatermark("then", "1 hour")
    return left.join(right, "key").where("left = right").select("key", "left", "right")


def summed(records: DataFrame) -> DataFrame:
    def running(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        before = state.get[0] if state.exists else 0
        total = before + int(sum(frame["value"].sum() for frame in frames))
        state.update((total,))
        yield pd.DataFrame({"key": [key[0]], "sum": [total]})

    grouped = records.groupBy("key")
    return grouped.applyInPandasWithState(
        running, "key long, sum long", "sum long", "update", GroupStateTimeout.NoTimeout
    )


#: query, output mode, and the result as one batch query would have it
JOBS: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "aggregation": (counted, "update"),
    "deduplication": (deduplicated, "append"),
    "join": (joined, "append"),
    "python state": (summed, "update"),
}


#: sources and queries; one of them in `make test`
CASES = [
    pytest.param(source, name, marks=[] if (source, name) == ("rate", "aggregation") else pytest.mark.proof)
    for source in ("rate", "files", "kafka")
    for name in JOBS
]


@contextmanager
def running(frame: DataFrame, mode: str, folder: Path, sink: str = "memory") -> Iterator[StreamingQuery]:
    """The sink `memory` keeps the result, but cannot go on from a checkpoint; `noop` can."""
    writer = frame.writeStream.format(sink).queryName("result").outputMode(mode)
    query = writer.option("checkpointLocation", str(folder)).trigger(processingTime="1 second").start()
    try:
        yield query
    finally:
        query.stop()


class Rate:
    """Spark's own source, whose offset counts seconds."""

    def records(self, spark: SparkSession) -> DataFrame:
        return rate(spark)

    def processed(self, query: StreamingQuery) -> range:
        stop_after_a_batch(query)
        return range(500 * int(query.lastProgress["sources"][0]["endOffset"]))


def rate(spark: SparkSession) -> DataFrame:
    return keyed(spark.readStream.format("rate").options(rowsPerSecond=500, numPartitions=3).load())


def keyed(records: DataFrame) -> DataFrame:
    return records.withColumn("key", F.col("value") % KEYS)


def stop_after_a_batch(query: StreamingQuery) -> None:
    """Before the next one can have written anything: batches may follow each other without a pause."""
    before = query.lastProgress["batchId"]
    until = time.monotonic() + 600
    while query.lastProgress["batchId"] == before and time.monotonic() < until:
        time.sleep(0.005)
    query.stop()


class Written:
    """Consecutive numbers that a thread writes, 100 at a time."""

    def __init__(self, write: Callable[[range], None]) -> None:
        self._write, self._stopped, self._count = write, threading.Event(), 0
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._stopped.wait(0.2):
            self._write(range(self._count, self._count + 100))
            self._count += 100

    def processed(self, query: StreamingQuery) -> range:
        self.stop()
        query.processAllAvailable()
        return range(self._count)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


def dated(values: DataFrame) -> DataFrame:
    """With event times a few milliseconds apart."""
    seconds = F.lit(1_700_000_000) + F.col("value") / 500
    return keyed(values.withColumn("timestamp", F.timestamp_seconds(seconds)))


class Files(Written):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        super().__init__(self._file)

    def _file(self, values: range) -> None:
        unfinished = self._folder / f".{values.start}"  # Spark ignores it until it has its name
        unfinished.write_text("".join(f'{{"value": {value}}}\n' for value in values))
        unfinished.rename(self._folder / f"{values.start}.json")

    def records(self, spark: SparkSession) -> DataFrame:
        return dated(spark.readStream.schema("value long").option("maxFilesPerTrigger", 20).json(str(self._folder)))


class Topic(Written):
    def __init__(self, broker: Broker, topic: str) -> None:
        self._broker, self._topic = broker, topic
        create_topic(broker.address, topic, 3)
        self._producer = confluent_kafka.Producer(settings(broker.address))
        super().__init__(self._send)

    def _send(self, values: range) -> None:
        for value in values:
            self._producer.produce(self._topic, str(value).encode(), partition=value % 3)
        assert self._producer.flush(300) == 0

    def records(self, spark: SparkSession) -> DataFrame:
        source = {"kafka.bootstrap.servers": self._broker.address, "subscribe": self._topic}
        topic = spark.readStream.format("kafka").options(**source, startingOffsets="earliest").load()
        return dated(topic.select(F.col("value").cast("string").cast("long").alias("value")))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """An embedded cluster with room for three executors, one of them there, that can read from Kafka."""
    jars = ",".join(str(jar) for jar in connector().jars)
    cluster = Cluster(initial=1, maximum=3, shuffle_partitions=4, conf={"spark.jars": jars})
    with session(cluster, tmp_path_factory.mktemp("spark")) as made:
        yield made


@pytest.fixture
def feed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rate | Files | Topic]:
    if request.param == "rate":
        yield Rate()
        return
    if request.param == "files":
        written: Files | Topic = Files(tmp_path / "records")
    else:
        written = Topic(request.getfixturevalue("broker"), f"records-{tmp_path.name}")
    yield written
    written.stop()


def expected(name: str, values: range) -> Counter[Any]:
    if name == "deduplication":
        return Counter(range(1000))
    if name == "join":
        return Counter((v % KEYS, v, v) for v in values if v % 15 == 0)
    keys = {k: values[k::KEYS] for k in range(KEYS)}
    return Counter((k, len(v), sum(v)) if name == "aggregation" else (k, sum(v)) for k, v in keys.items())


def result(name: str, rows: Sequence[Row]) -> Counter[Any]:
    if name == "deduplication":
        return Counter(row["value"] for row in rows)
    if name == "join":
        return Counter(tuple(row) for row in rows)
    last: dict[int, Row] = {}  # counts and sums only grow
    for row in rows:
        last[row["key"]] = max(row, last.get(row["key"], row), key=lambda row: row["sum"])
    return Counter(tuple(row) for row in last.values())


def spread_over(engine: SparkEngine) -> list[int]:
    """State partitions of each executor, once no more are on their way."""
    obs = engine.observe()
    return [] if obs.uneven else sorted(sample.stores or 0 for sample in obs.per_executor)


@pytest.mark.parametrize(("feed", "name"), CASES, indirect=["feed"])
def test_state_follows_the_executors_and_nothing_is_lost(
    spark: SparkSession, tmp_path: Path, eventually: Eventually, feed: Rate | Files | Topic, name: str
) -> None:
    build, mode = JOBS[name]
    wait = locality_wait(spark)
    with running(build(feed.records(spark)), mode, tmp_path / "checkpoint") as query:
        with closing(SparkEngine(spark, query, Watching())) as engine:
            assert engine.actuator is not None
            engine.actuator.pace = Pace(patience=600)  # however long a batch takes here
            parts: list[float] = []
            eventually(lambda: parts.extend(shares(engine)) or parts)
            assert len(parts) == 4
            assert sum(parts) == pytest.approx(1.0, abs=1e-3)
            eventually(lambda: spread_over(engine) == [4])
            engine.scale(Decision(3, "test"))
            eventually(lambda: spread_over(engine) == [1, 1, 2])
            tasks = by_executor(spark, query, eventually)
            assert sorted(tasks.values()) == [1, 1, 2]
            engine.scale(Decision(1, "test"))
            eventually(lambda: spread_over(engine) == [4])
            assert engine.observe().rerun_tasks == 0
        values = feed.processed(query)
        assert query.exception() is None
        assert len(values) > 1000
        assert result(name, spark.table("result").collect()) == expected(name, values)
    assert locality_wait(spark) == wait


def shares(engine: SparkEngine) -> tuple[float, ...]:
    """Of the records in each state partition, if this observation has them."""
    return next((operator.shares for operator in engine.observe().operators if operator.shares), ())


def locality_wait(spark: SparkSession) -> str:
    return str(spark.sparkContext.getConf().get("spark.locality.wait", "3s"))


def until_state_moves(engine: SparkEngine, executors: int, eventually: Eventually) -> None:
    """Scale out, and wait until a first partition is on its way."""
    assert engine.actuator is not None
    engine.actuator.pace = Pace(patience=600)
    eventually(lambda: spread_over(engine) == [4])
    engine.scale(Decision(executors, "test"))
    kinds: list[str] = []
    eventually(lambda: kinds.extend(event.kind for event in engine.observe().events) or "StateMoving" in kinds)


def then_all_is_even(spark: SparkSession, query: StreamingQuery, eventually: Eventually) -> None:
    with closing(SparkEngine(spark, query, Watching())) as engine:
        eventually(lambda: spread_over(engine) == [1, 1, 2])
        assert engine.actuator is not None
        engine.actuator.pace = Pace(patience=600)
        engine.scale(Decision(1, "test"))
        eventually(lambda: spread_over(engine) == [4])
        assert engine.observe().rerun_tasks == 0


#: so little time for what a batch loads that a partition moves per batch
SLOWLY = Watching(move_budget=1e-9)


@pytest.mark.proof
def test_what_a_controller_leaves_in_mid_move_the_next_one_puts_right(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    wait = locality_wait(spark)
    with running(summed(rate(spark)), "update", tmp_path) as query:
        with closing(SparkEngine(spark, query, SLOWLY)) as engine:
            until_state_moves(engine, 3, eventually)
        assert locality_wait(spark) == wait
        then_all_is_even(spark, query, eventually)
        values = Rate().processed(query)
        assert result("python state", spark.table("result").collect()) == expected("python state", values)


@pytest.mark.proof
@pytest.mark.parametrize("feed", ["files"], indirect=True)
def test_what_a_failed_query_leaves_in_mid_move_is_put_right_when_it_is_back(
    spark: SparkSession, tmp_path: Path, eventually: Eventually, feed: Files
) -> None:
    wait, checkpoint = locality_wait(spark), tmp_path / "checkpoint"
    records = feed.records(spark)
    value = F.when(F.col("value") < 0, F.raise_error(F.lit("not a record"))).otherwise(F.col("value")).cast("long")
    frame = counted(records.withColumn("value", value))
    bad = tmp_path / "records" / "bad.json"
    with running(frame, "update", checkpoint, "noop") as query, closing(SparkEngine(spark, query, SLOWLY)) as engine:
        until_state_moves(engine, 3, eventually)
        bad.write_text('{"value": -1}\n')
        eventually(lambda: not query.isActive)
        with pytest.raises(QueryFailed, match="not a record"):
            eventually(lambda: engine.observe() is None)
    assert locality_wait(spark) == wait
    bad.write_text('{"value": 0}\n')
    with running(frame, "update", checkpoint, "noop") as query:
        then_all_is_even(spark, query, eventually)


@pytest.mark.proof
def test_a_hot_partition_is_told_and_no_more_executors_are_asked_for(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    turn = F.floor(F.col("value") / KEYS) % 10  # in nine of ten turns through all keys, the key is 0
    hot = rate(spark).withColumn("key", F.when(turn < 9, F.lit(0)).otherwise(F.col("key")))
    with running(summed(hot), "update", tmp_path) as query, closing(SparkEngine(spark, query, Watching())) as engine:
        assert engine.actuator is not None
        engine.actuator.pace = Pace(patience=600)
        scaler = autoscaler("static", Limits(1, 3), {"executors": 3, "ceiling": 1})
        engine.scale(Decision(2, "test"))
        events: list[str] = []
        eventually(lambda: events.extend(e.kind for e in engine.observe().events) or "StateSkewed" in events)
        obs = engine.observe()
        assert (obs.executors, obs.ceiling) == (2, 2)
        assert scaler.decide(obs)[-1].decision.executors == 2
        engine.scale(Decision(1, "test"))
        eventually(lambda: engine.observe().executors == 1)
        eventually(lambda: engine.observe().ceiling == 4)  # one alone is not skewed: the partitions count again


def by_executor(spark: SparkSession, query: StreamingQuery, eventually: Eventually) -> Counter[str]:
    """Tasks of each executor in the last stage of a batch that begins from now on."""
    driver = Driver(spark.sparkContext)
    before = max(driver.job_ids(str(query.runId)))
    counts: Counter[str] = Counter()

    def complete() -> bool:
        jobs = [driver.job(id) for id in driver.job_ids(str(query.runId)) if id > before + 1]
        done = [job for job in jobs if job["status"] == "SUCCEEDED"]
        if not done:
            return False
        stage = max(int(id) for id in done[0]["stageIds"])
        for executor, summary in driver.stage_by_executor(stage, 0).items():
            counts[executor] = int(summary["succeededTasks"])
        return True

    eventually(complete)
    return counts
