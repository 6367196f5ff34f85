import sys

import pytest

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka import Broker, begins, create, ends, reach, require
from tidegate.kafka.broker import free_port


def test_a_broker_that_is_not_there_is_waited_for_and_then_told() -> None:
    nowhere, said = f"127.0.0.1:{free_port()}", list[str]()
    with pytest.raises(EnvironmentMissing, match=rf"no Kafka broker answered at {nowhere} within 0.5 s: start one"):
        reach(nowhere, patience=0.5, say=said.append)
    assert said == []  # one look takes longer than half a second: nothing to say before giving up


def test_while_it_waits_it_says_so_once_in_a_while() -> None:
    nowhere, said = f"127.0.0.1:{free_port()}", list[str]()
    with pytest.raises(EnvironmentMissing):
        reach(nowhere, patience=3.0, say=said.append)
    assert len(said) == 1  # at the first look; the next sentence would come ten seconds later
    assert said[0].startswith(f"waiting for the Kafka broker at {nowhere}")


def test_without_the_client_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'tidegate\[kafka\]'"):
        reach("127.0.0.1:1")


def test_a_topic_needs_a_partition() -> None:
    with pytest.raises(InvalidInput, match="topic t: need 1 or more partitions, got 0"):
        create("127.0.0.1:1", "t", 0)


@pytest.mark.kafka
def test_a_topic_is_made_once_and_keeps_its_partitions(broker: Broker) -> None:
    assert create(broker.address, "once", 3) == 3
    assert create(broker.address, "once", 5) == 3
    assert require(broker.address, "once") == 3
    assert begins(broker.address, "once") == ends(broker.address, "once") == {0: 0, 1: 0, 2: 0}


@pytest.mark.kafka
def test_a_topic_that_is_missing_is_told_with_its_neighbours(broker: Broker) -> None:
    create(broker.address, "payments", 1)
    with pytest.raises(
        InvalidInput, match=rf"no topic is named 'payment' at {broker.address}: did you mean 'payments'"
    ):
        require(broker.address, "payment")
    with pytest.raises(InvalidInput, match="make it with `tidegate produce --topic zzz`"):
        ends(broker.address, "zzz")


@pytest.mark.kafka
def test_a_name_that_kafka_refuses_is_told(broker: Broker) -> None:
    with pytest.raises(InvalidInput, match=r"topic 'a b' at .* cannot be made"):
        create(broker.address, "a b", 1)
