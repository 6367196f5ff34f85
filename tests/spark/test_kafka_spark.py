"""Runs through a real Kafka broker: results in a topic, rows that are no records, a broker that goes and comes back."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.experiment import Experiment, Kafka
from tidegate.kafka import Broker, create_topic, end_offsets
from tidegate.kafka.client import settings
from tidegate.runner import Outcome, run
from tidegate.runs import encode
from tidegate.store import Store

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
Eventually = Callable[..., None]


class Played:
    """A run in a thread of its own, so that a test can do things to it."""

    def __init__(self, experiment: Experiment, db: Path) -> None:
        self.said: list[str] = []
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self._work = threading.Thread(target=self._play, args=(experiment, db))
        self._work.start()

    def _play(self, experiment: Experiment, db: Path) -> None:
        try:
            with Store.open(db) as store:
                self.outcome = run(experiment, store, self.said.append)
        except BaseException as error:
            self.error = error

    def heard(self, words: str) -> bool:
        return any(words in message for message in self.said) or not self._work.is_alive()

    def result(self) -> dict[str, Any]:
        self._work.join()
        if self.error:
            raise self.error
        assert self.outcome
        assert self.outcome.result
        return encode(self.outcome.result)


def send(bootstrap: str, topic: str, values: list[bytes]) -> None:
    producer = confluent_kafka.Producer(settings(bootstrap))
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(300) == 0


def read(bootstrap: str, topic: str) -> Iterator[confluent_kafka.Message]:
    """All of a topic with one partition."""
    wanted = end_offsets(bootstrap, topic)[0]
    consumer = confluent_kafka.Consumer(settings(bootstrap, {"group.id": "test", "enable.auto.commit": False}))
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    yield from consumer.consume(wanted, 300)
    consumer.close()


#: no JSON, a cut record, a value of a wrong type, a field missing, nothing at all
BAD = [b"tide", b'{"user_id":"u","page_', b'{"ad_id":[1]}', b'{"user_id":"u","page_id":"p"}', b"", b"null"]


def test_a_result_goes_to_a_topic_and_what_is_no_record_goes_aside(
    broker: Broker, tmp_path: Path, eventually: Eventually
) -> None:
    ysb = Experiment(
        job="ysb",
        workload="constant",
        policy="static",
        duration=15,
        peak=5_000,
        maximum=1,
        trigger=2,
        partitions=3,
        drain=900,
        kafka=Kafka(broker.address, "ads", sink="views"),
    )
    played = Played(ysb, tmp_path / "runs.db")
    eventually(lambda: played.heard("ysb under constant"))
    send(broker.address, "ads", BAD)
    result = played.result()
    assert result["verified"] is True
    kafka = result["kafka"]
    # 15 s * 5,000/s, and none of it twice or missing
    assert (kafka["produced"], kafka["duplicates"], kafka["losses"], kafka["malformed"]) == (75_000, 0, 0, len(BAD))
    assert kafka["read"] == result["processed"] == 75_000 + len(BAD)
    # event time runs 15 s: the window that ends at 10 s is closed, one row for each of 100 campaigns
    assert (result["sink"]["rows"], result["sink"]["duplicates"], result["sink"]["losses"]) == (100, 0, 0)
    assert 0 < result["latency"]["p50"] <= result["latency"]["p99"] <= result["latency"]["max"]
    letters = list(read(broker.address, "ads.malformed"))
    assert sorted(letter.value() or b"" for letter in letters) == sorted(BAD)
    for letter in letters:
        assert dict(letter.headers() or ())["tidegate-topic"] == b"ads"
    assert any("6 rows of 'ads' are no records" in message for message in played.said)


def test_a_broker_that_comes_late_and_is_killed_in_the_middle_costs_time_and_no_records(
    broker: Broker, tmp_path: Path, eventually: Eventually
) -> None:
    own = Broker(tmp_path / "kafka")
    q1 = Experiment(
        job="q1",
        workload="constant",
        policy="static",
        duration=26,
        peak=2_000,
        maximum=1,
        trigger=2,
        partitions=2,
        drain=900,
        kafka=Kafka(own.address, "bids", patience=600),
    )
    try:
        played = Played(q1, tmp_path / "runs.db")
        eventually(lambda: played.heard("waiting for the Kafka broker"))
        own.start()
        eventually(lambda: played.heard("q1 under constant"))
        time.sleep(8)
        own.kill()
        eventually(lambda: played.heard("does not answer: the query waits for it"))
        own.start()
        result = played.result()
    finally:
        own.close()
    assert result["verified"] is True
    # 26 s * 2,000/s
    assert (result["kafka"]["produced"], result["kafka"]["duplicates"], result["kafka"]["losses"]) == (52_000, 0, 0)
    assert result["processed"] == 52_000


def test_a_topic_that_is_not_there_is_told_before_spark_is_started(broker: Broker, tmp_path: Path) -> None:
    create_topic(broker.address, "orders", 1)
    foreign = Experiment(kafka=Kafka(broker.address, "order", produce=False))
    with pytest.raises(InvalidInput, match=r"no topic is named 'order' at .*: did you mean 'orders'\?"):
        Played(foreign, tmp_path / "runs.db").result()


def test_a_broker_that_never_comes_is_told(tmp_path: Path) -> None:
    nobody = Experiment(kafka=Kafka("127.0.0.1:9", "bids", patience=1))
    with pytest.raises(EnvironmentMissing, match=r"no Kafka broker answered at 127\.0\.0\.1:9 within 1 s"):
        Played(nobody, tmp_path / "runs.db").result()


def test_records_of_somebody_else_are_read_as_they_come(broker: Broker, tmp_path: Path, eventually: Eventually) -> None:
    bid = {"auction": 246, "bidder": 1, "price": 100, "dateTime": "2026-01-01T00:00:00Z"}
    for seconds in (6, 60, 300):  # nobody says when a stranger's records end: a slow machine needs a longer run
        topic, sink = f"foreign-{seconds}", f"found-{seconds}"
        create_topic(broker.address, topic, 1)
        send(broker.address, topic, [json.dumps(bid).encode()])  # before the run: none of its business
        q2 = Experiment(
            job="q2",
            policy="static",
            duration=seconds,
            peak=1_000,
            maximum=1,
            trigger=1,
            partitions=2,
            kafka=Kafka(broker.address, topic, produce=False, sink=sink),
        )
        played = Played(q2, tmp_path / "runs.db")
        eventually(lambda played=played: played.heard("q2 under"))
        send(broker.address, topic, [json.dumps({**bid, "auction": n}).encode() for n in range(240, 250)])
        result = played.result()
        if result["processed"]:
            break
    assert (result["offered"], result["processed"], result["verified"]) == (None, 10, True)
    assert (result["kafka"]["read"], result["kafka"]["produced"], result["sink"]["rows"]) == (10, None, 1)
    rows = [part for k in range(2) if (part := end_offsets(broker.address, sink)[k])]
    assert rows == [1]  # auction 246 = 2 * 123
