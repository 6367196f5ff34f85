"""Attached to a query on Spark's own `rate` source, that Tidegate did not build."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import tidegate
from tidegate import Attachment
from tidegate.cluster.status import Status
from tidegate.core import Decision, InvalidInput, Limits, Observation, Tick
from tidegate.policies import Static
from tidegate.presets import PRESETS, autoscaler
from tidegate.store import Store

pytestmark = pytest.mark.spark
Eventually = Callable[..., None]
#: anything above idling is too much, so that a small load makes it scale
EAGER = {"target": 0.02, "interval": 2, "window": 6, "readiness": 0, "down-window": 4}


@pytest.fixture(scope="module")
def query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamingQuery]:
    rate = spark.readStream.format("rate").option("rowsPerSecond", 20_000).option("numPartitions", 3).load()
    writer = rate.selectExpr("value % 7 AS key").groupBy("key").count().writeStream.outputMode("update").format("noop")
    checkpoint = str(tmp_path_factory.mktemp("rate"))
    started = writer.option("checkpointLocation", checkpoint).trigger(processingTime="1 second").start()
    yield started
    started.stop()


def decided(ticks: list[Tick]) -> list[int]:
    return [tick.decision.executors for tick in ticks if tick.decision]


def test_in_monitor_it_decides_and_records_and_never_acts(
    spark: SparkSession, query: StreamingQuery, tmp_path: Path, eventually: Eventually
) -> None:
    db = tmp_path / "runs.db"
    with tidegate.attach(
        query, "hpa-cpu", min_executors=1, max_executors=3, options=EAGER, mode="monitor", store=db
    ) as watching:
        eventually(lambda: decided(list(watching.ticks))[-1:] == [3])
    assert query.isActive  # detaching leaves it running
    assert len(Status(spark.sparkContext).executors()) == 1
    with Store.open(db) as store:
        stored = [tick for _, tick in store.ticks(store.run("last").id)]
        assert store.run("last").status == "done"
    assert decided(stored) == decided(list(watching.ticks))
    assert not any(tick.acted for tick in stored)
    # the same policy on what was recorded decides the same, step for step
    again = autoscaler("hpa-cpu", Limits(1, 3), EAGER, slo=10.0)
    for tick in stored:
        again.observe(tick.observation)
        if tick.steps:
            assert again.decide(tick.observation) == tick.steps
    for name in PRESETS:  # every policy knows what to make of a real query
        scaler = autoscaler(name, Limits(1, 3), {"interval": 1})
        for tick in stored:
            scaler.observe(tick.observation)
            assert scaler.decide(tick.observation)[-1].decision.executors in (1, 2, 3)


def test_what_it_learned_is_there_when_it_is_attached_again(
    query: StreamingQuery, tmp_path: Path, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="tidegate.attachment")
    settings = {"max_executors": 3, "mode": "monitor", "store": tmp_path / "runs.db"}
    with tidegate.attach(query, "ds2", **settings) as watching:
        eventually(lambda: watching.ticks and watching.ticks[-1].observation.arrival_rate is not None)
    assert "goes on from" not in caplog.text
    with tidegate.attach(query, "ds2", **settings) as again:
        eventually(lambda: again.ticks)
    assert "ds2 goes on from what it learned before" in caplog.text
    with Store.open(tmp_path / "runs.db") as store:
        job = store.run("last").spec.job
        store.remember(job, "ds2", {"policy": {"_nonsense": 1}, "guards": []})
    with tidegate.attach(query, "ds2", **settings) as afresh:
        eventually(lambda: afresh.ticks)
    assert "ds2 starts afresh: a memory does not fit" in caplog.text


def test_it_scales_a_query_that_it_did_not_build(
    spark: SparkSession, query: StreamingQuery, tmp_path: Path, eventually: Eventually
) -> None:
    status = Status(spark.sparkContext)
    with tidegate.attach(
        query, "hpa-cpu", min_executors=1, max_executors=2, options=EAGER, store=tmp_path / "a.db"
    ) as active:
        eventually(lambda: len(status.executors()) == 2)
        # learned from offsets that count seconds
        eventually(lambda: active.ticks[-1].observation.arrival_rate == pytest.approx(20_000, rel=0.2))
    with tidegate.attach(query, "static", max_executors=2, options={"executors": 1, "interval": 1}, store=None):
        eventually(lambda: len(status.executors()) == 1)
    assert query.isActive
    assert query.exception() is None


def test_a_second_attachment_to_one_query_is_refused_and_monitors_are_not(
    query: StreamingQuery, eventually: Eventually
) -> None:
    with tidegate.attach(query, "static", max_executors=1, store=None) as first:
        eventually(lambda: first.ticks)
        with pytest.raises(
            InvalidInput, match=r"query \S+ is scaled by another attachment already: detach that first, or watch with"
        ):
            tidegate.attach(query, "static", max_executors=2, store=None)
        with tidegate.attach(query, "static", max_executors=2, mode="monitor", store=None) as watching:
            eventually(lambda: watching.ticks)
            assert watching.status == "monitoring"
    with tidegate.attach(query, "static", max_executors=1, store=None) as next_one:
        eventually(lambda: next_one.ticks)


@dataclass
class Fails:
    """A policy, a guard and a sink in one, each of which raises."""

    name: str = "fails"
    interval: float = 1.0

    def observe(self, obs: Observation) -> None:
        """Learns nothing."""

    def decide(self, obs: Observation) -> Decision:
        raise ValueError("policy")

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        raise ValueError("guard")

    def take(self, tick: Tick) -> None:
        raise ValueError("sink")


def events(watching: Attachment) -> dict[str, str]:
    return {event.kind: event.message for tick in list(watching.ticks) for event in tick.observation.events}


def test_whatever_raises_the_query_and_the_loop_go_on_and_the_events_say_why(
    query: StreamingQuery, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tidegate.attach(query, Fails(), max_executors=2, store=tmp_path / "a.db", sinks=[Fails()]) as watching:
        eventually(lambda: {"PolicyFailed", "SinkFailed"} <= events(watching).keys())
        # a policy again, behind a guard that raises; then an actuator and observations that do
        watching._scaler.policy, watching._scaler.guards = Static(2), (Fails(),)
        eventually(lambda: "GuardFailed" in events(watching))
        watching._scaler.guards = ()
        with monkeypatch.context() as patched:
            patched.setattr(watching._engine, "scale", _raise)
            eventually(lambda: "ScaleFailed" in events(watching))
            patched.setattr(watching._engine.status, "executors", _raise)
            eventually(lambda: "ObserveFailed" in events(watching))
        assert "observing failed" in watching.status
        before = watching.ticks[-1].observation.time
        eventually(lambda: watching.ticks[-1].observation.time > before + 3)
        eventually(lambda: watching.ticks[-1].observation.requested == 2)  # and now it is scaled after all
        assert watching.error is None
        assert query.isActive
    assert events(watching) == {
        "PolicyFailed": "Fails: ValueError: policy",
        "SinkFailed": "fails: ValueError: sink",
        "GuardFailed": "fails: ValueError: guard",
        "ScaleFailed": "RuntimeError: out of order",
        "ObserveFailed": "RuntimeError: out of order",
    }
    with Store.open(tmp_path / "a.db") as store:
        assert store.run("last").status == "done"
    assert query.exception() is None


def _raise(*anything: object) -> None:
    raise RuntimeError("out of order")


def test_it_ends_with_the_query_and_says_if_it_failed(
    spark: SparkSession, tmp_path: Path, eventually: Eventually
) -> None:
    brief = spark.readStream.format("rate").load().writeStream.format("noop")
    query = brief.option("checkpointLocation", str(tmp_path / "c")).start()
    watching = tidegate.attach(query, "static", max_executors=1, store=None)
    eventually(lambda: watching.ticks)
    query.stop()
    eventually(lambda: not watching._thread.is_alive())
    assert (watching.error, watching.status) == (None, "ended: the query was stopped")
    with pytest.raises(InvalidInput, match="has ended, it was stopped; attach to the query that start"):
        tidegate.attach(query, "static", max_executors=1, store=None)
    # one row a second, so that there is time to attach before it fails
    hot = "IF(value > 20, raise_error('too hot'), value) AS x"
    broken = spark.readStream.format("rate").load().selectExpr(hot).writeStream.format("noop")
    failing = broken.option("checkpointLocation", str(tmp_path / "d")).start()
    watching = tidegate.attach(failing, "static", max_executors=1, store=None)
    eventually(lambda: watching.error is not None)
    assert "the query failed" in str(watching.error)
    eventually(lambda: watching.status.startswith("ended: the query failed"))
    watching.detach()
    with pytest.raises(InvalidInput, match="has ended, it failed"):
        tidegate.attach(failing, "static", max_executors=1, store=None)


def test_what_cannot_be_scaled_is_refused_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    rate: Any = spark.readStream.format("rate").load()
    with pytest.raises(InvalidInput, match=r"needs a running query, which .* returns, got an object of type DataFrame"):
        tidegate.attach(rate, max_executors=2)
    writer = rate.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    continuous = writer.trigger(continuous="1 second").queryName("fluent").start()
    try:
        with pytest.raises(InvalidInput, match="query fluent has a continuous trigger"):
            tidegate.attach(continuous, max_executors=2)
    finally:
        continuous.stop()


def test_it_needs_a_most_and_a_known_policy(query: StreamingQuery) -> None:
    with pytest.raises(InvalidInput, match="need max_executors"):
        tidegate.attach(query)
    with pytest.raises(InvalidInput, match="did you mean 'hpa-cpu'"):
        tidegate.attach(query, "hpa_cpu", max_executors=2)
