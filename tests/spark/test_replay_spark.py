"""A recorded topic, replayed into a query at a rate that changes; a testbed of it; a whole plan."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
import pytest

from tidegate.core import Lever
from tidegate.deployment.replayed import connector_jars, replayed_feed
from tidegate.deployment.spark import SparkDeployment, spark_host
from tidegate.experiment import Experiment, Kafka
from tidegate.jobs import Sample, events
from tidegate.kafka import Broker, begin_offsets, create_topic, end_offsets
from tidegate.kafka import replayer as replays
from tidegate.kafka.client import settings
from tidegate.kafka.producer import values
from tidegate.kafka.recording import RecordedTopic, record
from tidegate.planner.estimator.phases import Probe, WarmUp
from tidegate.profiling.campaign import spark_testbed
from tidegate.sources.replayed import Replayed
from tidegate.workloads import Constant

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
Eventually = Callable[..., None]
COUNT = 3000


def topics(broker: Broker) -> set[str]:
    admin = confluent_kafka.admin.AdminClient(settings(broker.address))
    return {name for name in admin.list_topics(timeout=10.0).topics if not name.startswith("__")}


@pytest.fixture
def ads(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A recorded topic of its own for each test."""
    topic = f"ads-{request.node.name[:40]}"
    create_topic(broker.address, topic, 3)
    producer = confluent_kafka.Producer(settings(broker.address))
    for k, value in enumerate(values(events("ysb", seed=2, rate=1000.0), 0, COUNT)):
        producer.produce(topic, value, partition=k % 3, timestamp=1_700_000_000_000 + k)
    assert producer.flush(60) == 0
    return topic


def quiet(feed: Replayed) -> bool:
    """Whether all was acknowledged, and nothing came for a second."""
    supply = feed.supplied(3000.0, time.time() - 1.0, time.time())
    return supply is not None and supply.able and supply.rate == 0.0


def experiment(broker: Broker, topic: str, folder: Path, **more: object) -> Experiment:
    file = record(RecordedTopic(broker.address, topic, 10_000), folder)
    recording = Sample(str(file), ("event_time",)).name
    kafka = Kafka(broker.address, topic, produce=False, recording=recording)
    return Experiment(
        job="ysb", kafka=kafka, workload="constant", policy="static", options={"executors": 1}, initial=1, maximum=1,
        peak=1000.0, trigger=1.0, partitions=2, duration=3600.0, period=1.0, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_query_reads_a_recorded_topic_at_a_rate_that_changes(
    broker: Broker, ads: str, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the whole replay is needed to compare the result with that of a batch query
    monkeypatch.setattr(replays, "REMOVAL", 1e9)
    e = experiment(broker, ads, tmp_path)
    before, names = (begin_offsets(broker.address, ads), end_offsets(broker.address, ads)), topics(broker)
    with spark_host(e, tmp_path, connector_jars(e)) as host, replayed_feed(e) as feed:
        deployment, rows = SparkDeployment(host, e, feed), list[int]()

        def read() -> int:
            rows.extend(batch.rows for batch in deployment.engine.observe().batches)
            return sum(rows)

        try:
            deployment.start()
            assert Lever.BATCH_LIMIT not in deployment.engine.levers
            deployment.offer(Constant(3600.0, 1000.0))
            eventually(lambda: read() >= 2 * COUNT)
            changed = time.time()
            deployment.offer(Constant(2.0, 3000.0))
            eventually(lambda: time.time() > changed + 2.0 and quiet(feed))
            end = sum(end_offsets(broker.address, feed.topic.name).values())
            eventually(lambda: read() >= end)
            deployment.end()
            # what the first load had sent, and 2 s * 3,000/s
            assert sum(rows) == sum(feed.end.values()) == end >= 2 * COUNT + 6000
            assert deployment.agrees()
        finally:
            deployment.close()
    assert (begin_offsets(broker.address, ads), end_offsets(broker.address, ads)) == before
    eventually(lambda: topics(broker) == names)


@pytest.mark.proof
def test_a_testbed_of_a_recorded_topic(broker: Broker, ads: str, tmp_path: Path, eventually: Eventually) -> None:
    e, names = experiment(broker, ads, tmp_path), topics(broker)
    with spark_testbed(e) as testbed:
        for _ in range(20):  # a slow machine needs more of them until two batches are finished
            warm = testbed.measure(WarmUp(1000.0, 5.0, 1000))
            assert warm.failure == ""
            if warm.processed_rate:
                break
        probe = testbed.begin_again(2000.0).measure(Probe(2000.0, 100.0, 2.0, 12.0, 8.0))
        (replay,) = topics(broker) - names
        assert replay.startswith(f"{ads}.tidegate-replay-")
    assert warm.processed_rate
    assert probe.failure == ""
    # 3 s * 2,000/s may be in a batch: ten times as much is more than the source has
    assert probe.offered_rate is not None
    assert probe.offered_rate <= 2000.0
    eventually(lambda: topics(broker) == names)


@pytest.mark.proof
def test_a_plan_of_a_recorded_topic(broker: Broker, ads: str, tmp_path: Path) -> None:
    before = end_offsets(broker.address, ads)
    words = [
        "plan",
        "--job",
        "ysb",
        "--rate",
        "50k",
        "--source",
        "kafka",
        "--bootstrap",
        broker.address,
        "--topic",
        ads,
    ]
    more = ["--testbed", "1-2", "--quota", "0.3", "--budget", "15m", "--output", "json"]
    ended = subprocess.run(
        [sys.executable, "-m", "tidegate", *words, *more], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    plan = json.loads(ended.stdout)
    assert any(probe["rate"] for probe in plan["probes"])
    assert end_offsets(broker.address, ads) == before
    assert not [name for name in topics(broker) if name.startswith(f"{ads}.tidegate-replay-")]
