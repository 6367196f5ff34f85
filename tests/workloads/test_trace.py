from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tidegate.core import InvalidInput
from tidegate.workloads import Shape, Steps, named

START = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that error messages contain relative file names."""
    monkeypatch.chdir(tmp_path)


def trace_of(text: str, option: str = "") -> Shape:
    Path("day.csv").write_text(text, encoding="utf-8")
    return named(f"trace:day.csv{option}")


def error_of(text: str, option: str = "") -> str:
    with pytest.raises(InvalidInput) as caught:
        trace_of(text, option)
    return str(caught.value)


def parquet_of(**columns: object) -> str:
    parquet.write_table(pa.table(columns), "day.parquet")
    return "trace:day.parquet"


@pytest.mark.parametrize(
    "text",
    [
        "time,rate\n0,5\n60,0\n120,7.5\n",
        "0,5\n60,0\n120,7.5\n",  # no header
        "Rate , TIME,host\n5,1714564800,a\n0,1714564860,b\n7.5,1714564920,c\n",  # any order, extra columns, epoch times
        "\ufefftime,rate\r\n\r\n0,5\r\n60,0\r\n120,7.5\r\n\r\n",  # as Excel writes it
        "time,rate\n2024-05-01T12:00:00Z,5\n2024-05-01T12:01:00Z,0\n2024-05-01T14:02:00+02:00,7.5\n",
        "2024-05-01 12:00:00,5\n2024-05-01 12:01:00,0\n2024-05-01 12:02:00,7.5\n",
        "-60,5e0\n0,0\n60,7.5\n",
    ],
)
def test_csv_variants(text: str) -> None:
    assert trace_of(text) == Steps(180, levels=(5, 0, 7.5))


def test_a_single_column_is_one_rate_per_second() -> None:
    assert trace_of("3\n0\n\n4\n") == Steps(3, levels=(3, 0, 4))
    assert trace_of("3\n") == Steps(1, levels=(3,))


def test_small_deviations_of_the_clock_are_tolerated() -> None:
    assert trace_of("0,1\n0.98,2\n2.0,3\n3,4\n") == Steps(4, levels=(1, 2, 3, 4))


def test_a_trace_is_native_or_scaled() -> None:
    native = trace_of("0,5\n60,0\n120,10\n")
    assert (native.duration, native.highest(), native.total(180)) == (180, 10, 900)
    # 6 s, the peak 1000: two seconds each at 500/s, 0/s and 1000/s
    assert named("trace:day.csv", 6, 1000) == Steps(6, levels=(500, 0, 1000))
    assert named("trace:day.csv", 6, 1000, seed=1, noise=0.5) == Steps(6, levels=(500, 0, 1000)).noisy(1, 0.5)


def test_a_file_that_changes_is_read_again() -> None:
    assert trace_of("1\n2\n").highest() == 2
    assert trace_of("1\n2\n3\n").highest() == 3


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_parquet_with_timestamps(unit: str, zone: str | None) -> None:
    times = pa.array([START + timedelta(seconds=k) for k in range(3)], pa.timestamp("us", "UTC"))
    name = parquet_of(time=times.cast(pa.timestamp(unit, zone)), rate=pa.array([5, 0, 7]), backlog=[1, 2, 3])
    assert named(name) == Steps(3, levels=(5, 0, 7))


@pytest.mark.parametrize("times", [[0, 60, 120], [0.0, 60.0, 120.0], ["2024-01-01", "2024-01-02", "2024-01-03"]])
def test_parquet_with_other_times(times: list[object]) -> None:
    step = 86_400 if isinstance(times[0], str) else 60
    assert named(parquet_of(rate=[5.5, 0.0, 7.0], time=times)) == Steps(3 * step, levels=(5.5, 0, 7))


def test_gaps_are_filled_on_request() -> None:
    # 2, 3 and 4 are missing, and 7 and 8
    text = "time,rate\n0,5\n1,6\n5,7\n6,8\n9,9\n"
    assert error_of(text) == (
        "trace day.csv, line 4: gap: 5 comes 4 s after the previous row, the usual step is 1 s; "
        "fill gaps with zeros or with the previous rate: trace:day.csv?gaps=zero or trace:day.csv?gaps=hold"
    )
    assert trace_of(text, "?gaps=zero") == Steps(10, levels=(5, 6, 0, 0, 0, 7, 8, 0, 0, 9))
    assert trace_of(text, "?gaps=hold") == Steps(10, levels=(5, 6, 6, 6, 6, 7, 8, 8, 8, 9))
    assert trace_of("0,1\n1,2\n", "?gaps=zero") == Steps(2, levels=(1, 2))  # nothing to fill


def test_the_error_for_a_gap_in_parquet_has_row_and_time() -> None:
    times = pa.array([START + timedelta(seconds=k) for k in (0, 1, 2, 10)], pa.timestamp("us", "UTC"))
    with pytest.raises(InvalidInput, match=r"^trace day.parquet, row 4: gap: 2024-05-01 12:00:10\S* comes 8 s after"):
        named(parquet_of(time=times, rate=[1, 2, 3, 4]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty"),
        ("\n \n", ": the file is empty"),
        ("time,rate\n", ": there are no rows below the header"),
        ("time,value\n0,1\n", ": need the columns time and rate, found time, value"),
        ("rate\n1\n2\n", ": need the columns time and rate, found rate"),
        ("0,1,2\n1,1,2\n", ": 3 columns need a header that names time and rate, found none"),
        ("time,rate\n0,1\n1\n", ", line 3: need 2 values, as in the first line, found 1"),
        ("time,rate\n0,1\n\n1,many\n", ", line 4: need a finite rate >= 0 records/s, found 'many'"),
        ("0,1\n1,\n", ", line 2: need a finite rate >= 0 records/s, found nothing"),
        ("0,1\n1,nan\n", ", line 2: need a finite rate >= 0 records/s, found nan"),
        ("0,1\n1,inf\n", ", line 2: need a finite rate >= 0 records/s, found inf"),
        ("0,1\n1,-3\n", ", line 2: need a finite rate >= 0 records/s, found -3"),
        ("5\n-1\n", ", line 2: need a finite rate >= 0 records/s, found -1"),
        ("0,1\nsoon,2\n", ", line 2: need seconds or an ISO 8601 time, found 'soon'"),
        ("0,1\nnan,2\n", ", line 2: need seconds or an ISO 8601 time, found nan"),
        ("0,1\n,2\n", ", line 2: need seconds or an ISO 8601 time, found nothing"),
        ("0,1\n2,1\n1,1\n", ", line 3: need increasing times, but 1 comes after 2"),
        ("time,rate\n0,1\n1,1\n1,1\n", ", line 4: need increasing times, but 1 comes after 1"),
        (
            "0,1\n1,1\n2,1\n2.5,1\n",
            ", line 4: need equal steps, but 2.5 comes 0.5 s after the previous row, the usual step is 1 s",
        ),
        ("0,1\n", ": need at least two rows to determine the step, found 1"),
        ("0,0\n1,0\n", ": all rates are 0: need at least one above 0"),
        ("0\n0\n", ": all rates are 0: need at least one above 0"),
        ("0,1\n1,1e308\n", ", line 2: need a rate of at most 1e+12 records/s, found 1e+308"),
        ("0,1\n1e15,1\n", ", line 2: need a time within 1e+12 s of 1970, found 1e15"),
        ("0,1\n1e-9,1\n", ": need a step of at least 0.001 s, the usual one is 1e-09"),
        ("time,rate,rate\n0,1,2\n", ": need one column time and one column rate, found time, rate, rate"),
        ("0,1\n" + "9" * 400 + ",1\n", ", line 2: need seconds or an ISO 8601 time, found " + "9" * 60),
    ],
)
def test_errors_for_invalid_csv_name_the_place(text: str, message: str) -> None:
    assert error_of(text) == f"trace day.csv{message}"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"time": [0, 1], "load": [1, 2]}, ": need the columns time and rate, found time, load"),
        ({"time": [0, 1], "rate": [1, -2]}, ", row 2: need a finite rate >= 0 records/s, found -2"),
        ({"time": [0, 1], "rate": [1, None]}, ", row 2: need a finite rate >= 0 records/s, found nothing"),
        ({"time": [0, 1], "rate": ["1", "b"]}, ", row 2: need a finite rate >= 0 records/s, found 'b'"),
        ({"time": [0, 1], "rate": [float("nan"), 1]}, ", row 1: need a finite rate >= 0 records/s, found nan"),
        ({"time": [0, None], "rate": [1, 2]}, ", row 2: need seconds or an ISO 8601 time, found nothing"),
        ({"time": [START, None], "rate": [1, 2]}, ", row 2: need seconds or an ISO 8601 time, found nothing"),
        ({"time": [1, 0], "rate": [1, 2]}, ", row 2: need increasing times, but 0 comes after 1"),
        ({"time": [0, 1], "rate": [1, 1e308]}, ", row 2: need a rate of at most 1e+12 records/s, found 1e+308"),
        ({"time": [0, 1], "rate": [[1], [2]]}, ", row 1: need a finite rate >= 0 records/s, found [1]"),
        ({"time": pa.array([], pa.int64()), "rate": pa.array([], pa.int64())}, ": the file has no rows"),
    ],
)
def test_errors_for_invalid_parquet_name_the_place(columns: dict[str, object], message: str) -> None:
    name = parquet_of(**columns)
    with pytest.raises(InvalidInput) as caught:
        named(name)
    assert str(caught.value) == f"trace day.parquet{message}"


def test_files_that_cannot_be_read() -> None:
    for name, message in {
        "trace:none.csv": "trace none.csv: cannot be read: No such file or directory",
        "trace:.": "trace .: cannot be read: Is a directory",
        "trace:": "workload trace:: need a file, as in trace:day.csv",
        "trace:none.csv?gaps=no": "trace none.csv: option 'gaps=no' is neither gaps=zero nor gaps=hold",
        "trace:none.csv?zero": "trace none.csv: option 'zero' is neither gaps=zero nor gaps=hold",
    }.items():
        with pytest.raises(InvalidInput) as caught:
            named(name)
        assert str(caught.value) == message


def test_files_of_other_kinds() -> None:
    Path("image.csv").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(InvalidInput, match=r"^trace image.csv: is neither Parquet nor CSV in UTF-8$"):
        named("trace:image.csv")
    Path("cut.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInput, match=r"^trace cut.parquet: cannot be read as Parquet: "):
        named("trace:cut.parquet")


@pytest.mark.parametrize("gaps", ["zero", "hold"])
def test_a_gap_of_years_is_not_filled(gaps: str) -> None:
    Path("day.csv").write_text("time,rate\n0,5\n1,5\n2,7\n1e9,3\n")
    with pytest.raises(InvalidInput) as caught:
        named(f"trace:day.csv?gaps={gaps}")
    assert str(caught.value) == (
        "trace day.csv, line 5: gap: 1e9 comes 1e+09 s after the previous row, which is 999,999,997 steps: "
        "need at most 5,000,000 steps in a trace whose gaps are filled"
    )


def test_gaps_that_are_too_long_together_are_not_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.workloads.trace.MOST_FILLED", 20)
    Path("day.csv").write_text("time,rate\n0,5\n1,5\n2,7\n10,3\n18,3\n")  # 5 rows and 14 that are missing
    assert named("trace:day.csv?gaps=zero").duration == 19
    Path("day.csv").write_text("time,rate\n0,5\n1,5\n2,7\n10,3\n20,3\n")
    with pytest.raises(InvalidInput, match="which is 9 steps: need at most 20 steps"):
        named("trace:day.csv?gaps=zero")


def test_more_lines_or_rows_than_a_trace_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.workloads.tracefile.MOST_LINES", 2)
    assert error_of("0,1\n1,1\n2,1\n") == "trace day.csv: need at most 2 lines, it has more: write it as Parquet"
    monkeypatch.setattr("tidegate.workloads.tracefile.MOST_ROWS", 2)
    name = parquet_of(time=[0, 1, 2], rate=[1, 2, 3])
    with pytest.raises(InvalidInput, match=r"^trace day.parquet: need at most 2 rows, it has 3$"):
        named(name)


def test_a_parquet_file_with_two_columns_of_a_name() -> None:
    column = pa.array([0, 1])
    parquet.write_table(pa.table([column, column, column], names=["time", "rate", "rate"]), "day.parquet")
    with pytest.raises(InvalidInput, match="need one column time and one column rate, found time, rate, rate"):
        named("trace:day.parquet")


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(InvalidInput, match="cannot be read: embedded null byte"):
        named("trace:a\x00b.csv")
