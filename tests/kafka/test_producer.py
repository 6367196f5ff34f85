import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.jobs import events
from tidegate.kafka import Broker, Load, Progress, Target, create_topic, produce
from tidegate.workloads import Constant, Steps

pytestmark = pytest.mark.kafka


def test_records_are_the_events_in_order_with_number_and_time(broker: Broker, everything: Any) -> None:
    kind, partitions = events("bids", seed=7, rate=1000), create_topic(broker.address, "bids", 3)
    # 1 s at 1000/s, 1 s of silence, 1 s at 500/s: 1500 records
    load = Load(kind, Steps(3, levels=(1000, 0, 500)))
    result = produce(load, Target(broker.address, "bids", partitions))
    assert (result.sent, result.acknowledged, result.failed) == (1500, 1500, 0)
    assert (result.complete, result.error) == (True, None)
    records = everything(broker.address, "bids")
    assert sorted(record.key for record in records) == list(range(1500))
    for partition in range(3):
        assert [record.key for record in records if record.partition == partition] == list(range(partition, 1500, 3))
    prices = kind.make(np.arange(1500))["price"].to_pylist()
    assert all(json.loads(record.value)["price"] == prices[record.key] for record in records)
    expected = [int(1000 * (result.start + load.workload.created(i))) for i in range(1500)]
    assert all(record.timestamp == expected[record.key] for record in records)
    # the 1001st is the first of the last second, 2 ms into it
    assert expected[1000] - expected[999] == pytest.approx(1002, abs=1)


def test_json_events_are_sent_unchanged(broker: Broker, everything: Any) -> None:
    kind = events("ysb", seed=1, rate=100)
    result = produce(
        Load(kind, Constant(0.5, level=100)), Target(broker.address, "ads", create_topic(broker.address, "ads", 1))
    )
    assert result.acknowledged == 50
    texts = kind.make(np.arange(50))["value"].to_pylist()
    assert [record.value for record in everything(broker.address, "ads")] == texts


def test_it_can_be_stopped_and_returns_its_result(broker: Broker, everything: Any) -> None:
    stop, reports = threading.Event(), list[Progress]()

    def on_progress(progress: Progress) -> None:
        reports.append(progress)
        if progress.acknowledged >= 200:
            stop.set()

    partitions = create_topic(broker.address, "stopped", 2)
    load = Load(events("numbers", seed=0, rate=1), Constant(3600, level=1000))
    result = produce(load, Target(broker.address, "stopped", partitions), stop=stop, on_progress=on_progress)
    assert 200 <= result.acknowledged == result.sent < 3_600_000
    assert not result.complete
    assert reports[-1].acknowledged == result.acknowledged
    assert len(everything(broker.address, "stopped")) == result.sent


def test_it_catches_up_after_a_late_start(broker: Broker, everything: Any) -> None:
    partitions = create_topic(broker.address, "late", 2)
    # started long ago: all 3000 records are due at once, with timestamps of the workload
    load = Load(events("numbers", seed=0, rate=1), Constant(3, level=1000), start=1_000_000_000.0)
    result = produce(load, Target(broker.address, "late", partitions))
    assert result.complete
    assert result.behind > 3600
    records = everything(broker.address, "late")
    assert max(record.timestamp for record in records) == 1_000_000_003_000


def test_a_missing_topic_is_an_error_before_anything_is_sent(broker: Broker) -> None:
    load = Load(events("numbers", seed=0, rate=1), Constant(1, level=1))
    with pytest.raises(InvalidInput, match="no topic is named 'nowhere'"):
        produce(load, Target(broker.address, "nowhere", 1))


def test_more_partitions_than_the_topic_has_are_an_error(broker: Broker) -> None:
    load = Load(events("numbers", seed=0, rate=1), Constant(1, level=1))
    with pytest.raises(InvalidInput, match="topic narrow has 2 partitions, cannot send to 3"):
        produce(load, Target(broker.address, "narrow", create_topic(broker.address, "narrow", 2) + 1))


def test_killing_the_broker_causes_no_losses_and_no_duplicates(tmp_path: Path, everything: Any) -> None:
    with Broker(tmp_path / "kafka") as broker:
        partitions = create_topic(broker.address, "events", 3)
        first = broker.pid
        killed = threading.Event()

        def on_progress(progress: Progress) -> None:
            if progress.acknowledged >= 20_000 and not killed.is_set():
                killed.set()
                # without waiting for requests in flight: some records are written but not acknowledged
                broker.kill()
                threading.Thread(target=broker.start).start()

        load = Load(events("bids", seed=1, rate=20_000), Constant(4, level=20_000))
        result = produce(load, Target(broker.address, "events", partitions), on_progress=on_progress)
        assert killed.is_set()
        assert broker.pid != first
        assert (result.acknowledged, result.failed, result.complete) == (80_000, 0, True)
        records = everything(broker.address, "events")
    counts = Counter(record.key for record in records)
    assert (len(records), len(counts)) == (80_000, 80_000)
    for partition in range(3):
        assert [record.key for record in records if record.partition == partition] == list(range(partition, 80_000, 3))
