"""The offset of a source as one number, if it counts records or something proportional to them.

Kafka and Event Hubs count records per partition, Spark's `rate` seconds, files the entries of a log. The offsets of
table formats are versions (`reservoirVersion` of Delta, `snapshot_id` of Iceberg), those of Kinesis sequence numbers:
these say nothing about the number of records, so such a source has no position.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

#: keys of the counter in offsets of sources with a single counter: Tidegate's own, rate-micro-batch, files
COUNTERS = ("record", "offset", "logOffset")
#: keys in offsets of Delta, Iceberg and Auto Loader, whose numbers are versions, file sequences and times
VERSIONS = frozenset({"reservoirVersion", "sourceVersion", "snapshot_id", "seqNum"})
#: counts up to here are exact as floats; no source has more records
MOST = 2.0**53
#: levels of an offset: topics, their partitions, and one to spare
DEEPEST = 3
#: characters of an offset that is given as text
LONGEST = 1_000_000
#: metrics of Delta that are 0 once everything has been read
OUTSTANDING = ("numBytesOutstanding", "numFilesOutstanding")


def count(value: Any) -> float | None:
    """A number from 0 to MOST; None for everything else that JSON can hold.

    >>> count(7), count(True), count("7"), count(-1), count(float("nan")), count(10**400)
    (7.0, None, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MOST else None


def position(offset: Any) -> float | None:
    """An offset as one number: the counter, or the sum over partitions. None if it counts nothing.

    >>> position({"bids": {"0": 40, "1": 2}}), position('{"record": 7, "start": 1.7e9}'), position("abc")
    (42.0, 7.0, None)
    >>> position({"sourceVersion": 1, "reservoirVersion": 12, "index": 3})  # Delta
    """
    numbers = counters(offset)
    total = math.fsum(numbers) if numbers else None
    return total if total is not None and total <= MOST else None


def counters(offset: Any) -> list[float] | None:
    """The counters of an offset: one per partition of Kafka. None if one of them is no count."""
    if isinstance(offset, str):
        offset = _parsed(offset)
    return _counters(offset, DEEPEST)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        return None


def _counters(offset: Any, levels: int) -> list[float] | None:
    if not isinstance(offset, Mapping):
        number = count(offset)
        return None if number is None else [number]
    if levels == 0 or not VERSIONS.isdisjoint(offset):
        return None
    single = next((offset[key] for key in COUNTERS if offset.get(key) is not None), None)
    if single is not None:
        return _counters(single, levels - 1)
    inner = [_counters(value, levels - 1) for value in offset.values()]
    known = [numbers for numbers in inner if numbers is not None]
    return [number for numbers in known for number in numbers] if known and len(known) == len(inner) else None


def total(offsets: Iterable[Any]) -> float | None:
    """The sum over the sources of a query. None if one has no position, or there is none."""
    positions = [position(offset) for offset in offsets]
    known = [number for number in positions if number is not None]
    return sum(known) if known and len(known) == len(positions) else None


def waiting(source: Mapping[str, Any]) -> float | None:
    """Records that a source still had to read according to its own metrics, for sources whose latest offset tells
    nothing.

    Kafka has the mean over its partitions, Delta the bytes and files left: only that these are none says how many
    records there are.

    >>> waiting({"endOffset": {"bids": {"0": 4, "1": 6}}, "metrics": {"avgOffsetsBehindLatest": "2.5"}})
    5.0
    >>> waiting({"metrics": {"numBytesOutstanding": "0"}}), waiting({"metrics": {"numBytesOutstanding": "800"}})
    (0.0, None)
    """
    metrics = source.get("metrics")
    if not isinstance(metrics, Mapping):
        return None
    mean, partitions = _metric(metrics.get("avgOffsetsBehindLatest")), counters(source.get("endOffset"))
    if mean is not None and partitions:
        return count(mean * len(partitions))
    left = [_metric(metrics[name]) for name in OUTSTANDING if name in metrics]
    return 0.0 if left and all(amount == 0 for amount in left) else None


def _metric(value: Any) -> float | None:
    """Spark gives the metrics of a source as text."""
    if not isinstance(value, str):
        return count(value)
    try:
        return count(float(value))
    except ValueError:
        return None
