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
    if records < 1:
        raise InvalidInput(f"sample of {topic!r}: need at least one record, got {records}")
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
    # a partition may end with markers of transactions, which are no records
    group = {"group.id": "tidegate-sample", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = make(kafka.Consumer, settings(bootstrap, group, options), options)
    consumer.assign([kafka.TopicPartition(topic, partition, first.start) for partition, first in ranges.items()])
    return consumer


def _values(consumer: Any, ranges: Ranges, place: str, say: Say) -> list[bytes]:
    read: list[tuple[int, bytes]] = []
    count = sum(map(len, ranges.values()))
    missing = {partition for partition, wanted in ranges.items() if wanted}
    last_arrival = reported = time.monotonic()
    while missing:
        messages = consumer.consume(CHUNK, timeout=1.0)
        records = [message for message in messages if message.error() is None]
        read += [(m.timestamp()[1], m.value()) for m in records if m.value() and m.offset() in ranges[m.partition()]]
        missing -= {message.partition() for message in messages if _ends(message, ranges)}
        now = time.monotonic()
        last_arrival = now if messages else last_arrival
        if now - last_arrival > SILENCE:
            raise EnvironmentMissing(f"{place}: no record arrived for {SILENCE:g} s, after {len(read):,} of {count:,}")
        if now - reported > INTERVAL:
            reported = now
            say(f"{len(read):,} of {count:,} records read")
    return [value for _, value in sorted(read, key=lambda record: record[0])]


def _ends(message: Any, ranges: Ranges) -> bool:
    """Whether nothing of its partition is missing after this message, which may be the word that there is no more."""
    error = message.error()
    if error is not None:
        if error.code() != load_client().KafkaError._PARTITION_EOF:
            raise EnvironmentMissing(f"topic {message.topic()!r} cannot be read: {error.str()}")
        return True
    return bool(message.offset() + 1 >= ranges[message.partition()].stop)


def _parsed(values: list[bytes], topic: str) -> pa.Table:
    try:
        return pyarrow.json.read_json(io.BytesIO(b"\n".join(values)))
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(
            f"topic {topic!r}: need records that are JSON objects with the same fields: {reason}"
        ) from None
