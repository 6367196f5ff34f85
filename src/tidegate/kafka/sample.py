"""A sample of the records in a topic, read once: what a query of one's own can be tried on without the broker."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.json

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.core.reading import shown
from tidegate.kafka.client import load_client, make, settings
from tidegate.kafka.options import NONE, Options
from tidegate.kafka.packages import Say, quiet
from tidegate.kafka.topics import begin_offsets, end_offsets

#: seconds without a record after which the broker has none, and between two words about progress
SILENCE, INTERVAL = 30.0, 5.0
#: records per request
CHUNK = 10_000
#: bytes of values in memory
MOST_BYTES = 512 << 20
#: offsets by partition
Ranges = Mapping[int, range]


class Value(NamedTuple):
    """The value of a record, and where it is. Sorted by time, and within a partition by offset."""

    time: int
    partition: int
    offset: int
    value: bytes


def read_sample(bootstrap: str, topic: str, records: int, options: Options = NONE, say: Say = quiet) -> pa.Table:
    """The last records of a topic, as many of each partition, in the order of their times. Values are JSON objects."""
    return read_ranges(bootstrap, topic, last_records(bootstrap, topic, records, options), options, say)


def last_records(bootstrap: str, topic: str, records: int, options: Options = NONE) -> dict[int, range]:
    """Where they are: the offsets of each partition."""
    begin, end = begin_offsets(bootstrap, topic, options), end_offsets(bootstrap, topic, options)
    if records < 1:
        raise InvalidInput(f"sample of {topic!r}: need at least one record, got {records}")
    each = -(-records // max(1, len(end)))
    ranges = {partition: range(max(begin[partition], last - each), last) for partition, last in end.items()}
    if not any(ranges.values()):
        raise InvalidInput(f"topic {topic!r} at {bootstrap}: need at least one record for a sample, it has none")
    return ranges


def read_ranges(bootstrap: str, topic: str, ranges: Ranges, options: Options = NONE, say: Say = quiet) -> pa.Table:
    """The records at these offsets, in the order of their times."""
    consumer = _consumer(bootstrap, topic, ranges, options)
    try:
        return parsed(_values(consumer, ranges, f"topic {topic!r} at {bootstrap}", say), topic)
    finally:
        consumer.close()


def _consumer(bootstrap: str, topic: str, ranges: Ranges, options: Options) -> Any:
    kafka = load_client()
    # a partition may end with markers of transactions, which are no records
    group = {"group.id": "tidegate-sample", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = make(kafka.Consumer, settings(bootstrap, group, options), options)
    consumer.assign([kafka.TopicPartition(topic, partition, first.start) for partition, first in ranges.items()])
    return consumer


def _values(consumer: Any, ranges: Ranges, place: str, say: Say) -> list[Value]:
    read: list[Value] = []
    count, size = sum(map(len, ranges.values())), 0
    missing = {partition for partition, wanted in ranges.items() if wanted}
    last_arrival = reported = time.monotonic()
    while missing:
        messages = consumer.consume(CHUNK, timeout=1.0)
        new = [_value(message) for message in messages if message.error() is None and _wanted(message, ranges)]
        read += new
        size += sum(len(record.value) for record in new)
        if size > MOST_BYTES:
            raise InvalidInput(
                f"{place}: need at most {MOST_BYTES >> 20} MiB for a sample, {len(read):,} of {count:,} records have"
                " more: take fewer"
            )
        missing -= {message.partition() for message in messages if _ends(message, ranges)}
        now = time.monotonic()
        last_arrival = now if messages else last_arrival
        if now - last_arrival > SILENCE:
            raise EnvironmentMissing(f"{place}: no record arrived for {SILENCE:g} s, after {len(read):,} of {count:,}")
        if now - reported > INTERVAL:
            reported = now
            say(f"{len(read):,} of {count:,} records read")
    return sorted(read)


def _value(message: Any) -> Value:
    return Value(message.timestamp()[1], message.partition(), message.offset(), message.value())


def _wanted(message: Any, ranges: Ranges) -> bool:
    """Tombstones are no records."""
    return bool(message.value()) and message.offset() in ranges[message.partition()]


def _ends(message: Any, ranges: Ranges) -> bool:
    """Whether nothing of its partition is missing after this message, which may be the word that there is no more."""
    error = message.error()
    if error is not None:
        if error.code() != load_client().KafkaError._PARTITION_EOF:
            raise EnvironmentMissing(f"topic {message.topic()!r} cannot be read: {error.str()}")
        return True
    return bool(message.offset() + 1 >= ranges[message.partition()].stop)


def parsed(values: list[Value], topic: str) -> pa.Table:
    """The records as columns.

    >>> parsed([Value(0, 0, 7, b'{"user": 1}')], "clicks")["user"].to_pylist()
    [1]
    >>> parsed([Value(0, 0, 7, b"null")], "clicks")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: topic 'clicks', partition 0, offset 7: need a JSON object, got 'null'
    """
    if not values:
        raise InvalidInput(f"topic {topic!r}: need at least one record with a value for a sample, it has none")
    for record in values:
        # pyarrow crashes at `null`
        if not record.value.lstrip().startswith(b"{"):
            raise _no_object(record, topic)
    try:
        return pyarrow.json.read_json(io.BytesIO(b"\n".join(record.value for record in values)))
    except pa.ArrowInvalid as error:
        if broken := next((record for record in values if not _is_object(record.value)), None):
            raise _no_object(broken, topic) from None
        reason = str(error).splitlines()[0]
        raise InvalidInput(
            f"topic {topic!r}: need records that are JSON objects with the same fields: {reason}"
        ) from None


def _is_object(value: bytes) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return False


def _no_object(record: Value, topic: str) -> InvalidInput:
    place = f"topic {topic!r}, partition {record.partition}, offset {record.offset}"
    return InvalidInput(f"{place}: need a JSON object, got {shown(record.value.decode(errors='replace'))}")
