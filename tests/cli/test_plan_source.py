"""`tidegate plan --source kafka`: what is refused before Spark is started."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from tidegate.cli.plan_measurements import PlanFolder
from tidegate.experiment.settings import Experiment, Kafka
from tidegate.jobs import events
from tidegate.kafka import Broker, create_topic
from tidegate.kafka.client import settings
from tidegate.kafka.producer import values

Command = Callable[..., Any]
KAFKA = ("--source", "kafka", "--bootstrap", "127.0.0.1:9", "--topic", "ads")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--source", "kafak"], "no source is named 'kafak'; did you mean 'kafka'?"),
        (["--topic", "ads"], "--bootstrap, --topic, --records and --kafka-… are for --source kafka"),
        (["--source", "kafka", "--topic", "ads"], "plan: --source kafka needs --bootstrap"),
        (["--source", "kafka", "--bootstrap", "a:1"], "plan: --source kafka needs --topic"),
        ([*KAFKA, "--engine", "sim"], "--source kafka is for --engine spark"),
        ([*KAFKA, "--app", "q.py", "--sample", "x.parquet"], "the records are those of 'ads', got --sample x.parquet"),
        ([*KAFKA, "--app", "q.py"], "plan: --app q.py needs --event-time"),
        ([*KAFKA, "--job", "ysb", "--event-time", "at"], "--event-time are for --app, job ysb knows its fields"),
        ([*KAFKA, "--job", "q8"], "those of job q8 (nexmark) have times inside of other fields"),
        ([*KAFKA, "--job", "q99"], "no job is named 'q99'"),
        ([*KAFKA, "--job", "ysb", "--kafka-option", "acks=0"], "Kafka option acks cannot be set"),
    ],
)
def test_what_is_wrong_with_a_request(tidegate: Command, words: list[str], sentence: str) -> None:
    ended = tidegate("plan", "--rate", "50k", *words)
    assert ended.code == 2
    assert sentence in ended.err.replace("\n", " ")


@pytest.mark.kafka
def test_what_is_wrong_with_a_topic(tidegate: Command, broker: Broker) -> None:
    ysb = values(events("ysb", seed=0, rate=100.0), 0, 3)
    without = {name: value for name, value in json.loads(ysb[0]).items() if name != "ad_id"}
    for topic, records, sentence in (
        ("plan-none", None, "no topic is named 'plan-none'"),
        ("plan-empty", [], "topic 'plan-empty' at"),
        ("plan-text", [*ysb, b"hello"], "partition 0, offset 3: need a JSON object, got 'hello'"),
        ("plan-lack", [json.dumps(without).encode()], "the job needs the field 'ad_id' in each record, they have user"),
    ):
        if records is not None:
            create_topic(broker.address, topic, 1)
            producer = confluent_kafka.Producer(settings(broker.address))
            for value in records:
                producer.produce(topic, value, partition=0)
            assert producer.flush(60) == 0
        ended = tidegate(
            "plan", "--job", "ysb", "--rate", "50k", "--source", "kafka", "--bootstrap", broker.address,
            "--topic", topic,
        )  # fmt: skip
        assert ended.code == 2
        assert sentence in ended.err.replace("\n", " ")


def test_measurements_are_of_a_topic_and_its_offsets_wherever_the_broker_is(tmp_path: Path) -> None:
    def folder(bootstrap: str, recording: str) -> Path:
        e = Experiment(job="ysb", kafka=Kafka(bootstrap, "ads", produce=False, recording=recording))
        return PlanFolder(e, tmp_path).path

    first = folder("a:1", "/x/ads-0a1b.parquet?time=event_time")
    assert folder("b:2", "/y/ads-0a1b.parquet?time=event_time") == first
    assert folder("a:1", "/x/ads-2c3d.parquet?time=event_time") != first
    embedded = Experiment(job="ysb")
    assert PlanFolder(embedded, tmp_path).path != first
    assert PlanFolder(replace(embedded, kafka=None), tmp_path).path == PlanFolder(embedded, tmp_path).path
