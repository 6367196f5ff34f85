"""The producer in a process of its own, with a real broker."""

import time

import pytest

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka import Broker, Target, create_topic, end_offsets
from tidegate.kafka.process import ProducerProcess, ProducerSpec
from tidegate.workloads import Constant

pytestmark = pytest.mark.kafka
BIDS = {"name": "bids", "seed": 1, "rate": 1000.0, "skew": "default"}


def producer_spec(broker: Broker, topic: str, seconds: float, **events: object) -> ProducerSpec:
    create_topic(broker.address, topic, 2)
    load = Constant(seconds, level=1000).spec()
    return ProducerSpec({**BIDS, **events}, load, Target(broker.address, topic, 2))


def test_it_starts_on_request_and_returns_its_result(broker: Broker) -> None:
    with ProducerProcess(producer_spec(broker, "process-whole", 2)) as producer:
        start = time.time() + 0.5
        producer.start(start)
        while producer.result is None:
            producer.poll()
            time.sleep(0.1)
    assert producer.result.complete
    assert (producer.result.start, producer.result.acknowledged) == (start, 2000)
    assert sum(end_offsets(broker.address, "process-whole").values()) == 2000


def test_closing_it_early_flushes_its_records(broker: Broker) -> None:
    producer = ProducerProcess(producer_spec(broker, "process-cut", 3600))
    producer.start(time.time() - 1)
    while producer.progress is None:
        producer.poll()
        time.sleep(0.1)
    result = producer.close()
    assert result
    assert not result.complete
    assert sum(end_offsets(broker.address, "process-cut").values()) == result.acknowledged == result.sent >= 1000


def test_closing_it_before_the_start_sends_nothing(broker: Broker) -> None:
    producer = ProducerProcess(producer_spec(broker, "process-none", 1))
    assert producer.close() is None
    assert sum(end_offsets(broker.address, "process-none").values()) == 0


def test_errors_are_raised_in_the_parent(broker: Broker) -> None:
    producer = ProducerProcess(producer_spec(broker, "process-bad", 1, name="bid"))
    with pytest.raises(InvalidInput, match="no kind of events is named 'bid'"):
        producer.start(time.time())
    producer.close()


def test_a_killed_process_is_an_error(broker: Broker) -> None:
    producer = ProducerProcess(producer_spec(broker, "process-killed", 3600))
    producer.start(time.time())
    producer._process.kill()
    producer._process.join()
    with pytest.raises(EnvironmentMissing, match=r"the producer process ended before its workload \(exit -9\)"):
        _poll_forever(producer)
    producer.close()


def _poll_forever(producer: ProducerProcess) -> None:
    while True:
        producer.poll()
