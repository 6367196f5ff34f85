from collections.abc import Callable
from typing import NamedTuple

import confluent_kafka
import pytest

from tidegate.kafka import begins, ends
from tidegate.kafka.client import settings


class Read(NamedTuple):
    partition: int
    key: int
    timestamp: int
    value: str


Everything = Callable[[str, str], list[Read]]


@pytest.fixture
def everything() -> Everything:
    """What a topic holds, read back with a consumer, in the order of each partition."""

    def read(bootstrap: str, topic: str) -> list[Read]:
        first, last = begins(bootstrap, topic), ends(bootstrap, topic)
        wanted, found = sum(last.values()) - sum(first.values()), list[Read]()
        consumer = confluent_kafka.Consumer(settings(bootstrap, {"group.id": "test", "enable.auto.commit": False}))
        consumer.assign([confluent_kafka.TopicPartition(topic, part, offset) for part, offset in first.items()])
        while len(found) < wanted:
            messages = consumer.consume(min(10_000, wanted - len(found)), 10.0)
            assert messages, f"{len(found)} of {wanted} records came"
            found += [_read(message) for message in messages]
        consumer.close()
        return found

    return read


def _read(message: confluent_kafka.Message) -> Read:
    key, value, part = message.key(), message.value(), message.partition()
    assert message.error() is None
    assert isinstance(key, bytes)
    assert isinstance(value, bytes)
    assert part is not None
    return Read(part, int.from_bytes(key, "big"), message.timestamp()[1], value.decode())
