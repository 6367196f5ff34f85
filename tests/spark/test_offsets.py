"""Offsets of the sources that Spark has, as their reports show them."""

from typing import Any

import pytest

from tidegate.spark.offsets import count, counters, position, total, waiting

DELTA = {
    "sourceVersion": 1,
    "reservoirId": "3c1a2f0e-5a0d-4d4f-9f57-b7d7f6c9f5c2",
    "reservoirVersion": 12,
    "index": 3,
    "isStartingVersion": False,
}


@pytest.mark.parametrize(
    ("offset", "records"),
    [
        ({"bids": {"0": 40, "1": 2}}, 42),  # Kafka, and Event Hubs
        ('{"bids": {"0": 40, "1": 2}}', 42),
        ({"bids": {"0": 40}, "asks": {"0": 3}}, 43),
        (17, 17),  # rate, and sockets
        ({"offset": 5, "timestamp": 1_700_000_000_000}, 5),  # rate-micro-batch
        ({"logOffset": 4}, 4),  # files
        ({"record": 7, "start": 1.7e9}, 7),  # Tidegate's own
        ({"pos": 9}, 9),  # a source that somebody wrote
    ],
)
def test_what_counts_records_has_a_position(offset: Any, records: float) -> None:
    assert position(offset) == records


@pytest.mark.parametrize(
    "offset",
    [
        DELTA,
        {**DELTA, "isStartingVersion": 0, "reservoirId": 5},  # numbers only, and still versions
        {"version": 1, "snapshot_id": 7_412_193_043_800_610_213, "position": 2, "scan_all_files": False},  # Iceberg
        {"seqNum": 12, "sourceVersion": 1, "lastBackfillStartTimeMs": 1_700_000_000_000},  # Auto Loader
        {"shardId-000": {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": "4959033827149025"}},  # Kinesis
        {"shardId-000": "49590338271490256608559692538361571095921575989136588898"},
        "not JSON",
        "[" * 100_000,
        None,
        True,
        [1, 2],
        {},
        {"bids": {"0": -2}},  # Kafka's sign for the earliest
        {"bids": {"0": float("nan")}},
        {"bids": {"0": 10**400}},
        {"a": {"b": {"c": {"d": 1}}}},
        {"bids": {"0": 1, "1": None}},
        {"bids": {"0": 2**53, "1": 2**53}},
    ],
)
def test_what_counts_no_records_has_none(offset: Any) -> None:
    assert position(offset) is None


def test_counts() -> None:
    assert [count(value) for value in (0, 2**53, 2**53 + 2, -1, float("inf"), False, "5", None)] == [
        0, 2**53, None, None, None, None, None, None,
    ]  # fmt: skip


def test_the_sum_over_sources_is_unknown_if_one_is() -> None:
    assert total([{"a": {"0": 5}}, 7]) == 12
    assert total([{"a": {"0": 5}}, DELTA]) is None
    assert total([]) is None


def test_counters_are_those_of_the_partitions() -> None:
    assert counters({"a": {"0": 5, "1": 6}, "b": {"0": 1}}) == [5, 6, 1]
    assert counters("{") is None


def test_what_waits_according_to_the_metrics_of_the_source() -> None:
    kafka = {"endOffset": {"bids": {"0": 4, "1": 6}}, "metrics": {"avgOffsetsBehindLatest": "2.5"}}
    assert waiting(kafka) == 5  # 2.5 in each of two partitions
    assert waiting({"endOffset": DELTA, "metrics": {"numBytesOutstanding": "0", "numFilesOutstanding": "0"}}) == 0
    # bytes and files are not records
    assert waiting({"endOffset": DELTA, "metrics": {"numBytesOutstanding": "345", "numFilesOutstanding": "2"}}) is None
    for metrics in (None, {}, [], {"avgOffsetsBehindLatest": "many"}, {"avgOffsetsBehindLatest": "NaN"}):
        assert waiting({"endOffset": 5, "metrics": metrics}) is None
