"""Deployments on Spark: a query, its engine, and the session that both need.

A host is one Spark session, on which jobs are deployed one after another, so that many short runs share one start of
Spark.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tidegate.cluster.executors import victims
from tidegate.cluster.jvm import Driver
from tidegate.cluster.jvm_shutdown import finish
from tidegate.cluster.quota import Quotas, quotas
from tidegate.cluster.session import Cluster, session
from tidegate.cluster.status import Status
from tidegate.core import InvalidInput, QueryEnded, QueryFailed, Sink, Tick
from tidegate.deployment.port import ClusterShape
from tidegate.experiment.settings import Experiment
from tidegate.jobs import Job, job
from tidegate.planner.estimator.phases import Supply
from tidegate.score.recorder import TraceRecorder
from tidegate.score.trace import RunTrace
from tidegate.sources.embedded import register
from tidegate.sources.feeds import Changeable, Embedded, Feed, Limited
from tidegate.spark.clock import WallClock
from tidegate.spark.engine import SparkEngine, Watching
from tidegate.verify.query_sinks import NoopSink, QuerySink
from tidegate.workloads import Constant, Shape

#: seconds without more executors after which none are on their way
CALM = 10.0
#: seconds to wait for a moment without a running batch
QUIET = 20.0
#: most records per partition to warm up a query, most seconds of the peak rate, and most seconds until the quota holds
WARM_UP = 20_000
WARM_LOAD, WARM_LIMIT = 60.0, 180.0
#: seconds in which the records of such a batch arrive, and seconds of processing that are long enough for it
BURST, LONG_ENOUGH = 0.05, 2.0


class SparkHost:
    """A session with its executors and their quotas, from `open` to `close`; `reshape` starts a new session."""

    def __init__(self, e: Experiment, folder: Path, conf: dict[str, str] | None = None) -> None:
        self.folder = folder
        self._quota, self._grace = e.quota, e.grace
        self._cluster = Cluster(
            e.first, e.maximum, e.master, e.cores, e.memory, e.partition_count, e.ui_port, {**(conf or {})}
        )
        self._open = ExitStack()
        self._deployed = 0
        self.quotas: Quotas | None = None

    def open(self) -> None:
        self.spark: SparkSession = self._open.enter_context(session(self._cluster, self.folder))
        register(self.spark)

    def bind(self) -> None:
        """Apply the quota to each executor from now on, once it is warm."""
        application = str(self.spark.sparkContext.applicationId)
        self.quotas = self._open.enter_context(quotas(application, self._quota, self._grace))

    def boundless(self) -> bool:
        """Whether the quota does not apply to all executors yet, as some have not used their grace."""
        present = Status(self.spark.sparkContext).executors()
        return self.quotas is not None and not self.quotas.bound(executor.id for executor in present)

    def settle(self, executors: int, patience: float = 120.0) -> None:
        """Go back to the executors of the start: while warming up, Spark's own allocation takes more, with which a
        comparison would not begin alike.
        """
        driver, status = Driver(self.spark.sparkContext), Status(self.spark.sparkContext)
        begun = settled = time.monotonic()
        while time.monotonic() < min(settled + CALM, begun + patience):
            surplus = victims(status.executors(), executors)
            if surplus and not driver.busy():
                driver.kill([executor.id for executor in surplus])
            if surplus or (driver.requested_total() or 0) > executors:
                settled = time.monotonic()
            time.sleep(0.5)

    def release(self) -> None:
        """Remove the quotas, for work that is not measured."""
        if self.quotas is not None:
            self.quotas.close()

    def reshape(self, shape: ClusterShape) -> None:
        """Start another session with executors of another size."""
        self.close()
        self._cluster = replace(
            self._cluster,
            initial=shape.executors,
            maximum=max(shape.executors, self._cluster.maximum),
            cores=shape.executor.cores,
            memory=shape.executor.memory,
            shuffle_partitions=shape.partitions or self._cluster.shuffle_partitions,
        )
        self.open()
        if self._quota is not None:
            self.bind()

    def workspace(self) -> Path:
        """A new folder for a deployment."""
        self._deployed += 1
        folder = self.folder / f"deployment-{self._deployed}"
        folder.mkdir()
        return folder

    def close(self) -> None:
        self._open.close()
        self.quotas = None


@contextmanager
def spark_host(e: Experiment, folder: Path, conf: dict[str, str] | None = None) -> Iterator[SparkHost]:
    """A host for an experiment's job, closed at the end of the block."""
    host = SparkHost(e, folder, conf)
    try:
        host.open()
        yield host
    finally:
        host.close()


class SparkDeployment:
    """The query of an experiment's job on a host, from `start` to `close`.

    `feed` provides the records and `sink` receives the result. The default feed is the embedded source.
    """

    def __init__(self, host: SparkHost, e: Experiment, feed: Feed | None = None, sink: QuerySink | None = None) -> None:
        self.host, self.experiment = host, e
        self.folder = host.workspace()
        self.job: Job = job(e.job)
        self.feed: Feed = feed or embedded_feed(e, self.folder / "schedule.json")
        self.sink: QuerySink = sink or NoopSink(self.job, self.folder / "result", e.verify)
        self.clock = WallClock()
        self._checkpoint = self.folder / "checkpoint"
        self._queries = ExitStack()
        self.start_time = 0.0

    def start(self, at: float | None = None) -> None:
        """Start the query. The workload begins at `at`, by default now."""
        e = self.experiment
        self.start_time = time.time() if at is None else at
        if isinstance(self.feed, Embedded) and not self.feed.schedule.segments:
            self.feed.offer(e.load(), self.start_time)
        self.query = self._start_query()
        self.engine = self._watch()

    def _watch(self) -> SparkEngine:
        e, feed = self.experiment, self.feed
        watching = Watching(
            active=e.mode == "active",
            quotas=self.host.quotas,
            base=feed.base,
            requested=e.first,
            on_progress=feed.report,
            batch_limit=feed if isinstance(feed, Embedded) else None,
            maximum=e.maximum,
            keep_observed=True,
            move_budget=e.slo / 2 if e.spread else None,
        )
        return SparkEngine(self.host.spark, self.query, watching)

    def _start_query(self) -> StreamingQuery:
        e = self.experiment
        writer = self.sink.writer(self.job.build(self.feed.stream(self.host.spark)))
        named_writer = writer.queryName(e.job).option("checkpointLocation", str(self._checkpoint))
        query = started(named_writer.trigger(processingTime=f"{int(e.trigger * 1000)} milliseconds"), e.job)
        self._queries.callback(finish, "stopping the query", query.stop)
        return query

    def offer(self, load: Shape) -> None:
        if not isinstance(self.feed, Changeable):
            raise InvalidInput("the load of a topic is that of its producer: no other can be offered to the query")
        self.feed.offer(load, time.time())

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        return self.feed.supplied(rate, begin, end) if isinstance(self.feed, Limited) else None

    def resume(self) -> None:
        """Continue from the checkpoint of a failed query. All counts are kept."""
        self.query = self._start_query()
        self.engine.resume(self.query)

    def redeploy(self, shape: ClusterShape) -> None:
        """Stop between two batches and restart on a new session. With another number of partitions the checkpoint
        cannot be reused: the query continues with the next record, but without its state.
        """
        self.end()
        self.engine.close()
        fresh = shape.partitions not in (0, self.experiment.partition_count)
        self.experiment = replace(
            self.experiment,
            initial=shape.executors,
            maximum=max(shape.executors, self.experiment.maximum),
            cores=shape.executor.cores,
            memory=shape.executor.memory,
            partitions=shape.partitions or self.experiment.partition_count,
        )
        before = self.engine
        self._queries = ExitStack()
        self.host.reshape(shape)
        if fresh:
            self._checkpoint = self.folder / f"checkpoint-{time.time_ns()}"
        if isinstance(self.feed, Embedded):
            self.feed.options = {**self.feed.options, "partitions": str(self.experiment.partition_count)}
        self.query = self._start_query()
        self.engine = self._watch()
        # one run, whichever session it is on: records are counted on, and so is what the query observed of its result
        self.engine.log, self.engine.observed = before.log, before.observed

    def end(self, sinks: Sequence[Sink] = ()) -> None:
        """Stop the query between two batches and process its last reports. An interrupted batch could have written rows
        that are not counted.
        """
        deadline = time.monotonic() + QUIET
        while self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.05)
        finish("stopping the query", self.query.stop)
        try:
            while time.monotonic() < deadline + QUIET:
                tick = Tick(self.engine.observe())
                for sink in sinks if tick.observation.batches else ():
                    sink.take(tick)
                time.sleep(0.05)
        except (QueryEnded, QueryFailed):
            return

    def trace(self, recorder: TraceRecorder) -> RunTrace:
        """For external records, arrivals are derived from the batches."""
        if isinstance(self.feed, Embedded):
            return recorder.trace(self.start_time, self.feed.schedule.arrivals(self.start_time))
        return recorder.trace(self.start_time)

    def agrees(self) -> bool:
        """Whether the result equals that of a batch query over the same records."""
        expected = self.job.build(self.feed.table(self.host.spark))
        verdict = self.sink.agrees(self.host.spark, self.engine, expected)
        return verdict and self.engine.log.rows_dropped == 0

    def stop(self) -> None:
        """Stop watching and scaling. Collected data stays available."""
        self.clock.stop.set()
        if hasattr(self, "engine"):
            self.engine.close()

    def close(self) -> None:
        self.stop()
        self._queries.close()


def started(writer: DataStreamWriter, name: str) -> StreamingQuery:
    """What Spark does not start, it will not start anywhere: an aggregation without a watermark in append mode."""
    try:
        return writer.start()
    except PySparkException as error:
        raise InvalidInput(f"query {name}: Spark does not start it: {str(error).strip().splitlines()[0]}") from error


def embedded_feed(e: Experiment, file: Path) -> Embedded:
    feed = Embedded(e.source_options(), file)
    feed.schedule = replace(feed.schedule, limit=e.max_batch_records)
    return feed


def warm_up(host: SparkHost, e: Experiment, *, bind: bool = False) -> None:
    """Run the query on a few records, all available at once, to compile its code and to start Python workers. With
    `bind`, apply the quotas after that and go on until they hold for all executors, so that none is faster than later.
    """
    neutral = replace(e, workload="constant", noise=0.0, workload_seed=None, mode="monitor", kafka=None)
    records = min(float(WARM_UP * e.partition_count), WARM_LOAD * e.peak)
    short = replace(neutral, duration=1.0, peak=records, limit=0, trigger=0.1)
    deployment = SparkDeployment(host, short)
    try:
        deployment.start(at=time.time() - 1)
        begun = time.monotonic()
        _process_all(deployment)
        if bind:
            host.bind()
            # what takes about a second: under a quota it takes longer
            few = replace(short, peak=records / max(1.0, time.monotonic() - begun))
            _until_bound(host, deployment, few)
    finally:
        deployment.close()


def _process_all(deployment: SparkDeployment) -> None:
    try:
        deployment.query.processAllAvailable()
    except StreamingQueryException as error:
        raise QueryFailed(f"the query failed: {str(error).strip().splitlines()[0]}") from error


def _until_bound(host: SparkHost, deployment: SparkDeployment, few: Experiment) -> None:
    """`few` records at first, and more the faster the query becomes, in a batch each: executors with little to do would
    keep their grace for minutes.
    """
    begun, records = time.monotonic(), few.peak
    while host.boundless() and time.monotonic() < begun + WARM_LIMIT:
        deployment.offer(Constant(BURST, records / BURST))
        time.sleep(2 * BURST)
        arrived = time.monotonic()
        _process_all(deployment)
        if time.monotonic() < arrived + LONG_ENOUGH:
            records *= 2
    if host.quotas is not None and few.grace < WARM_LIMIT:
        host.quotas.bind_now()  # also to executors that had nothing to do
