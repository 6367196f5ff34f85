"""Runs on Spark, from the start of the cluster to the score."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tidegate.cluster.session import workspace
from tidegate.control import Autoscaler, drive
from tidegate.core import QueryFailed, Sink, Tick
from tidegate.deployment.spark import SparkDeployment, SparkHost, spark_host, warm_up
from tidegate.experiment.settings import Experiment
from tidegate.jobs import SPARSE, events, job
from tidegate.jobs.sample import repetition_warning
from tidegate.kafka import connector
from tidegate.kafka.options import resolve
from tidegate.kafka.process import ProducerSpec
from tidegate.runner.outcome import Outcome, Say
from tidegate.runs import RunResult
from tidegate.score.figures import Objective, figures
from tidegate.score.recorder import TraceRecorder
from tidegate.score.trace import Cumulative
from tidegate.sources.kafka_feed import KafkaFeed
from tidegate.sources.kafka_topic import Topic
from tidegate.store import Store, StoreSink
from tidegate.verify.query_sinks import KafkaSink

#: seconds for query and producer to start before the workload begins
LEAD = 3.0


def run(e: Experiment, store: Store, say: Say, sinks: Sequence[Sink] = ()) -> Outcome:
    """Start Spark, stream, scale, verify and score. However it ends, observations are stored and Spark is stopped."""
    with workspace() as folder:
        return _SparkRun(e, store, say, sinks).outcome(folder)


def run_on(host: SparkHost, e: Experiment, store: Store, say: Say, sinks: Sequence[Sink] = ()) -> Outcome:
    """Like `run`, on an existing host that is warm and has its quotas applied."""
    return _SparkRun(e, store, say, sinks).outcome(host.folder, host)


class _SparkRun:
    """The state of a run in progress."""

    def __init__(self, e: Experiment, store: Store, say: Say, sinks: Sequence[Sink]) -> None:
        self._experiment, self._store, self._say = e, store, say
        self._recorder = TraceRecorder(native=e.mode == "native")
        self._others = sinks
        self._start = time.time()
        self._spec = e.spec()
        self._run: str | None = None
        #: version of Spark's Kafka connector, which may differ from Spark's own
        self._connector: str | None = None
        self._result = RunResult("", "running")

    def outcome(self, folder: Path, host: SparkHost | None = None) -> Outcome:
        try:
            if host is None:
                self._go(folder)
            else:
                self._stream(host, None)
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
        except BaseException:
            self._finish("failed")
            raise
        return self._finish(status)

    def _go(self, folder: Path) -> None:
        e = self._experiment
        with ExitStack() as end:
            if e.sample and (text := repetition_warning(events(**e.event_options()))):
                self._say(text)
            topic = end.enter_context(self._topic()) if e.kafka else None
            place = e.master or "an embedded cluster"
            self._say(f"starting Spark on {place} with {e.first} executor{'s' if e.first > 1 else ''}")
            host = end.enter_context(spark_host(e, folder, {**self._jars(), **e.allocation()}))
            end.callback(self._say, "stopping Spark")
            self._say("warming up")
            warm_up(host, e, bind=True)
            if e.mode == "native":
                host.settle(e.first)
            self._stream(host, topic)

    @contextmanager
    def _topic(self) -> Iterator[KafkaFeed]:
        """The topic, and the producer waiting for its start. Opened before Spark, which would be useless without it."""
        e = self._experiment
        assert e.kafka
        kind = events(**e.event_options())
        given = resolve(e.kafka.options)
        sparse = bool(e.sample) or job(e.job).events in SPARSE
        topic = Topic(e.kafka.bootstrap, e.kafka.topic, kind.schema, sparse, given)
        feed = KafkaFeed(topic, e.max_batch_records, e.kafka.patience, self._say)
        feed.use(e.partition_count, make=e.kafka.produce)
        if e.kafka.produce:
            feed.produce(ProducerSpec(e.event_options(), e.load().spec(), feed.target()))
        try:
            yield feed
        finally:
            feed.settle()

    def _jars(self) -> dict[str, str]:
        if self._experiment.kafka is None:
            return {}
        kafka = connector(say=self._say)
        self._connector = kafka.version
        return {"spark.jars": ",".join(str(jar) for jar in kafka.jars)}

    def _stream(self, host: SparkHost, topic: KafkaFeed | None) -> None:
        e = self._experiment
        sink = None
        if e.kafka and e.kafka.sink:
            target = Topic(e.kafka.bootstrap, e.kafka.sink, "", given=resolve(e.kafka.options))
            sink = KafkaSink(job(e.job), target, e.partition_count)
        deployment = SparkDeployment(host, e, topic, sink)
        self._start = time.time() + (LEAD if topic else 0.0)
        self._spec = e.spec(self._start)
        self._run = self._store.begin(self._spec)
        self._say(f"run {self._run}: {e.job} under {e.workload}, {e.policy}, {e.duration:g} s")
        try:
            deployment.start(self._start)
            if topic:
                topic.go(self._start)
            scaler = e.autoscaler()
            while not self._follow(deployment, scaler, topic):
                deployment.resume()
            deployment.end((self._recorder, StoreSink(self._store, self._run)))
            deployment.stop()
            host.release()
            self._check(deployment, topic)
        finally:
            deployment.close()

    def _follow(self, deployment: SparkDeployment, scaler: Autoscaler, topic: KafkaFeed | None) -> bool:
        """Follow the query. True at the end of the run; False if it failed and can be resumed from its checkpoint."""
        e = self._experiment
        sinks: tuple[Sink, ...] = (self._recorder, StoreSink(self._store, str(self._run)), *self._others)

        def over(tick: Tick | None) -> bool:
            if topic:
                topic.look()
            elapsed = time.time() - self._start
            return elapsed >= e.duration and (self._drained(deployment) or elapsed >= e.duration + e.drain)

        try:
            drive(deployment.engine, scaler, deployment.clock, sinks, act=e.mode == "active", until=over)
        except QueryFailed as error:
            if topic is None or not topic.recovers():
                raise
            self._say(f"{error}; going on from its checkpoint")
            return False
        return True

    def _drained(self, deployment: SparkDeployment) -> bool:
        e, last = self._experiment, deployment.engine.log.batch
        return e.external_source or (last is not None and last.end >= e.load().total(e.duration))

    def _check(self, deployment: SparkDeployment, topic: KafkaFeed | None) -> None:
        e, last = self._experiment, deployment.engine.log.batch
        if topic and (trouble := topic.settle()):
            self._say(trouble)
        if last is None or not e.verify:
            return
        self._say(f"verifying: one batch query over the same {round(last.end):,} records")
        self._result = replace(self._result, verified=deployment.agrees(), sink=deployment.sink.counts())
        if topic:
            self._result = replace(self._result, kafka=topic.counted(deployment.host.spark, self._connector))

    def _finish(self, status: str) -> Outcome:
        if self._run is None:
            return Outcome("", status)
        e = self._experiment
        load = None if e.external_source else e.load()
        trace = self._recorder.trace(self._start, None if load is None else Cumulative.of(load))
        checked = self._result
        result = replace(
            RunResult.of(self._run, status, self._spec),
            duration=min(trace.until, e.duration),
            offered=None if load is None else load.total(trace.until),
            figures=figures(trace, Objective(e.slo, e.price)),
            verified=checked.verified,
            kafka=checked.kafka,
            sink=checked.sink,
        )
        self._store.end(self._run, status, result)
        return Outcome(self._run, status, result, trace)
