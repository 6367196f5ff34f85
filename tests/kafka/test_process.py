"""The producer in a process of its own, with a real broker."""

import time

import pytest

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka import Broker, Target, create, ends
from tidegate.kafka.process import Order, ProducerProcess
from tidegate.workloads import Constant

pytestmark = pytest.mark.kafka
BIDS = {"name": "bids", "seed": 1, "rate": 1000.0, "skew": "default"}


def order(broker: Broker, topic: str, seconds: float, **events: object) -> Order:
    create(broker.address, topic, 2)
    load = Constant(seconds, level=1000).spec()
    return Order({**BIDS, **events}, load, Target(broker.address, topic, 2))


def test_it_begins_when_told_and_says_what_it_did(broker: Broker) -> None:
    with ProducerProcess(order(broker, "process-whole", 2)) as producer:
        start = time.time() + 0.5
        producer.go(start)
        while producer.result is None:
            producer.look()
            time.sleep(0.1)
    assert producer.result.complete
    assert (producer.result.start, producer.result.acknowledged) == (start, 2000)
    assert sum(ends(broker.address, "process-whole").values()) == 2000


def test_closed_early_it_flushes_what_it_sent(broker: Broker) -> None:
    producer = ProducerProcess(order(broker, "process-cut", 3600))
    producer.go(time.time() - 1)
    while producer.progress is None:
        producer.look()
        time.sleep(0.1)
    result = producer.close()
    assert result
    assert not result.complete
    assert sum(ends(broker.address, "process-cut").values()) == result.acknowledged == result.sent >= 1000


def test_closed_before_it_began_it_sends_nothing(broker: Broker) -> None:
    producer = ProducerProcess(order(broker, "process-none", 1))
    assert producer.close() is None
    assert sum(ends(broker.address, "process-none").values()) == 0


def test_what_it_cannot_do_it_says(broker: Broker) -> None:
    producer = ProducerProcess(order(broker, "process-bad", 1, name="bid"))
    with pytest.raises(InvalidInput, match="no kind of events is named 'bid'"):
        producer.go(time.time())
    producer.close()


def test_one_that_was_killed_is_missed(broker: Broker) -> None:
    producer = ProducerProcess(order(broker, "process-killed", 3600))
    producer.go(time.time())
    producer._process.kill()
    producer._process.join()
    with pytest.raises(EnvironmentMissing, match=r"the producer's process ended before its workload \(exit -9\)"):
        _look_on(producer)
    producer.close()


def _look_on(producer: ProducerProcess) -> None:
    while True:
        producer.look()
