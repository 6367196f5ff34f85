"""A run from the start of Spark to its score."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.jvm_shutdown import finish
from tidegate.cluster.quota import Quotas, quotas
from tidegate.cluster.session import Cluster, session, workspace
from tidegate.control import Autoscaler, control
from tidegate.core import QueryEnded, QueryFailed, Tick
from tidegate.experiment.settings import Experiment
from tidegate.jobs import SPARSE, events, job
from tidegate.kafka import connector
from tidegate.kafka.process import Order
from tidegate.runner.outcome import Outcome, Say
from tidegate.score import score
from tidegate.sources.embedded import register
from tidegate.sources.feeds import Embedded, Feed
from tidegate.sources.kafka_feed import KafkaFeed
from tidegate.sources.kafka_topic import Topic
from tidegate.spark.clock import WallClock
from tidegate.spark.engine import SparkEngine
from tidegate.store import Store
from tidegate.verify.query_sinks import KafkaSink, NoopSink

#: in a run's folder, where the revisions of a query in update mode are kept for the check
RESULT = "result"
#: seconds from now to the workload's start, in which query and producer come up
LEAD = 3.0
#: seconds to wait for a moment without a batch
QUIET = 20.0


def run(experiment: Experiment, store: Store, say: Say, watch: Callable[[Tick], None]) -> Outcome:
    """Start Spark, stream, scale, verify, score. Whatever ends it, what was seen is in the store, and Spark is gone."""
    live = _Live(experiment, store, say, watch)
    with workspace() as folder:
        try:
            live.go(folder)
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
        except BaseException:
            live.finish("failed")
            raise
    return live.finish(status)


class _Live:
    """A run while it lasts."""

    def __init__(self, experiment: Experiment, store: Store, say: Say, watch: Callable[[Tick], None]) -> None:
        self._experiment, self._store = experiment, store
        self._say, self._watch = say, watch
        self._start = time.time()
        self._run: str | None = None
        #: version of Spark's Kafka connector, which may be another than Spark's own
        self._connector: str | None = None
        #: of the result: whether it was checked, and what Kafka held
        self._found: dict[str, Any] = {"verified": None}

    def go(self, folder: Path) -> None:
        e = self._experiment
        with ExitStack() as end:
            topic = end.enter_context(self._topic()) if e.kafka else None
            conf = {**self._jars(), **e.allocation()}
            cluster = Cluster(e.first, e.maximum, e.master, e.cores, e.memory, e.partition_count, e.ui_port, conf)
            place = e.master or "an embedded cluster"
            self._say(f"starting Spark on {place} with {e.first} executor{'s' if e.first > 1 else ''}")
            spark = end.enter_context(session(cluster, folder))
            end.callback(self._say, "stopping Spark")
            register(spark)
            self._say("warming up")
            self._warm_up(spark, folder / "warm-up")
            with quotas(str(spark.sparkContext.applicationId), e.quota, e.grace) as kept:
                self._stream(spark, kept, folder, topic)

    @contextmanager
    def _topic(self) -> Iterator[KafkaFeed]:
        """The topic and, waiting for its start, the producer: before Spark, which would be started in vain without."""
        e = self._experiment
        assert e.kafka
        kind = events(**e.event_options())
        topic = Topic(e.kafka.bootstrap, e.kafka.topic, kind.schema, optional=job(e.job).events in SPARSE)
        feed = KafkaFeed(topic, e.max_batch_records, e.kafka.patience, self._say)
        feed.use(e.partition_count, make=e.kafka.produce)
        if e.kafka.produce:
            feed.produce(Order(e.event_options(), e.load().spec(), feed.target()))
        try:
            yield feed
        finally:
            feed.settle()

    def _jars(self) -> dict[str, str]:
        if self._experiment.kafka is None:
            return {}
        found = connector(say=self._say)
        self._connector = found.version
        return {"spark.jars": ",".join(str(jar) for jar in found.jars)}

    def _warm_up(self, spark: SparkSession, folder: Path) -> None:
        """The same query on a few records that are all there at once: compiled code and Python workers, but no
        history.
        """
        e = self._experiment
        brief = replace(
            e, workload="constant", duration=1.0, peak=20_000.0 * e.partition_count, noise=0.0, workload_seed=None
        )
        feed = Embedded(brief.source_options(time.time() - 1))
        with _query(spark, brief, feed, NoopSink(job(e.job), folder / RESULT, e.verify), folder) as query:
            query.processAllAvailable()

    def _stream(self, spark: SparkSession, kept: Quotas | None, folder: Path, topic: KafkaFeed | None) -> None:
        e = self._experiment
        outlet = self._outlet(folder)
        self._start = time.time() + (LEAD if e.source == "kafka" else 0.0)
        feed: Feed = topic or Embedded(e.source_options(self._start))
        self._run = self._store.begin(e.spec(self._start))
        self._say(f"run {self._run}: {e.job} under {e.workload}, {e.policy}, {e.duration:g} s")
        with ExitStack() as end:
            query = end.enter_context(_query(spark, e, feed, outlet, folder))
            engine = end.enter_context(
                closing(SparkEngine(spark, query, quotas=kept, base=feed.base, requested=e.first))
            )
            engine.hear, engine.native = feed.report, e.mode == "native"
            if topic:
                topic.go(self._start)
            scaler = e.autoscaler()
            while not self._loop(engine, scaler, topic):
                query = end.enter_context(_query(spark, e, feed, outlet, folder))
                engine.resume(query)
            self._let_end(query, engine)
        self._check(spark, engine, feed, outlet)

    def _outlet(self, folder: Path) -> NoopSink | KafkaSink:
        e = self._experiment
        if e.kafka and e.kafka.sink:
            return KafkaSink(job(e.job), e.kafka.bootstrap, e.kafka.sink, e.partition_count)
        return NoopSink(job(e.job), folder / RESULT, e.verify)

    def _loop(self, engine: SparkEngine, scaler: Autoscaler, topic: KafkaFeed | None) -> bool:
        """True at the run's end; False where the query failed and may go on from its checkpoint."""
        e = self._experiment
        try:
            for tick in control(engine, scaler, WallClock(), act=e.mode == "active"):
                self._store.append(str(self._run), tick)
                self._watch(tick)
                if topic:
                    topic.look()
                passed = tick.observation.time - self._start
                if passed >= e.duration and (self._drained(engine) or passed >= e.duration + e.drain):
                    break
        except QueryFailed as error:
            if topic is None or not topic.recovers():
                raise
            self._say(f"{error}; going on from its checkpoint")
            return False
        return True

    def _let_end(self, query: StreamingQuery, engine: SparkEngine) -> None:
        """Stop the query between two batches, and take in what it still tells: a batch that was cut short could have
        written rows that nobody counts.
        """
        deadline = time.monotonic() + QUIET
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.05)
        finish("stopping the query", query.stop)
        try:
            while time.monotonic() < deadline + QUIET:
                tick = Tick(engine.observe())
                if tick.observation.batches:
                    self._store.append(str(self._run), tick)
                time.sleep(0.05)
        except (QueryEnded, QueryFailed):
            return

    def _drained(self, engine: SparkEngine) -> bool:
        e, last = self._experiment, engine.log.batch
        return e.external_source or (last is not None and last.end >= e.load().total(e.duration))

    def _check(self, spark: SparkSession, engine: SparkEngine, feed: Feed, outlet: NoopSink | KafkaSink) -> None:
        e, last = self._experiment, engine.log.batch
        if isinstance(feed, KafkaFeed) and (trouble := feed.settle()):
            self._say(trouble)
        if last is None or not e.verify:
            return
        self._say(f"verifying: one batch query over the same {round(last.end):,} records")
        agrees = outlet.agrees(spark, engine, job(e.job).build(feed.table(spark)))
        self._found = {"verified": agrees and engine.log.rows_dropped == 0, **outlet.figures()}
        if isinstance(feed, KafkaFeed):
            self._found["kafka"] = {**asdict(feed.counted(spark)), "connector": self._connector}

    def finish(self, status: str) -> Outcome:
        if self._run is None:
            return Outcome("", status, {})
        result = self._result(status)
        self._store.end(self._run, status, result)
        return Outcome(self._run, status, result)

    def _result(self, status: str) -> dict[str, Any]:
        e = self._experiment
        load = None if e.external_source else e.load()
        ticks = [tick for _, tick in self._store.ticks(str(self._run))]
        figures = asdict(score(ticks, slo=e.slo, start=self._start, arrived=load.total if load else None))
        passed = ticks[-1].observation.time - self._start if ticks else 0.0
        named_by = {key: getattr(e, key) for key in ("job", "workload", "policy", "engine", "mode", "source")}
        lead = {"run": self._run, "status": status, **named_by, "duration": min(passed, e.duration)}
        return {**lead, "offered": load.total(passed) if load else None, **figures, **self._found}


@contextmanager
def _query(
    spark: SparkSession, e: Experiment, feed: Feed, outlet: NoopSink | KafkaSink, folder: Path
) -> Iterator[StreamingQuery]:
    writer = outlet.writer(job(e.job).build(feed.stream(spark)))
    named_writer = writer.queryName(e.job).option("checkpointLocation", str(folder / "checkpoint"))
    query = named_writer.trigger(processingTime=f"{int(e.trigger * 1000)} milliseconds").start()
    try:
        yield query
    finally:
        finish("stopping the query", query.stop)
