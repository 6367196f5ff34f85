"""The feed of a replay: its load, its limits and the records that are no longer needed."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.planner.estimator.phases import Supply
from tidegate.sources.feeds import Changeable, Limited
from tidegate.sources.kafka_topic import Topic
from tidegate.sources.replayed import Replayed
from tidegate.workloads import Constant, Shape


class Remembering:
    def __init__(self) -> None:
        self.loads: list[tuple[Shape, float]] = []
        self.removed: list[Mapping[int, int]] = []
        self.supply: Supply | None = None
        self.closed = False

    def start(self) -> None: ...

    def offer(self, load: Shape, since: float) -> None:
        self.loads.append((load, since))

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        return self.supply

    def remove(self, offsets: Mapping[int, int]) -> None:
        self.removed.append(offsets)

    def close(self) -> None:
        self.closed = True


def feed(replay: Remembering) -> Replayed:
    return Replayed(replay, Topic("a:1", "ads.tidegate-replay-1", "ad_id string"), 2, limit=8000, trigger=4.0)


def test_a_load_is_handed_on() -> None:
    replay = Remembering()
    made = feed(replay)
    assert isinstance(made, Changeable)
    assert isinstance(made, Limited)
    made.offer(Constant(60.0, 100.0), 1000.0)
    made.close()
    assert replay.loads == [(Constant(60.0, 100.0), 1000.0)]
    assert replay.closed


def test_records_below_the_last_batch_are_removed() -> None:
    replay = Remembering()
    made, name = feed(replay), "ads.tidegate-replay-1"
    made.report({"sources": [{"startOffset": None, "endOffset": {name: {"0": 5, "1": 4}}}]})
    made.report({"sources": [{"startOffset": {name: {"0": 5, "1": 4}}, "endOffset": {name: {"0": 9, "1": 9}}}]})
    # a batch that runs again needs its own
    assert replay.removed == [{0: 0, 1: 0}, {0: 5, 1: 4}]
    assert made.end == {0: 9, 1: 9}


def test_no_more_than_the_limit_of_a_batch_is_made_available() -> None:
    replay = Remembering()
    made = feed(replay)
    assert made.supplied(5000.0, 0.0, 30.0) is None
    replay.supply = Supply(1990.0, able=True)
    assert made.supplied(2000.0, 0.0, 30.0) == Supply(1990.0, able=True)
    # 8,000 records every 4 s
    replay.supply = Supply(3000.0, able=True)
    assert made.supplied(3000.0, 0.0, 30.0) == Supply(2000.0, able=False)
