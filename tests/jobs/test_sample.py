"""A user's own records, repeated at emulated times, and what is wrong with them in a sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from tidegate.core import InvalidInput, UnknownName
from tidegate.jobs import events
from tidegate.jobs.sample import Sample, Sampled, repetition_warning

#: 2015-07-15, at which event time begins
BEGIN = datetime(2015, 7, 15, tzinfo=UTC)
ORDERS = {
    "at": [datetime(2024, 1, 1, 12, 0, second, tzinfo=UTC) for second in (0, 3, 1)],
    "paid": [datetime(2024, 1, 1, 12, 1, second, tzinfo=UTC) for second in (0, 3, 30)],
    "user": pa.array([7, 9, 8], pa.int32()),
    "shop": ["a", "b", "a"],
}


def sampled(folder: Path, options: str = "time=at", rate: float = 2.0, **columns: Any) -> Sampled:
    file = folder / "orders.parquet"
    pyarrow.parquet.write_table(pa.table({**ORDERS, **columns}), file)
    kind = events(f"sample:{file}?{options}", seed=0, rate=rate)
    assert isinstance(kind, Sampled)
    return kind


def made(kind: Sampled, count: int) -> dict[str, list[Any]]:
    return dict(kind.make(np.arange(count)).to_pydict())


def test_records_are_the_rows_again_and_again_at_the_rate(tmp_path: Path) -> None:
    kind = sampled(tmp_path)
    assert kind.schema == "at timestamp, paid timestamp, user int, shop string"
    records = made(kind, 5)
    assert records["user"] == [7, 9, 8, 7, 9]
    assert [(time - BEGIN).total_seconds() for time in records["at"]] == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_a_record_depends_on_its_number_only(tmp_path: Path) -> None:
    kind = sampled(tmp_path, "time=at&time=paid&key=user&key=shop")
    assert kind.make(np.array([4, 11])).to_pylist() == [kind.make(np.arange(12)).to_pylist()[k] for k in (4, 11)]


def test_other_times_keep_their_distance_to_the_event_time(tmp_path: Path) -> None:
    # paid 60, 60 and 89 s after the event
    records = made(sampled(tmp_path, "time=at&time=paid"), 4)
    distances = [(paid - at).total_seconds() for paid, at in zip(records["paid"], records["at"], strict=True)]
    assert distances == [60.0, 60.0, 89.0, 60.0]


def test_shifted_keys_are_others_in_each_repetition(tmp_path: Path) -> None:
    # users 7 to 9 span 3 numbers
    records = made(sampled(tmp_path, "time=at&key=user&key=shop"), 7)
    assert records["user"] == [7, 9, 8, 10, 12, 11, 13]
    assert records["shop"] == ["a", "b", "a", "a-1", "b-1", "a-1", "a-2"]


def test_shifted_numbers_have_room_to_grow(tmp_path: Path) -> None:
    kind = sampled(tmp_path, "time=at&key=user")
    assert "user bigint" in kind.schema
    assert kind.make(np.array([3_000_000_000_000]))["user"][0].as_py() == 7 + 3 * 1_000_000_000_000


SECONDS = 1_436_918_400


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([1_700_000_000] * 3, [SECONDS, SECONDS, SECONDS + 1]),
        ([1_700_000_000_000] * 3, [1000 * SECONDS, 1000 * SECONDS + 500, 1000 * SECONDS + 1000]),
        (["1700000000000"] * 3, [f"{1000 * SECONDS + ms}" for ms in (0, 500, 1000)]),
        (["2024-01-01T00:00:00Z"] * 3, [f"2015-07-15T00:00:0{second}Z" for second in (0, 0, 1)]),
        (["2024-01-01 00:00:00.250"] * 3, [f"2015-07-15 00:00:0{second}00" for second in ("0.0", "0.5", "1.0")]),
        (["2024-01-01T00:00:00.1+00:00"] * 3, [f"2015-07-15T00:00:0{s}00+00:00" for s in ("0.0", "0.5", "1.0")]),
    ],
)
def test_times_stay_in_the_form_they_have(tmp_path: Path, times: list[Any], expected: list[Any]) -> None:
    assert made(sampled(tmp_path, at=times), 3)["at"] == expected


@pytest.mark.parametrize("name", ["orders.csv", "orders.json"])
def test_csv_and_json_lines_are_read_too(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name.endswith("csv"):
        file.write_text("at,user\n2024-01-01 12:00:00,1\n2024-01-01 12:00:01,2\n")
    else:
        file.write_text('{"at": "2024-01-01 12:00:00", "user": 1}\n{"at": "2024-01-01 12:00:01", "user": 2}\n')
    kind = events(f"sample:{file}?time=at", seed=0, rate=1.0)
    assert kind.make(np.arange(3)).to_pydict()["user"] == [1, 2, 1]
    assert kind.make(np.arange(3)).to_pydict()["at"][2] == datetime(2015, 7, 15, 0, 0, 2, tzinfo=UTC)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    assert sampled(tmp_path).rows == 3
    assert sampled(tmp_path, **{name: values[:2] for name, values in ORDERS.items()}).rows == 2


def test_a_sample_shorter_than_a_second_says_what_it_means(tmp_path: Path) -> None:
    assert repetition_warning(sampled(tmp_path, rate=3.0)) == ""
    text = repetition_warning(sampled(tmp_path, rate=12.0))
    assert "3 rows are 0.25 s at 12 records/s: it is repeated 4 times a second, and has the same keys each time" in text
    assert repetition_warning(sampled(tmp_path, "time=at&key=user", rate=12.0)).endswith("and has other keys each time")


def test_what_is_wrong_with_a_sample(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no column of the sample .* is named 'att'; did you mean 'at'"):
        sampled(tmp_path, "time=att")
    with pytest.raises(InvalidInput, match="need at least one row"):
        sampled(tmp_path, **{name: values[:0] for name, values in ORDERS.items()})
    with pytest.raises(InvalidInput, match="need a value of at in each row, 1 rows have none, first row 2"):
        sampled(tmp_path, at=[ORDERS["at"][0], None, ORDERS["at"][2]])
    with pytest.raises(InvalidInput, match="ISO 8601 times in column shop, it has texts like 'a'"):
        sampled(tmp_path, "time=shop")
    with pytest.raises(InvalidInput, match="ISO 8601 times in column at, it has texts like '20240101120000'"):
        sampled(tmp_path, at=["20240101120000"] * 3)
    with pytest.raises(InvalidInput, match="can shift keys that are text or whole numbers, price is double"):
        sampled(tmp_path, "time=at&key=price", price=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="need an event rate > 0 records/s, got 0"):
        sampled(tmp_path, rate=0.0)
    with pytest.raises(InvalidInput, match="the skew of its keys cannot be set, got skew heavy"):
        events(f"sample:{tmp_path}/orders.parquet?time=at", seed=0, rate=1.0, skew="heavy")
    with pytest.raises(InvalidInput, match="need a file and its column of event times"):
        Sample.parse("orders.parquet")
    with pytest.raises(UnknownName, match="tine"):
        Sample.parse("orders.parquet?tine=at")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.parquet", None, "cannot be read: No such file"),
        ("bad.parquet", b"not parquet", "cannot be read: "),
        ("orders.xlsx", b"x", "format of the sample"),
        ("bad.csv", b"at,user\n1,2,3\n", "cannot be read: "),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, sentence: str) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInput, match=sentence):
        events(f"sample:{file}?time=at", seed=0, rate=1.0)


@pytest.mark.parametrize(
    ("columns", "schema"),
    [
        ({"n": pa.array([2**40], pa.timestamp("ns"))}, "n timestamp"),
        ({"u": pa.array([7], pa.uint16())}, "u int"),
        ({"d": pa.array(["a"]).dictionary_encode()}, "d string"),
        ({"l": pa.array([["a"]], pa.large_list(pa.large_string()))}, "l array<string>"),
        ({"s": pa.array([{"at-1": 1}], pa.struct([("at-1", pa.timestamp("s"))]))}, "s struct<`at-1`:timestamp>"),
    ],
)
def test_usual_types_become_those_of_spark(tmp_path: Path, columns: dict[str, pa.Array], schema: str) -> None:
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"at": [1_700_000_000], **columns}), file)
    kind = events(f"sample:{file}?time=at", seed=0, rate=1.0)
    assert kind.schema == f"at bigint, {schema}"
    # what Spark compares the records' types with
    arrow = kind.make(np.arange(2)).schema.field(1).type
    assert to_arrow_type(from_arrow_type(arrow), timezone="UTC") == arrow


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (",at\n0,2024-01-01\n", "need a name for each column, column 1 has none"),
        ("at,user,User\n2024-01-01,1,2\n", "need different names of columns, 'user' occurs more than once"),
    ],
)
def test_names_that_spark_cannot_tell_apart(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(InvalidInput, match=sentence):
        events(f"sample:{tmp_path}/x.csv?time=at", seed=0, rate=1.0)


def test_values_that_spark_cannot_have(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Spark cannot have column big, uint64"):
        sampled(tmp_path, big=pa.array([2**63, 1, 2], pa.uint64()))
    with pytest.raises(InvalidInput, match=r"span at most 2\^40, id spans"):
        sampled(tmp_path, "time=at&key=id", id=[1, 2, 2**62])


def test_shifted_texts_are_none_that_the_sample_has(tmp_path: Path) -> None:
    records = made(sampled(tmp_path, "time=at&key=shop", shop=["a", "a-1", "b"]), 6)
    assert records["shop"] == ["a", "a-1", "b", "a_1", "a-1_1", "b_1"]


def test_a_large_sample_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.jobs.sample_file.MOST_BYTES", 10)
    with pytest.raises(InvalidInput, match="take fewer rows"):
        sampled(tmp_path)
