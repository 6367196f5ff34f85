"""Workloads that replace each other under a producer, and what it supplied, without a broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from tidegate.core import EnvironmentMissing
from tidegate.kafka import producer
from tidegate.kafka.producer import Load, Offer, Offers, Progress, Target, produce
from tidegate.kafka.replayer import NOTHING, Supply, SupplyHistory
from tidegate.workloads import Constant

TARGET = Target("127.0.0.1:9", "ads.tidegate-replay-1", 2)


class Sent(NamedTuple):
    value: bytes
    key: int
    partition: int
    timestamp: int


class FakeClient:
    """Takes records and acknowledges them at once."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    def produce(self, topic: str, value: bytes, key: bytes, partition: int, timestamp: int) -> None:
        assert topic == TARGET.topic
        self.sent.append(Sent(value, int.from_bytes(key, "big"), partition, timestamp))

    def list_topics(self, topic: str, timeout: float) -> None: ...
    def poll(self, timeout: float) -> None: ...
    def flush(self, timeout: float) -> None: ...
    def __len__(self) -> int:
        return 0


class Squares:
    schema, text = "value bigint", False

    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"value": pa.array(records**2)})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    made = FakeClient()
    module = SimpleNamespace(Producer=None, KafkaException=OSError)
    monkeypatch.setattr(producer, "load_client", lambda: module)
    monkeypatch.setattr(producer, "make", lambda *_: made)
    monkeypatch.setattr(producer, "topic_partitions", lambda *_: TARGET.partitions)
    return made


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.005)


def test_another_load_begins_after_the_records_that_were_sent(client: FakeClient) -> None:
    offers: Offers = SimpleQueue()
    stop, start = threading.Event(), time.time()
    work = threading.Thread(
        target=produce, args=(Load(Squares(), NOTHING, start), TARGET), kwargs={"stop": stop, "offers": offers}
    )
    work.start()
    offers.put(Offer(start, Constant(0.1, level=1000.0)))
    until(lambda: len(client.sent) >= 100)
    # it has ended, but the producer has not
    second = start + 1.0
    offers.put(Offer(second, Constant(0.1, level=5000.0)))
    until(lambda: len(client.sent) >= 600)
    stop.set()
    work.join()
    assert [record.key for record in client.sent] == list(range(600))
    assert client.sent[599].value == b'{"value":358801}'  # 599 * 599
    assert [record.partition for record in client.sent[:3]] == [0, 1, 0]
    # record 100 is the first of 5,000 a second, due 0.2 ms after its load began
    assert client.sent[100].timestamp - 1000 * second == pytest.approx(0.2, abs=1.0)


def test_what_could_not_be_sent_in_time_is_not_made_up_for(client: FakeClient) -> None:
    offers: Offers = SimpleQueue()
    start = time.time()
    run = producer._Run(Load(Squares(), Constant(3600.0, 1e6), start - 60.0), TARGET, threading.Event(), None, offers)
    run._send(10)
    offers.put(Offer(start - 5.0, Constant(10.0, 7.0)))
    offers.put(Offer(start, Constant(10.0, 100.0)))
    assert run._take_offer()
    assert not run._take_offer()
    run._send(run._base + 20)
    assert [record.key for record in client.sent] == list(range(30))


def progress(second: float, acknowledged: int, behind: float = 0.0, failed: int = 0) -> Progress:
    return Progress(second, acknowledged, acknowledged, acknowledged, failed, behind)


def test_a_source_that_lost_time_but_made_up_for_it_was_able() -> None:
    history = SupplyHistory(start=100.0)
    for report in (progress(0.0, 0), progress(1.0, 500, 0.5), progress(2.0, 1900, 0.1)):
        history.note(report)
    assert history.supplied(1000.0, 100.0, 102.0) == Supply(950.0, able=True)
    assert history.supplied(1000.0, 100.0, 101.5) == Supply(500.0, able=False)
    assert history.supplied(1000.0, 101.9, 102.0) is None


def test_a_topic_that_rejects_records_is_an_error() -> None:
    with pytest.raises(EnvironmentMissing, match="rejected 2 records"):
        SupplyHistory().note(progress(1.0, 10, failed=2))
