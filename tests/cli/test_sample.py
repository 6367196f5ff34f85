"""`tidegate sample` on a real topic."""

import json
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pyarrow.parquet
import pytest

from tidegate.kafka import Broker, create_topic
from tidegate.kafka.client import settings


@pytest.mark.kafka
def test_records_of_a_topic_are_a_file(tidegate: Callable[..., Any], broker: Broker) -> None:
    create_topic(broker.address, "clicks", 2)
    producer = confluent_kafka.Producer(settings(broker.address))
    for k in range(10):
        producer.produce("clicks", json.dumps({"user": k, "at": "2024-01-01 12:00:00"}).encode(), partition=k % 2)
    assert producer.flush(60) == 0
    ended = tidegate("sample", "clicks", "--records", "4", "-o", "clicks.parquet", "--bootstrap", broker.address)
    assert ended.code == 0
    assert ended.out.startswith("clicks.parquet: 4 records of clicks: ")
    assert sorted(pyarrow.parquet.read_table("clicks.parquet")["user"].to_pylist()) == [6, 7, 8, 9]
