"""A producer that follows a workload: record *i* is the *i*-th event, sent when the workload offers it.

Events are the same as from the embedded source. The key of a record is its number (8 bytes, big-endian), its partition
is the number modulo the number of partitions, so partitions are ordered by number, and its timestamp is the time at
which it was offered, in milliseconds. The producer is idempotent and never drops a record: while the broker is
unreachable records are buffered, and when the buffer is full the producer blocks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.jobs import Events
from tidegate.kafka.client import load_client, make, settings
from tidegate.kafka.lines import json_lines
from tidegate.kafka.options import Options
from tidegate.kafka.topics import TIMEOUT, topic_partitions
from tidegate.workloads import Shape

#: seconds of the workload per slice, and between two slices
SLICE, TICK = 0.05, 0.02
#: timeout for flushing after a stop, s
FLUSH_TIMEOUT = 10.0
#: seconds in which a new client gets its producer id, including a retry after half a second
WARM_UP = 0.7


@dataclass(frozen=True, slots=True)
class Load:
    """What to send. `start` is the epoch time at which the workload starts; None: now."""

    kind: Events
    workload: Shape
    start: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send it. The topic must exist with at least `partitions` partitions; see `topics.create_topic`."""

    bootstrap: str
    topic: str
    partitions: int
    #: the user's for Kafka's clients; they may have secrets
    options: Options = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a producer. `behind` is the age of the oldest offered record that is not acknowledged, s."""

    time: float
    offered: int
    sent: int
    acknowledged: int
    failed: int
    behind: float


@dataclass(frozen=True, slots=True)
class ProducerResult:
    """`behind` is the maximum over time; `complete` is true if all records of the workload were acknowledged."""

    start: float
    seconds: float
    sent: int
    acknowledged: int
    failed: int
    behind: float
    complete: bool
    #: error of the first record that failed
    error: str | None = None


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Offer:
    """Another workload from `since` (epoch seconds) on, starting at its beginning, instead of the current one.

    It begins after the records that were sent: what the current one offered, but the producer could not send in time,
    is not made up for.
    """

    since: float
    workload: Shape


#: offers to a producer that runs until it is stopped
Offers = SimpleQueue[Offer]


def produce(
    load: Load,
    target: Target,
    *,
    stop: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    offers: Offers | None = None,
) -> ProducerResult:
    """Send the workload until it ends or `stop` is set. `on_progress` is called many times per second.

    With `offers` other workloads may follow, and only `stop` ends it.
    """
    return _Run(load, target, stop or threading.Event(), on_progress, offers).go()


def keys(begin: int, end: int) -> list[bytes]:
    """
    >>> keys(255, 257)
    [b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xff', b'\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x00']
    """
    packed = np.arange(begin, end, dtype=">i8").tobytes()
    return [packed[offset : offset + 8] for offset in range(0, len(packed), 8)]


def values(kind: Events, begin: int, end: int) -> list[bytes]:
    """Events as JSON text in UTF-8."""
    batch = kind.make(np.arange(begin, end, dtype=np.int64))
    text: pa.Array = batch["value"] if kind.text else json_lines(batch)
    encoded: list[bytes] = text.cast(pa.binary()).to_pylist()
    return encoded


class _Run:
    def __init__(
        self,
        load: Load,
        target: Target,
        stop: threading.Event,
        on_progress: OnProgress | None,
        offers: Offers | None = None,
    ) -> None:
        self._load, self._target, self._stop, self._on_progress = load, target, stop, on_progress
        self._offers = offers
        #: the current workload, the seconds from the start to its own, and the records before it
        self._workload, self._since, self._base = load.workload, 0.0, 0
        self._kafka = load_client()
        self._producer: Any = make(self._kafka.Producer, _settings(target, self._failure), target.options)
        available = topic_partitions(target.bootstrap, target.topic, target.options)
        if target.partitions > available:
            raise InvalidInput(f"topic {target.topic} has {available} partitions, cannot send to {target.partitions}")
        self._prepare()
        self._start = time.time() if load.start is None else load.start
        # the wall clock may be adjusted during the run, so it is read only once
        self._zero = time.monotonic() - (time.time() - self._start)
        self._sent = self._failed = 0
        self._behind = 0.0
        self._error: str | None = None

    def _prepare(self) -> None:
        """Before the start, if there is time: build lookup tables of the events, connect, get a producer id."""
        values(self._load.kind, 0, 1)
        self._producer.list_topics(self._target.topic, TIMEOUT)
        start = self._load.start
        self._producer.poll(WARM_UP if start is None else min(WARM_UP, max(0.0, start - time.time())))

    def go(self) -> ProducerResult:
        sent_until = 0.0
        while not self._stop.is_set() and (self._offers is not None or sent_until < self._workload.duration):
            if self._take_offer():
                sent_until = 0.0
            now = min(self._now() - self._since, self._workload.duration)
            end = min(now, sent_until + SLICE)
            if end > sent_until:
                self._send(self._base + self._workload.total(end))
                sent_until = end
            self._producer.poll(0)
            self._report()
            if end >= now:
                self._stop.wait(TICK)
        self._drain()
        return self._result()

    def _take_offer(self) -> bool:
        """Change to the last workload that was offered, if there is one."""
        offer = None
        while self._offers is not None:
            try:
                offer = self._offers.get_nowait()
            except Empty:
                break
        if offer is not None:
            self._workload, self._since, self._base = offer.workload, offer.since - self._start, self._sent
        return offer is not None

    def _now(self) -> float:
        return time.monotonic() - self._zero

    def _send(self, end: int) -> None:
        """Send all records below number `end`, unless the run is stopped."""
        begin = self._sent
        if end <= begin:
            return
        created = self._start + self._since + self._workload.created_all(np.arange(begin, end) - self._base)
        timestamps = (1000 * created).astype(np.int64).tolist()
        for record in zip(values(self._load.kind, begin, end), keys(begin, end), timestamps, strict=True):
            if not self._queue(*record):
                return
            self._sent += 1

    def _queue(self, value: bytes, key: bytes, timestamp: int) -> bool:
        while True:
            try:
                partition = self._sent % self._target.partitions
                self._producer.produce(self._target.topic, value, key, partition, timestamp=timestamp)
            except BufferError:
                if not self._wait_for_space():
                    return False
            except self._kafka.KafkaException as error:
                raise EnvironmentMissing(self._message(error.args[0])) from None
            else:
                return True

    def _wait_for_space(self) -> bool:
        """Wait briefly for space in the buffer. False if the run was stopped."""
        self._producer.poll(0.1)
        self._report()
        return not self._stop.is_set()

    def _drain(self) -> None:
        """Wait until all records are acknowledged, for as long as it takes; after a stop only briefly."""
        while len(self._producer) and not self._stop.is_set():
            self._producer.flush(0.1)
            self._report()
        self._producer.flush(FLUSH_TIMEOUT)
        self._report()

    def _acknowledged(self) -> int:
        # len() also counts some internal events of the client
        return max(0, self._sent - self._failed - len(self._producer))

    def _report(self) -> None:
        now = self._now()
        current = now - self._since
        offered = self._base + self._workload.total(current)
        processed = self._acknowledged() + self._failed
        oldest = self._workload.created(max(0, processed - self._base))
        behind = max(0.0, current - oldest) if processed < offered else 0.0
        self._behind = max(self._behind, behind)
        if self._on_progress:
            self._on_progress(Progress(now, offered, self._sent, self._acknowledged(), self._failed, behind))

    def _failure(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed += 1
            self._error = self._error or self._message(error)

    def _message(self, error: Any) -> str:
        return f"topic {self._target.topic!r} at {self._target.bootstrap} rejected a record: {error.str()}"

    def _result(self) -> ProducerResult:
        acknowledged = self._acknowledged()
        total = self._base + self._workload.total(self._workload.duration)
        return ProducerResult(
            start=self._start,
            seconds=self._now(),
            sent=self._sent,
            acknowledged=acknowledged,
            failed=self._failed,
            behind=self._behind,
            complete=acknowledged == total,
            error=self._error,
        )


def _settings(target: Target, failure: Callable[[Any, Any], None]) -> dict[str, Any]:
    options = {
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 20,
        "batch.size": 1_000_000,
        # buffer for some seconds without a broker, at most 256 MB; then the producer blocks
        "queue.buffering.max.messages": 300_000,
        "queue.buffering.max.kbytes": 262_144,
        # 0: no timeout, records are never dropped
        "message.timeout.ms": 0,
        "reconnect.backoff.max.ms": 1000,
        # acknowledgements are counted by the length of the queue: a callback per record would cost more than sending it
        "delivery.report.only.error": True,
        "on_delivery": failure,
    }
    return settings(target.bootstrap, options, target.options)
