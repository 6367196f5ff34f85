import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.jobs import events
from tidegate.kafka import Broker, Load, Progress, Target, create, produce
from tidegate.workloads import Constant, Steps

pytestmark = pytest.mark.kafka


def test_records_are_the_events_in_order_with_number_and_time(broker: Broker, everything: Any) -> None:
    kind, partitions = events("bids", seed=7, rate=1000), create(broker.address, "bids", 3)
    # 1 s at 1000/s, 1 s of nothing, 1 s at 500/s: 1500 records
    load = Load(kind, Steps(3, levels=(1000, 0, 500)))
    made = produce(load, Target(broker.address, "bids", partitions))
    assert (made.sent, made.acknowledged, made.failed, made.complete, made.error) == (1500, 1500, 0, True, None)
    found = everything(broker.address, "bids")
    assert sorted(read.key for read in found) == list(range(1500))
    for part in range(3):
        assert [read.key for read in found if read.partition == part] == list(range(part, 1500, 3))
    prices = kind.make(np.arange(1500))["price"].to_pylist()
    assert all(json.loads(read.value)["price"] == prices[read.key] for read in found)
    expected = [int(1000 * (made.start + load.workload.created(i))) for i in range(1500)]
    assert all(read.timestamp == expected[read.key] for read in found)
    # the 1001st is the first of the last second, 2 ms into it
    assert expected[1000] - expected[999] == pytest.approx(1002, abs=1)


def test_text_is_sent_as_it_is(broker: Broker, everything: Any) -> None:
    kind = events("ysb", seed=1, rate=100)
    made = produce(
        Load(kind, Constant(0.5, level=100)), Target(broker.address, "ads", create(broker.address, "ads", 1))
    )
    assert made.acknowledged == 50
    texts = kind.make(np.arange(50))["value"].to_pylist()
    assert [read.value for read in everything(broker.address, "ads")] == texts


def test_it_can_be_stopped_and_tells_what_it_did(broker: Broker, everything: Any) -> None:
    stop, seen = threading.Event(), list[Progress]()

    def tell(now: Progress) -> None:
        seen.append(now)
        if now.acknowledged >= 200:
            stop.set()

    partitions = create(broker.address, "stopped", 2)
    load = Load(events("numbers", seed=0, rate=1), Constant(3600, level=1000))
    made = produce(load, Target(broker.address, "stopped", partitions), stop=stop, tell=tell)
    assert 200 <= made.acknowledged == made.sent < 3_600_000
    assert not made.complete
    assert seen[-1].acknowledged == made.acknowledged
    assert len(everything(broker.address, "stopped")) == made.sent


def test_a_late_start_is_caught_up_with(broker: Broker, everything: Any) -> None:
    partitions = create(broker.address, "late", 2)
    # begun long ago: all 3000 records are due at once, and none is younger than its workload
    load = Load(events("numbers", seed=0, rate=1), Constant(3, level=1000), start=1_000_000_000.0)
    made = produce(load, Target(broker.address, "late", partitions))
    assert made.complete
    assert made.behind > 3600
    found = everything(broker.address, "late")
    assert max(read.timestamp for read in found) == 1_000_000_003_000


def test_a_topic_that_is_missing_is_told_before_anything_is_sent(broker: Broker) -> None:
    load = Load(events("numbers", seed=0, rate=1), Constant(1, level=1))
    with pytest.raises(InvalidInput, match="no topic is named 'nowhere'"):
        produce(load, Target(broker.address, "nowhere", 1))


def test_more_partitions_than_the_topic_has_are_refused(broker: Broker) -> None:
    load = Load(events("numbers", seed=0, rate=1), Constant(1, level=1))
    with pytest.raises(InvalidInput, match="topic narrow has 2 partitions, cannot send to 3"):
        produce(load, Target(broker.address, "narrow", create(broker.address, "narrow", 2) + 1))


def test_a_broker_killed_in_the_middle_loses_nothing_and_gets_nothing_twice(tmp_path: Path, everything: Any) -> None:
    with Broker(tmp_path / "kafka") as broker:
        partitions = create(broker.address, "events", 3)
        first = broker.pid
        killed = threading.Event()

        def tell(now: Progress) -> None:
            if now.acknowledged >= 20_000 and not killed.is_set():
                killed.set()
                # without waiting for what is under way: some records are written and not acknowledged
                broker.kill()
                threading.Thread(target=broker.start).start()

        load = Load(events("bids", seed=1, rate=20_000), Constant(4, level=20_000))
        made = produce(load, Target(broker.address, "events", partitions), tell=tell)
        assert killed.is_set()
        assert broker.pid != first
        assert (made.acknowledged, made.failed, made.complete) == (80_000, 0, True)
        found = everything(broker.address, "events")
    counted = Counter(read.key for read in found)
    assert (len(found), len(counted)) == (80_000, 80_000)
    for part in range(3):
        assert [read.key for read in found if read.partition == part] == list(range(part, 80_000, 3))
