"""Traces of real files, counted by Spark in local mode."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql import SparkSession

from tidegate.core import InvalidInput, UnknownName
from tidegate.traces import Request, Span, Trace
from tidegate.traces.inputs import find
from tidegate.traces.job import build_trace
from tidegate.traces.reading import read
from tidegate.traces.result import HotKey
from tidegate.traces.session import Machine, batch_session

pytestmark = pytest.mark.spark

#: 2024-05-01 00:00:00 UTC
DAY = 1_714_521_600
START = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with batch_session(Machine(cores=2), tmp_path_factory.mktemp("spark")) as spark:
        yield spark


Make = Callable[..., Trace]


@pytest.fixture
def make(session: SparkSession, tmp_path: Path) -> Make:
    """A function that writes the trace of some logs to `out/trace.parquet`."""
    (tmp_path / "out").mkdir()

    def build(*logs: Path | str, **options: object) -> Trace:
        fields = {"time": "t", "output": tmp_path / "out" / "trace.parquet", **options}
        return build_trace(session, Request(tuple(map(str, logs)), **fields))  # type: ignore[arg-type]

    return build


def rates(trace: Trace) -> list[int]:
    table = pq.read_table(trace.path)
    start = int(trace.size.first.timestamp())
    assert table.column("time").to_pylist() == [
        datetime.fromtimestamp(start + k, UTC) for k in range(trace.size.seconds)
    ]
    return list(table.column("rate").to_pylist())


def problems(trace: Trace) -> dict[str, tuple[int, set[tuple[str, str | None]]]]:
    """What is wrong -> number of rows, and the examples as file name and value."""
    return {
        problem.what: (problem.rows, {(Path(example.file).name, example.value) for example in problem.examples})
        for problem in trace.problems
    }


def test_a_csv_file_with_every_kind_of_problem(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "a.csv"
    lines = [
        "t,k,note",
        "2024-05-01T00:00:03.999Z,a,",
        '2024-05-01 02:00:00+02:00,b,"said ""no"", left"',  # 00:00:00 UTC
        f"{DAY},a,",
        f"{DAY}123,a,x",  # milliseconds
        "",
        "2024-05-01T00:00:01,a",  # a field is missing
        "2024-05-01T00:00:01,a,b,c",  # one too many
        ",a,",
        "  ,a,",
        "noon,a,",
        "12:30:00,a,",  # not today's
        "2024-05-32,a,",
        "NaN,a,",
        "1e300,a,",
        "86400,a,",  # 1970
        "2999-01-01,a,",
        "t,k,note",  # two files in one
    ]
    log.write_text("\n".join(lines) + "\n")
    trace = make(log)
    assert rates(trace) == [3, 0, 0, 1]
    by_kind = problems(trace)
    unknown = by_kind.pop("time cannot be read")
    assert unknown[0] == 5
    assert {value for _, value in unknown[1]} <= {"noon", "12:30:00", "2024-05-32", "NaN", "1e300"}
    assert by_kind == {
        "line cannot be parsed": (2, {("a.csv", "2024-05-01T00:00:01,a"), ("a.csv", "2024-05-01T00:00:01,a,b,c")}),
        "no time": (2, {("a.csv", None), ("a.csv", "  ")}),
        "time too early": (1, {("a.csv", "86400")}),
        "time in the future": (1, {("a.csv", "2999-01-01")}),
    }
    # 4 good, 11 bad
    assert (trace.size.rows, trace.bad, trace.bad_share) == (4, 11, 11 / 15)
    assert (trace.size.first, trace.size.last) == (START, START + timedelta(seconds=3))
    assert (trace.size.seconds, trace.size.empty, trace.size.mean, trace.size.max) == (4, 2, 1.0, 3)
    # rates 0 0 1 3: the median between 0 and 1, the others between 1 and 3 at 0.95 * 3 = 2.85 and 0.99 * 3 = 2.97
    assert (trace.size.p50, trace.size.p95, trace.size.p99) == pytest.approx((0.5, 2.7, 2.94))
    assert trace.notations == ("timestamps", "epoch seconds", "epoch milliseconds")
    # lines of 27, 47, 13 and 17 bytes
    assert trace.size.record == 26.0
    assert pq.read_table(trace.path).column("bytes").to_pylist() == [77, 0, 0, 27]


def test_json_with_malformed_lines_and_nested_columns(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    events = [
        {"e": {"t": DAY + 0.75, "who": {"id": 7}}},
        {"e": {"t": DAY * 10**9 + 1_999_999_999, "who": {"id": 8}}},  # would be the next second as a double
        {"e": {"t": "2024-05-01T00:00:01Z", "who": {"id": 7}}},
        {"e": {"who": {"id": 7}}},
        {"e": {"t": None}},
    ]
    lines = [json.dumps(event) for event in events]
    log.write_text("\n".join([*lines, '{"e": {"t": 1714521600', "plain text", ""]))
    trace = make(log, time="e.t", key="e.who.id")
    assert rates(trace) == [1, 2]
    assert problems(trace) == {
        "line cannot be parsed": (2, {("a.jsonl", '{"e": {"t": 1714521600'), ("a.jsonl", "plain text")}),
        "no time": (2, {("a.jsonl", None)}),
    }
    assert trace.skew is not None
    assert trace.skew.top == (HotKey("7", 2, 2 / 3), HotKey("8", 1, 1 / 3))
    assert trace.notations == ("timestamps", "epoch seconds", "epoch nanoseconds")


def test_parquet_with_nulls_gaps_disorder_and_the_skew_of_keys(make: Make, tmp_path: Path) -> None:
    offsets = [9, 0, 0, 5, 0, None, 9, 0]
    times = [None if k is None else START + timedelta(seconds=k, microseconds=999_999) for k in offsets]
    keys = ["a", "a", "b", "a", None, "z", "c", "a"]
    pq.write_table(pa.table({"t": pa.array(times, pa.timestamp("us", tz="UTC")), "k": keys}), tmp_path / "a.parquet")
    trace = make(tmp_path / "a.parquet", key="k")
    assert rates(trace) == [4, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert problems(trace) == {"no time": (1, {("a.parquet", None)})}
    assert trace.skew is not None
    # of 7 good rows; the row without a time does not count for its key
    assert trace.skew.top == (
        HotKey("a", 4, 4 / 7),
        HotKey(None, 1, 1 / 7),
        HotKey("b", 1, 1 / 7),
        HotKey("c", 1, 1 / 7),
    )
    assert (trace.skew.keys, trace.skew.hottest_share, trace.skew.useful_tasks) == (4, 4 / 7, 2)
    assert trace.skew.top_share == pytest.approx(1.0)
    assert pq.read_schema(trace.path).names == ["time", "rate"]
    assert pq.read_schema(trace.path).types == [pa.timestamp("us", tz="UTC"), pa.int64()]
    assert trace.size.record is not None
    assert (trace.envelope.width, trace.envelope.high) == (1, (4, 0, 0, 0, 0, 1, 0, 0, 0, 2))


NANOS = DAY * 10**9 + 2 * 10**9 + 5
COLUMNS = {
    "ms": pa.array([DAY * 1000 + 2999], pa.int64()),
    "ns": pa.array([NANOS], pa.int64()),
    "pandas": pa.array([NANOS], pa.timestamp("ns")),
    "zoned": pa.array([NANOS], pa.timestamp("ns", tz="UTC")),
    "naive": pa.array([NANOS // 1000], pa.timestamp("us")),
    "float": pa.array([DAY + 2.5], pa.float64()),
    "text": pa.array([f" {DAY + 2} "], pa.string()),
    "log": pa.array(["2024-05-01 00:00:02,987"], pa.string()),
}


def test_every_kind_of_time_is_the_same_second(session: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table(COLUMNS), tmp_path / "a.parquet")
    seconds = {}
    for name in COLUMNS:
        request = Request((str(tmp_path),), time=name)
        seconds[name] = read(session, find(request.logs), request).collect()[0]["second"]
    assert seconds == dict.fromkeys(COLUMNS, DAY + 2)


def test_an_explicit_unit_applies_to_all_numbers_and_dates_are_midnights(make: Make, tmp_path: Path) -> None:
    early = Span(earliest=datetime(1960, 1, 1, tzinfo=UTC))
    pq.write_table(pa.table({"t": [-1, -1000, -1001, 999]}), tmp_path / "ms.parquet")
    # rounded down before 1970, too: -1 and -1000 are in the second that starts at -1000, -1001 in the one before
    trace = make(tmp_path / "ms.parquet", unit="ms", span=early)
    assert (trace.size.first, rates(trace)) == (datetime(1969, 12, 31, 23, 59, 58, tzinfo=UTC), [1, 2, 1])
    pq.write_table(pa.table({"t": [date(2024, 5, 1)]}), tmp_path / "date.parquet")
    assert make(tmp_path / "date.parquet").size.first == START


def test_patterns_folders_and_formats_together(make: Make, tmp_path: Path) -> None:
    logs = tmp_path / "lo gs[1]"
    (logs / "more").mkdir(parents=True)
    (logs / "a.csv").write_text(f"t,k\n{DAY},1\n")
    (logs / "more" / "b.csv.gz").write_bytes(gzip.compress(f"\ufeffk,t\r\n1,{DAY + 1}\r\n".encode()))  # other order
    (logs / "c.json").write_text(json.dumps({"t": DAY + 1}) + "\n")
    (logs / "README").write_text("about these logs")
    trace = make(logs)
    assert (rates(trace), trace.files) == ([1, 2], 3)
    assert [Path(path).name for path in trace.left_out] == ["README"]
    pq.write_table(pa.table({"t": [DAY]}), tmp_path / "d.parquet")
    mixed = make(tmp_path / "lo gs?1?" / "*.csv", tmp_path / "d.parquet")
    assert rates(mixed) == [2]
    assert mixed.size.record is None  # unknown for Parquet rows
    (tmp_path / "bare").write_text(f"a;{DAY}\nb;{DAY}\n")
    bare = make(tmp_path / "bare", time="_c1", format="csv", header=False, separator=";")
    assert rates(bare) == [2]


def test_rows_outside_from_and_to_are_counted_separately(make: Make, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t\n" + "".join(f"{DAY + k}\n" for k in range(10)))
    span = Span(start=START + timedelta(seconds=2), end=START + timedelta(seconds=6))
    trace = make(tmp_path / "a.csv", span=span)
    assert rates(trace) == [1, 1, 1, 1]  # seconds 2, 3, 4 and 5
    assert problems(trace) == {"outside --from and --to": (6, set())}
    assert (trace.bad, trace.bad_share) == (0, 0.0)


def test_one_stray_time_does_not_make_years_of_zeros(make: Make, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t\n2001-09-09\n" + f"{DAY}\n" * 2000)
    with pytest.raises(InvalidInput) as caught:
        make(tmp_path / "a.csv")
    assert str(caught.value) == (
        "the first event is at 2001-09-09 00:00:00, the last at 2024-05-01 00:00:00: a trace cannot be longer than"
        " 400 days. Limit it with --from and --to; 99.8 % of the rows are from 2024-05-01 to 2024-05-01, inclusive"
    )
    assert list((tmp_path / "out").iterdir()) == []


def test_a_long_trace_is_drawn_by_its_envelope(make: Make, tmp_path: Path) -> None:
    # 3,000 seconds in at most 1,500 points: two per point; every other second has a record, the last has five
    seconds = [*range(0, 3000, 2), *[2999] * 5]
    (tmp_path / "a.csv").write_text("t\n" + "".join(f"{DAY + k}\n" for k in seconds))
    trace = make(tmp_path / "a.csv")
    assert (trace.envelope.width, len(trace.envelope.high), trace.envelope.start) == (2, 1500, START)
    assert [(trace.envelope.low[k], trace.envelope.mean[k], trace.envelope.high[k]) for k in (0, 1498, 1499)] == [
        (0, 0.5, 1),
        (0, 0.5, 1),
        (1, 3.0, 5),
    ]
    assert (trace.size.empty, trace.size.rows, trace.size.peak_to_mean) == (
        1499,
        1505,
        pytest.approx(5 / (1505 / 3000)),
    )


def test_the_error_for_an_unknown_column_suggests_the_nearest(make: Make, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,user\n1,2\n")
    with pytest.raises(
        UnknownName, match=r"no column of .*a\.csv is named 'tiem'; did you mean 'time'\? \(known: time, us"
    ):
        make(tmp_path / "a.csv", time="tiem")
    with pytest.raises(UnknownName, match=r"is named 'usr'; did you mean 'user'\?"):
        make(tmp_path / "a.csv", time="time", key="usr")
    (tmp_path / "a.json").write_text('{"e": {"time": 1}}\n')
    with pytest.raises(
        UnknownName, match=r"a\.json \(in its first 1,000 lines\) is named 'e\.tim'; did you mean 'e\.time'\?"
    ):
        make(tmp_path / "a.json", time="e.tim")
    pq.write_table(pa.table({"at": [True]}), tmp_path / "a.parquet")
    with pytest.raises(UnknownName, match=r"no column of .*a\.parquet is named 't' \(known: at\)|did you mean 'at'"):
        make(tmp_path / "a.parquet")
    with pytest.raises(
        InvalidInput, match=r"^column at of .*a\.parquet is of type boolean: need timestamps, dates, num"
    ):
        make(tmp_path / "a.parquet", time="at")


def test_a_failed_job_leaves_the_old_trace_and_no_temporary_files(make: Make, tmp_path: Path) -> None:
    old = tmp_path / "out" / "trace.parquet"
    old.write_text("old")
    (tmp_path / "bad.csv").write_text("t,k\nnoon,1\n,2\nnight\n")
    with pytest.raises(InvalidInput) as caught:
        make(tmp_path / "bad.csv")
    assert str(caught.value) == (
        f"none of the 3 rows has a usable time: 1 row: line cannot be parsed, such as 'night' in {tmp_path}/bad.csv;"
        f" 1 row: no time; 1 row: time cannot be read, such as 'noon' in {tmp_path}/bad.csv"
    )
    (tmp_path / "empty.csv").write_text("t,k\n")
    with pytest.raises(InvalidInput, match=r"^the logs have no rows$"):
        make(tmp_path / "empty.csv")
    (tmp_path / "broken.parquet").write_text("no parquet at all")
    with pytest.raises(InvalidInput, match=rf"^cannot read {re.escape(str(tmp_path))}/broken\.parquet: "):
        make(tmp_path / "broken.parquet")
    cut = gzip.compress("".join(f'{{"t": {DAY + k}}}\n' for k in range(5000)).encode())
    (tmp_path / "cut.json.gz").write_bytes(cut[: len(cut) // 2])
    with pytest.raises(InvalidInput, match=rf"^cannot read {re.escape(str(tmp_path))}/cut\.json\.gz: .*EOF"):
        make(tmp_path / "cut.json.gz")
    (tmp_path / "some.csv").write_text(f"t\n{DAY}\nnoon\n")
    with pytest.raises(
        InvalidInput, match=r"^50\.000% of the rows are bad, more than the 10\.000% of --max-bad: 1 row:"
    ):
        make(tmp_path / "some.csv", max_bad=0.1)
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [("trace.parquet", "old")]
    assert rates(make(tmp_path / "some.csv", max_bad=0.5)) == [1]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["trace.parquet"]


def test_the_command_writes_trace_and_page_and_prints_only_json(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"t,k\n{DAY},a\n{DAY + 2},b\nnoon,a\n")
    command = [sys.executable, "-m", "tidegate", "trace", "a.csv", "--time", "t", "--key", "k", "--output", "json"]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    document = json.loads(completed.stdout)
    assert (document["rows"], document["seconds"], document["bad"]["rows"], document["keys"]["distinct"]) == (
        2,
        3,
        1,
        2,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "trace.html", "trace.parquet"]
    assert pq.read_table(tmp_path / "trace.parquet").column("rate").to_pylist() == [1, 0, 1]
    assert completed.stderr.splitlines() == [
        "counting records per second",
        "looking for examples of bad rows",
        "filling the gaps",
        "measuring the trace",
        "counting keys",
        "warning: 33.3% of the rows are bad and not in the trace",
    ]
