import sys

import pytest

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka import Broker, begin_offsets, create_topic, end_offsets, topic_partitions, wait_for_broker
from tidegate.kafka.broker import free_port


def test_a_missing_broker_is_an_error_after_the_wait() -> None:
    nowhere, messages = f"127.0.0.1:{free_port()}", list[str]()
    with pytest.raises(EnvironmentMissing, match=rf"no Kafka broker answered at {nowhere} within 0.5 s: start one"):
        wait_for_broker(nowhere, patience=0.5, say=messages.append)
    assert messages == []  # a single attempt takes longer than half a second


def test_the_wait_is_reported_from_time_to_time() -> None:
    nowhere, messages = f"127.0.0.1:{free_port()}", list[str]()
    with pytest.raises(EnvironmentMissing):
        wait_for_broker(nowhere, patience=1.5, say=messages.append)
    assert len(messages) == 1  # after the first attempt; the next message would come ten seconds later
    assert messages[0].startswith(f"waiting for the Kafka broker at {nowhere}")


def test_the_error_without_the_client_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'tidegate\[kafka\]'"):
        wait_for_broker("127.0.0.1:1")


def test_a_topic_needs_a_partition() -> None:
    with pytest.raises(InvalidInput, match="topic t: need 1 or more partitions, got 0"):
        create_topic("127.0.0.1:1", "t", 0)


@pytest.mark.kafka
def test_a_topic_is_created_once_and_keeps_its_partitions(broker: Broker) -> None:
    assert create_topic(broker.address, "once", 3) == 3
    assert create_topic(broker.address, "once", 5) == 3
    assert topic_partitions(broker.address, "once") == 3
    assert begin_offsets(broker.address, "once") == end_offsets(broker.address, "once") == {0: 0, 1: 0, 2: 0}


@pytest.mark.kafka
def test_the_error_for_a_missing_topic_suggests_similar_names(broker: Broker) -> None:
    create_topic(broker.address, "payments", 1)
    with pytest.raises(
        InvalidInput, match=rf"no topic is named 'payment' at {broker.address}: did you mean 'payments'"
    ):
        topic_partitions(broker.address, "payment")
    with pytest.raises(InvalidInput, match="create it with `tidegate produce --topic zzz`"):
        end_offsets(broker.address, "zzz")


@pytest.mark.kafka
def test_a_name_that_kafka_rejects_is_an_error(broker: Broker) -> None:
    with pytest.raises(InvalidInput, match=r"topic 'a b' at .* cannot be created"):
        create_topic(broker.address, "a b", 1)
