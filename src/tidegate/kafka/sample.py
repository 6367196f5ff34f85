"""A sample of the records in a topic, read once: what a query of one's own can be tried on without the broker."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.json

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka.client import load_client, make, settings
from tidegate.kafka.options import NONE, Options
from tidegate.kafka.packages import Say, quiet
from tidegate.kafka.topics import begin_offsets, end_offsets

#: seconds without a record after which the broker has none, and between two words about progress
SILENCE, INTERVAL = 30.0, 5.0
#: records per request
CHUNK = 10_000
#: offsets by partition
Ranges = Mapping[int, range]


def read_sample(bootstrap: str, topic: str, records: int, options: Options = NONE, say: Say = quiet) -> pa.Table:
    """The last records of a topic, as many of each partition, in the order of their times. Values are JSON objects."""
    begin, end = begin_offsets(bootstrap, topic, options), end_offsets(bootstrap, topic, options)
    each = -(-records // max(1, len(end)))
    ranges = {partition: range(max(begin[partition], last - each), last) for partition, last in end.items()}
    if not any(ranges.values()):
        raise InvalidInput(f"topic {topic!r} at {bootstrap}: need at least one record for a sample, it has none")
    consumer = _consumer(bootstrap, topic, ranges, options)
    try:
        return _parsed(_values(consumer, ranges, f"topic {topic!r} at {bootstrap}", say), topic)
    finally:
        consumer.close()


def _consumer(bootstrap: str, topic: str, ranges: Ranges, options: Options) -> Any:
    kafka = load_client()
    group = {"group.id": "tidegate-sample", "enable.auto.commit": False}
    consumer = make(kafka.Consumer, settings(bootstrap, group, options), options)
    consumer.assign([kafka.TopicPartition(topic, partition, first.start) for partition, first in ranges.items()])
    return consumer


def _values(consumer: Any, ranges: Ranges, place: str, say: Say) -> list[bytes]:
    read: list[tuple[int, bytes]] = []
    count = sum(map(len, ranges.values()))
    heard = reported = time.monotonic()
    while not _finished(consumer, ranges):
        messages = [message for message in consumer.consume(CHUNK, timeout=1.0) if message.error() is None]
        read += [(m.timestamp()[1], m.value()) for m in messages if m.value() and m.offset() in ranges[m.partition()]]
        now = time.monotonic()
        heard = now if messages else heard
        if now - heard > SILENCE:
            raise EnvironmentMissing(f"{place}: no record arrived for {SILENCE:g} s, after {len(read):,} of {count:,}")
        if now - reported > INTERVAL:
            reported = now
            say(f"{len(read):,} of {count:,} records read")
    return [value for _, value in sorted(read, key=lambda record: record[0])]


def _finished(consumer: Any, ranges: Ranges) -> bool:
    """Whether all partitions were read to their ends. Some offsets have no record: those of transactions, say."""
    positions = {place.partition: place.offset for place in consumer.position(consumer.assignment())}
    return all(not wanted or positions.get(partition, -1) >= wanted.stop for partition, wanted in ranges.items())


def _parsed(values: list[bytes], topic: str) -> pa.Table:
    try:
        return pyarrow.json.read_json(io.BytesIO(b"\n".join(values)))
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(
            f"topic {topic!r}: need records that are JSON objects with the same fields: {reason}"
        ) from None
