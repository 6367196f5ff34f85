"""The replay of a recorded topic through a real broker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from tidegate.core import InvalidInput
from tidegate.jobs import Sample, Sampled, events
from tidegate.kafka import Broker, Target, begin_offsets, create_topic, end_offsets, topic_partitions
from tidegate.kafka import replayer as replays
from tidegate.kafka.client import settings
from tidegate.kafka.producer import values
from tidegate.kafka.recording import RecordedTopic, record
from tidegate.kafka.replayer import Replayer, replay_topic
from tidegate.workloads import Constant

pytestmark = pytest.mark.kafka
Everything = Callable[[str, str], list[Any]]


def recorded(broker: Broker, topic: str, count: int) -> list[bytes]:
    create_topic(broker.address, topic, 2)
    sent = values(events("ysb", seed=4, rate=100.0), 0, count)
    producer = confluent_kafka.Producer(settings(broker.address))
    for k, value in enumerate(sent):
        producer.produce(topic, value, b"%d" % k, partition=k % 2, timestamp=1_700_000_000_000 + k)
    assert producer.flush(60) == 0
    return sent


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def quiet(replay: Replayer) -> bool:
    """Whether all was acknowledged, and nothing came for a second."""
    supply = replay.supplied(4000.0, time.time() - 1.0, time.time())
    return supply is not None and supply.able and supply.rate == 0.0


def test_a_topic_is_sent_again_at_rates_that_change_and_is_not_touched(
    broker: Broker, everything: Everything, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "REMOVAL", 0.0)
    originals = recorded(broker, "clicks-recorded", 70)
    before = everything(broker.address, "clicks-recorded")
    file = record(RecordedTopic(broker.address, "clicks-recorded", 1000), tmp_path)
    sample = Sample(str(file), ("event_time",))
    target = Target(broker.address, replay_topic("clicks-recorded"), 3)
    replay = Replayer(sample, 500.0, target)
    try:
        replay.start()
        replay.offer(Constant(3600.0, 200.0), time.time())
        until(lambda: sum(end_offsets(broker.address, target.topic).values()) >= 100)
        changed = time.time()
        replay.offer(Constant(0.5, 4000.0), changed)
        until(lambda: time.time() > changed + 0.5 and quiet(replay))
        records = everything(broker.address, target.topic)
        ends = end_offsets(broker.address, target.topic)
        replay.remove({0: 1, 1: 1, 2: 1})
        until(lambda: begin_offsets(broker.address, target.topic) == {0: 1, 1: 1, 2: 1})
    finally:
        replay.close()
    # 2,000 after the change, and each number once
    assert len(records) >= 2100
    assert sorted(r.key for r in records) == list(range(len(records)))
    assert max(ends.values()) - min(ends.values()) <= 1
    expected = values(Sampled(sample, 500.0), 0, len(records))
    assert all(r.value.encode() == expected[r.key] and r.partition == r.key % 3 for r in records)
    again = json.loads(expected[71])
    # row 71 - 70, and 71 * 2 ms of event time
    assert again == {**json.loads(originals[1]), "event_time": str(1_436_918_400_000 + 142)}
    assert everything(broker.address, "clicks-recorded") == before
    with pytest.raises(InvalidInput, match="no topic is named"):
        topic_partitions(broker.address, target.topic)
