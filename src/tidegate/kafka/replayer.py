"""A recorded topic, sent again at a rate that can change at any time, into a topic of its own that is deleted then.

Record *i* is row *i mod n* of the recording at an emulated time (`jobs.sample`). The user's topic is only read, and
only once: the recording is a file.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.core import EnvironmentMissing
from tidegate.jobs import Events, Sample, Sampled
from tidegate.kafka.process import ProducerProcess
from tidegate.kafka.producer import Progress, Target
from tidegate.kafka.topics import RecordRemover, create_topic, delete_topic
from tidegate.planner.estimator.phases import Supply
from tidegate.workloads import Constant, Shape

#: between the name of the recorded topic and an id
INFIX = ".tidegate-replay-"
#: characters of a topic's name that Kafka takes
LONGEST = 249
#: of the replay topic: small segments, as only whole ones are removed; an hour, should nobody delete the topic
CONFIG = {"segment.bytes": str(64 << 20), "retention.ms": "3600000", "cleanup.policy": "delete"}
#: seconds between two removals of records that were read
REMOVAL = 10.0
#: progress reports that are kept: some minutes
KEPT = 4000
#: share of a rate that may be missing, and seconds by which a producer that keeps up may be behind
MISSING, BEHIND = 0.01, 0.25
#: nothing is sent before the first offer
NOTHING = Constant(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """What to send where: rows of a sample, with event times that advance at `rate` records per second."""

    sample: Sample
    rate: float
    target: Target
    open: bool = True

    def kind(self) -> Events:
        return Sampled(self.sample, self.rate)

    def load(self) -> Shape:
        return NOTHING


def replay_topic(topic: str) -> str:
    """A new name for the topic of a replay.

    >>> replay_topic("ads")[:20], len(replay_topic("a" * 249))
    ('ads.tidegate-replay-', 249)
    """
    ending = f"{INFIX}{uuid.uuid4().hex[:12]}"
    return topic[: LONGEST - len(ending)] + ending


class Replayer:
    """The topic `target`, and a process that fills it from `start` to `close`."""

    def __init__(self, sample: Sample, rate: float, target: Target) -> None:
        self.target = target
        create_topic(target.bootstrap, target.topic, target.partitions, target.options, CONFIG)
        self._remover = RecordRemover(target.bootstrap, target.topic, target.options)
        self._removed = time.monotonic()
        self._history = SupplyHistory()
        self._producer = ProducerProcess(ReplayOrder(sample, rate, target))

    def start(self) -> None:
        self._history.start = time.time()
        self._producer.start(self._history.start)

    def offer(self, load: Shape, since: float) -> None:
        self._note()
        self._producer.offer(load, since)

    def remove(self, offsets: Mapping[int, int]) -> None:
        """Remove the records below these offsets, from time to time: a search would fill a disk."""
        self._note()
        if time.monotonic() - self._removed >= REMOVAL:
            self._removed = time.monotonic()
            self._remover.remove(offsets)

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        """What was made available between two epoch times, in which `rate` was asked for."""
        self._note()
        return self._history.supplied(rate, begin, end)

    def _note(self) -> None:
        self._producer.poll(self._history.note)

    def close(self) -> None:
        """Stop sending, and delete the topic."""
        self._producer.close()
        delete_topic(self.target.bootstrap, self.target.topic, self.target.options)


@dataclass(slots=True)
class SupplyHistory:
    """The progress of a producer over time.

    >>> history = SupplyHistory(start=1000.0)
    >>> for k in range(11):  # 900 of 1,000 records a second
    ...     history.note(Progress(float(k), 1000 * k, 900 * k, 900 * k, 0, 0.1 * k))
    >>> history.supplied(1000.0, 1002.0, 1010.0), history.supplied(900.0, 1002.0, 1010.0)
    (Supply(rate=900.0, able=False), Supply(rate=900.0, able=True))
    """

    start: float = 0.0
    _reports: deque[Progress] = field(default_factory=lambda: deque(maxlen=KEPT))

    def note(self, progress: Progress) -> None:
        if progress.failed:
            raise EnvironmentMissing(f"the replay topic rejected {progress.failed:,} records")
        self._reports.append(progress)

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        """None if there are not two reports of that time. A producer that lost time, but made up for it, was able."""
        inside = [report for report in self._reports if begin <= self.start + report.time <= end]
        if len(inside) < 2 or inside[-1].time <= inside[0].time:
            return None
        first, last = inside[0], inside[-1]
        made = (last.acknowledged - first.acknowledged) / (last.time - first.time)
        return Supply(made, able=made >= (1 - MISSING) * rate or last.behind <= BEHIND)
