"""A producer that follows a workload: record *i* is the *i*-th event, sent when the workload offers it.

The same events as from the embedded source. A record's key is its number, 8 bytes, the highest first; its partition is
the number modulo the partitions, so order within a partition is order of numbers; its timestamp is when it was
offered, in whole milliseconds. Nothing is sent twice (the producer is idempotent) and nothing is given up: while the
broker is away records wait here, and then, as memory is bounded, the producer itself does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.jobs import Events
from tidegate.kafka.client import client, settings
from tidegate.kafka.lines import json_lines
from tidegate.kafka.topics import TIMEOUT, require
from tidegate.workloads import Shape

#: seconds of the workload that are sent at once, and between two looks at the clock
SLICE, TICK = 0.05, 0.02
#: seconds that a producer which was stopped has for what it had sent
FAREWELL = 10.0
#: seconds in which a new client gets its producer id, asking again after half a second
READY = 0.7


@dataclass(frozen=True, slots=True)
class Load:
    """What to send: `start` is the epoch time of the workload's beginning; now, if not given."""

    kind: Events
    workload: Shape
    start: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send it; the topic must be there with so many partitions (`topics.create` tells)."""

    bootstrap: str
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Progress:
    """`behind`: for how long the oldest record that was offered and is not acknowledged has been waiting, s."""

    time: float
    offered: int
    sent: int
    acknowledged: int
    failed: int
    behind: float


@dataclass(frozen=True, slots=True)
class Produced:
    """`behind` is the most it was at any time; `complete` where all the workload has was acknowledged."""

    start: float
    seconds: float
    sent: int
    acknowledged: int
    failed: int
    behind: float
    complete: bool
    #: of the first record that failed
    error: str | None = None


Tell = Callable[[Progress], None]


def produce(load: Load, target: Target, *, stop: threading.Event | None = None, tell: Tell | None = None) -> Produced:
    """Send the whole workload, or until `stop` is set; `tell` hears about every slice, many times a second."""
    return _Run(load, target, stop or threading.Event(), tell).go()


def keys(begin: int, end: int) -> list[bytes]:
    """
    >>> keys(255, 257)
    [b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xff', b'\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x00']
    """
    packed = np.arange(begin, end, dtype=">i8").tobytes()
    return [packed[at : at + 8] for at in range(0, len(packed), 8)]


def values(kind: Events, begin: int, end: int) -> list[bytes]:
    """Events as JSON text in UTF-8."""
    batch = kind.make(np.arange(begin, end, dtype=np.int64))
    text: pa.Array = batch["value"] if kind.text else json_lines(batch)
    found: list[bytes] = text.cast(pa.binary()).to_pylist()
    return found


class _Run:
    def __init__(self, load: Load, target: Target, stop: threading.Event, tell: Tell | None) -> None:
        self._load, self._target, self._stop, self._tell = load, target, stop, tell
        self._kafka = client()
        self._producer: Any = self._kafka.Producer(_settings(target.bootstrap, self._failure))
        if target.partitions > (found := require(target.bootstrap, target.topic)):
            raise InvalidInput(f"topic {target.topic} has {found} partitions, cannot send to {target.partitions}")
        self._prepare()
        self._start = time.time() if load.start is None else load.start
        # the wall clock may be set while we run; it is read once
        self._zero = time.monotonic() - (time.time() - self._start)
        self._sent = self._failed = 0
        self._behind = 0.0
        self._error: str | None = None

    def _prepare(self) -> None:
        """Before the clock starts, as far as there is time: connect, get a producer id, make what events look up."""
        values(self._load.kind, 0, 1)
        self._producer.list_topics(self._target.topic, TIMEOUT)
        start = self._load.start
        self._producer.poll(READY if start is None else min(READY, max(0.0, start - time.time())))

    def go(self) -> Produced:
        workload, at = self._load.workload, 0.0
        while at < workload.duration and not self._stop.is_set():
            now = self._now()
            edge = min(now, at + SLICE, workload.duration)
            if edge > at:
                self._send(workload.total(edge))
                at = edge
            self._producer.poll(0)
            self._watch()
            if edge >= now:
                self._stop.wait(TICK)
        self._drain()
        return self._result()

    def _now(self) -> float:
        return time.monotonic() - self._zero

    def _send(self, end: int) -> None:
        """All records up to number `end`, or those before the run was stopped."""
        begin, load = self._sent, self._load
        if end <= begin:
            return
        created = self._start + load.workload.created_all(np.arange(begin, end))
        stamps = (1000 * created).astype(np.int64).tolist()
        for record in zip(values(load.kind, begin, end), keys(begin, end), stamps, strict=True):
            if not self._queue(*record):
                return
            self._sent += 1

    def _queue(self, value: bytes, key: bytes, stamp: int) -> bool:
        while True:
            try:
                part = self._sent % self._target.partitions
                self._producer.produce(self._target.topic, value, key, part, timestamp=stamp)
            except BufferError:
                if not self._room():
                    return False
            except self._kafka.KafkaException as error:
                raise EnvironmentMissing(self._sentence(error.args[0])) from None
            else:
                return True

    def _room(self) -> bool:
        """Wait a little for the broker to take something; False where the run is to end."""
        self._producer.poll(0.1)
        self._watch()
        return not self._stop.is_set()

    def _drain(self) -> None:
        """Until all is acknowledged, however long the broker is away; once stopped, not for long."""
        while len(self._producer) and not self._stop.is_set():
            self._producer.flush(0.1)
            self._watch()
        self._producer.flush(FAREWELL)
        self._watch()

    def _acknowledged(self) -> int:
        # of those that wait, len() counts a few events of the client too
        return max(0, self._sent - self._failed - len(self._producer))

    def _watch(self) -> None:
        now, workload = self._now(), self._load.workload
        offered, settled = workload.total(now), self._acknowledged() + self._failed
        behind = max(0.0, now - workload.created(settled)) if settled < offered else 0.0
        self._behind = max(self._behind, behind)
        if self._tell:
            self._tell(Progress(now, offered, self._sent, self._acknowledged(), self._failed, behind))

    def _failure(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed += 1
            self._error = self._error or self._sentence(error)

    def _sentence(self, error: Any) -> str:
        return f"topic {self._target.topic!r} at {self._target.bootstrap} did not take a record: {error.str()}"

    def _result(self) -> Produced:
        done = self._acknowledged()
        whole = self._load.workload.total(self._load.workload.duration)
        return Produced(
            start=self._start,
            seconds=self._now(),
            sent=self._sent,
            acknowledged=done,
            failed=self._failed,
            behind=self._behind,
            complete=done == whole,
            error=self._error,
        )


def _settings(bootstrap: str, failure: Callable[[Any, Any], None]) -> dict[str, Any]:
    chosen = {
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 20,
        "batch.size": 1_000_000,
        # seconds of a high rate wait here while the broker is away, in at most 256 MB; then the producer waits
        "queue.buffering.max.messages": 300_000,
        "queue.buffering.max.kbytes": 262_144,
        # a record is never given up: 0 is for ever
        "message.timeout.ms": 0,
        "reconnect.backoff.max.ms": 1000,
        # what was taken is counted by what no longer waits: a call for every record would cost more than sending it
        "delivery.report.only.error": True,
        "on_delivery": failure,
    }
    return settings(bootstrap, chosen)
