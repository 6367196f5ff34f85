"""Records of a topic as a sample."""

from __future__ import annotations

import json

import confluent_kafka
import pytest

from tidegate.core import InvalidInput
from tidegate.kafka import Broker, create_topic
from tidegate.kafka.client import settings
from tidegate.kafka.sample import read_sample

pytestmark = pytest.mark.kafka


def sent(broker: Broker, topic: str, values: list[bytes], partitions: int = 2) -> None:
    create_topic(broker.address, topic, partitions)
    producer = confluent_kafka.Producer(settings(broker.address))
    for k, value in enumerate(values):
        producer.produce(topic, value, partition=k % partitions, timestamp=1_700_000_000_000 + k)
    assert producer.flush(60) == 0


def test_the_last_records_of_each_partition_in_the_order_of_their_times(broker: Broker) -> None:
    sent(broker, "numbered", [json.dumps({"user": k, "at": "2024-01-01 12:00:00"}).encode() for k in range(25_001)])
    assert read_sample(broker.address, "numbered", 10)["user"].to_pylist() == list(range(24_991, 25_001))
    assert read_sample(broker.address, "numbered", 50_000)["user"].to_pylist() == list(range(25_001))


def test_what_is_wrong_with_a_topic(broker: Broker) -> None:
    create_topic(broker.address, "no-records", 1)
    with pytest.raises(InvalidInput, match="need at least one record for a sample, it has none"):
        read_sample(broker.address, "no-records", 10)
    sent(broker, "no-json", [b"hello"])
    with pytest.raises(InvalidInput, match="partition 0, offset 0: need a JSON object, got 'hello'"):
        read_sample(broker.address, "no-json", 10)
    with pytest.raises(InvalidInput, match="no topic is named 'emty'"):
        read_sample(broker.address, "emty", 10)
