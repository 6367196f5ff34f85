"""A recorded topic as a file: record *i* of its replay, and what is wrong with records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tidegate.core import InvalidInput
from tidegate.jobs import Sample, Sampled, events
from tidegate.kafka.producer import values
from tidegate.kafka.recording import check_recording
from tidegate.kafka.sample import Value, parsed

YSB = events("ysb", seed=3, rate=1000.0)
#: at which event time begins, ms
BEGIN = 1_436_918_400_000


def recording(folder: Path, records: list[bytes], *times: str) -> Sample:
    table = parsed([Value(k, 0, k, record) for k, record in enumerate(records)], "ads")
    pyarrow.parquet.write_table(table, folder / "ads.parquet")
    return Sample(str(folder / "ads.parquet"), times)


def sent(sample: Sample, rate: float, begin: int, end: int) -> list[dict[str, Any]]:
    return [json.loads(value) for value in values(Sampled(sample, rate), begin, end)]


def test_record_i_is_row_i_modulo_n_at_the_emulated_time(tmp_path: Path) -> None:
    recorded = values(YSB, 0, 7)
    again = sent(recording(tmp_path, recorded, "event_time"), 500.0, 0, 20)
    for k, record in enumerate(again):
        # 500 records a second of event time: 2 ms from one to the next, as text like the recorded one
        assert record == {**json.loads(recorded[k % 7]), "event_time": str(BEGIN + 2 * k)}
    assert sent(recording(tmp_path, recorded, "event_time"), 500.0, 11, 13) == again[11:13]


def test_several_times_keep_their_distance_and_lists_are_sent_as_they_were(tmp_path: Path) -> None:
    rows = [
        {"at": 1_700_000_000_000 + k, "paid": 1_700_000_000_250, "items": [{"n": k}, {"n": None}]} for k in range(2)
    ]
    sample = recording(tmp_path, [json.dumps(row).encode() for row in rows], "at", "paid")
    again = sent(sample, 1.0, 0, 3)
    assert [record["at"] - BEGIN for record in again] == [0, 1000, 2000]
    assert [record["paid"] - record["at"] for record in again] == [250, 249, 250]
    assert [record["items"] for record in again] == [rows[k]["items"] for k in (0, 1, 0)]


def test_records_without_a_time_are_sent_as_they_were(tmp_path: Path) -> None:
    recorded = values(events("words", seed=1, rate=10.0), 0, 2)
    sample = recording(tmp_path, recorded)
    check_recording(sample, "lines", events("words", seed=0, rate=1.0))
    assert values(Sampled(sample, 10.0), 0, 3) == [*recorded, recorded[0]]


@pytest.mark.parametrize("kind", ["ysb", "bids", "traffic", "topspeed", "words"])
def test_what_tidegate_produces_can_be_replayed(tmp_path: Path, kind: str) -> None:
    own = events(kind, seed=5, rate=100.0)
    times = {"ysb": "event_time", "bids": "dateTime", "words": None}.get(kind, "ts")
    check_recording(recording(tmp_path, values(own, 0, 10), *([times] if times else [])), "ads", own)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (b"null", "partition 0, offset 1: need a JSON object, got 'null'"),
        (b"hello", "partition 0, offset 1: need a JSON object, got 'hello'"),
        (b"[1]", r"partition 0, offset 1: need a JSON object, got '\[1\]'"),
        (b'{"a": 1', "partition 0, offset 1: need a JSON object, got"),
        (b'{"a": "x"}', "need records that are JSON objects with the same fields"),
    ],
)
def test_values_that_are_no_records_are_named_with_their_place(tmp_path: Path, value: bytes, place: str) -> None:
    with pytest.raises(InvalidInput, match=place):
        recording(tmp_path, [b'{"a": 1}', value])


def test_fields_that_the_job_needs(tmp_path: Path) -> None:
    event = json.loads(values(YSB, 0, 1)[0])

    def refused(*records: dict[str, Any]) -> str:
        sample = recording(tmp_path, [json.dumps(record).encode() for record in records], "event_time")
        with pytest.raises(InvalidInput) as refusal:
            check_recording(sample, "ads", YSB)
        return str(refusal.value)

    without = {name: value for name, value in event.items() if name != "ad_id"}
    assert refused(without).startswith("topic 'ads': the job needs the field 'ad_id' in each record, they have user_id")
    assert "1 of 3 have none, the first is number 2" in refused(event, without, event)
    assert refused({**event, "ad_id": [1]}) == "topic 'ads': the job needs the field 'ad_id' as text, it is a list"
    late = "ISO 8601 times in column event_time, it has texts like 'late'"
    assert late in refused({**event, "event_time": "late"})
