from collections.abc import Callable
from typing import NamedTuple

import confluent_kafka
import pytest

from tidegate.kafka import begin_offsets, end_offsets
from tidegate.kafka.client import settings


class Read(NamedTuple):
    partition: int
    key: int
    timestamp: int
    value: str


Everything = Callable[[str, str], list[Read]]


@pytest.fixture
def everything() -> Everything:
    """A function that reads all records of a topic with a consumer, ordered within each partition."""

    def read(bootstrap: str, topic: str) -> list[Read]:
        first, last = begin_offsets(bootstrap, topic), end_offsets(bootstrap, topic)
        expected, records = sum(last.values()) - sum(first.values()), list[Read]()
        consumer = confluent_kafka.Consumer(settings(bootstrap, {"group.id": "test", "enable.auto.commit": False}))
        starts = [confluent_kafka.TopicPartition(topic, partition, offset) for partition, offset in first.items()]
        consumer.assign(starts)
        while len(records) < expected:
            messages = consumer.consume(min(10_000, expected - len(records)), 10.0)
            assert messages, f"{len(records)} of {expected} records arrived"
            records += [_read(message) for message in messages]
        consumer.close()
        return records

    return read


def _read(message: confluent_kafka.Message) -> Read:
    key, value, partition = message.key(), message.value(), message.partition()
    assert message.error() is None
    assert isinstance(key, bytes)
    assert isinstance(value, bytes)
    assert partition is not None
    return Read(partition, int.from_bytes(key, "big"), message.timestamp()[1], value.decode())
