"""Traces from logs, as far as they work without Spark: files, requests, drafts and errors."""

import bz2
import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidegate.core import InvalidInput, QueryFailed, UnknownName
from tidegate.traces import Request, Span
from tidegate.traces.columns import of_header, of_lines, resolve, schema_of
from tidegate.traces.errors import translate
from tidegate.traces.inputs import Source, find, first_line
from tidegate.traces.job import check_request, good_rows
from tidegate.traces.problems import GOOD, OUTSIDE, Example, Problem, Total
from tidegate.traces.result import HotKey, Skew
from tidegate.traces.row_size import mean_row_size
from tidegate.traces.session import Machine
from tidegate.traces.time_units import unit_of
from tidegate.traces.writing import draft


def put(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_files_are_grouped_by_how_they_are_read(tmp_path: Path) -> None:
    a, b = put(tmp_path / "a.csv", "t,k\n1,2\n"), put(tmp_path / "b.csv", "t,k\n3,4\n")
    c, d = put(tmp_path / "c.csv", "k,t\n5,6\n"), put(tmp_path / "d.tsv", "t\tk\n")
    e = put(tmp_path / "e.ndjson", "{}\n")
    inputs = find([str(tmp_path / "*.csv"), d, e])
    assert inputs.sources == (
        Source("csv", (a, b), "t,k", ","),
        Source("csv", (c,), "k,t", ","),
        Source("csv", (d,), "t\tk", "\t"),
        Source("json", (e,)),
    )
    assert inputs.files == (a, b, c, d, e)
    assert find([a], separator=";").sources == (Source("csv", (a,), "t,k", ";"),)


def test_a_folder_is_searched_and_skipped_files_are_listed(tmp_path: Path) -> None:
    inner = put(tmp_path / "2024" / "day=1" / "a.parquet", "x")
    page, empty = put(tmp_path / "trace.html", "x"), put(tmp_path / "b.csv", "")
    put(tmp_path / "_SUCCESS", "x")
    put(tmp_path / ".a.parquet.crc", "x")
    put(tmp_path / "_temporary" / "half.parquet", "x")
    inputs = find([str(tmp_path)])
    assert inputs.sources == (Source("parquet", (inner,), base=str(tmp_path)),)
    assert inputs.left_out == (empty, page)


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = put(tmp_path / "a.json", "{}\n")
    assert find([path, str(tmp_path), str(tmp_path / "*.json"), f"file://{path}"]).files == (path,)


def test_an_existing_name_with_a_star_is_taken_literally(tmp_path: Path) -> None:
    path = put(tmp_path / "a*.json", "{}\n")
    put(tmp_path / "ab.json", "{}\n")
    assert find([path]).files == (path,)


def test_an_explicit_format_overrides_the_extensions(tmp_path: Path) -> None:
    path = put(tmp_path / "part-0000", "{}\n")
    assert find([str(tmp_path)], format="json").sources == (Source("json", (path,)),)
    assert find([path], format="json").files == (path,)


def test_urls_are_left_to_spark() -> None:
    assert find(["hdfs://host/logs/*.csv.gz"]).sources == (Source("csv", ("hdfs://host/logs/*.csv.gz",)),)
    with pytest.raises(
        InvalidInput, match=r"^hdfs://host/logs does not end in one of \.csv, .*: set its format with --form"
    ):
        find(["hdfs://host/logs"])


def test_a_pattern_without_matches_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^no file or folder matches '.*nothing-\*\.csv' \(looked in "):
        find([str(tmp_path / "nothing-*.csv")])
    with pytest.raises(InvalidInput, match=r"^the folder .* has no files$"):
        find([str(tmp_path)])
    path = put(tmp_path / "notes.txt", "x")
    with pytest.raises(
        InvalidInput, match=r"notes\.txt does not end in one of \.csv, \.tsv, .*: set its format with --format"
    ):
        find([path])
    with pytest.raises(InvalidInput, match=r"^nothing to read: .*notes\.txt is empty or does not end in one of \.csv"):
        find([str(tmp_path)])


def test_the_first_line_has_no_line_end_and_no_byte_order_mark(tmp_path: Path) -> None:
    plain, gzipped, bzipped = (tmp_path / name for name in ("a.csv", "a.csv.gz", "a.csv.bz2"))
    plain.write_bytes(b"\xef\xbb\xbft,k\r\n1,2\r\n")
    gzipped.write_bytes(gzip.compress(b"t,k\n1,2\n"))
    bzipped.write_bytes(bz2.compress(b"t,k\n1,2\n"))
    assert [first_line(path) for path in (plain, gzipped, bzipped)] == ["t,k"] * 3
    gzipped.write_bytes(b"no gzip")
    with pytest.raises(InvalidInput, match=r"^cannot read .*a\.csv\.gz: Not a gzipped file"):
        first_line(gzipped)


def test_a_trace_cannot_replace_its_logs(tmp_path: Path) -> None:
    path = put(tmp_path / "trace.parquet", "x")
    with pytest.raises(InvalidInput, match=r"^the trace .*trace\.parquet would replace one of the logs"):
        check_request(Request((str(tmp_path),), time="t", output=Path(path)))


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidInput, match=r"^cannot write the trace to .*: there is no folder .*/none$"),
        draft(tmp_path / "none" / "a"),
    ):
        pass
    with pytest.raises(InvalidInput, match=r"^cannot write the trace to .*: it is a folder$"), draft(tmp_path):
        pass


def test_an_unpublished_draft_leaves_the_target_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "trace.parquet"
    put(target, "old")
    with draft(target) as output:
        put(output.parts / "part-0.parquet", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["trace.parquet"]
    assert target.read_text() == "old"
    with draft(target) as output:
        put(output.parts / "part-0.parquet", "new")
        assert target.read_text() == "old"
        output.publish()
    assert [path.name for path in tmp_path.iterdir()] == ["trace.parquet"]
    assert target.read_text() == "new"


def test_an_empty_draft_cannot_be_published(tmp_path: Path) -> None:
    with (
        draft(tmp_path / "a.parquet") as output,
        pytest.raises(InvalidInput, match=r"need access to the folder of -o$"),
    ):
        output.publish()


@pytest.mark.parametrize(
    ("number", "unit"),
    [
        (0, "s"),
        (-1_000_000_000, "s"),
        (99_999_999_999, "s"),
        (100_000_000_000, "ms"),
        (1_700_000_000_000, "ms"),
        (100_000_000_000_000, "us"),
        (100_000_000_000_000_000, "ns"),
        (1_700_000_000.25, "s"),
    ],
)
def test_the_magnitude_of_a_number_implies_its_unit(number: float, unit: str) -> None:
    assert unit_of(number) == unit


def test_a_column_with_a_dot_in_its_name_takes_precedence_over_a_nested_one() -> None:
    assert resolve("a.b", [("a",), ("a", "b"), ("a.b",)], "x") == ("a.b",)
    assert resolve("a.b", [("a",), ("a", "b")], "x") == ("a", "b")


def test_a_column_nested_in_another_selected_one_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"^column a\.b is nested in another column that is also selected$"):
        schema_of([("a",), ("a", "b")])


def test_lines_that_are_not_objects_have_no_fields() -> None:
    assert of_lines(["", "[1]", "{", '"a"', "null", "[" * 100_000]) == set()


def test_fields_below_many_levels_are_not_looked_for() -> None:
    fields = of_lines(['{"a":' * 500 + "1" + "}" * 500])
    assert max(len(path) for path in fields) == 64


def test_headers_that_are_none_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^the first line 'x+\.\.\.x+' is no CSV: field larger than field limit"):
        of_header("x" * 200_000, ",", True)
    with pytest.raises(InvalidInput, match=r"need a first line of at most 1,048,576 bytes$"):
        first_line(Path(put(tmp_path / "a.csv", "x" * 1_100_000)))


def test_invalid_requests_are_errors() -> None:
    with pytest.raises(
        UnknownName, match=r"no format is named 'cvs'; did you mean 'csv'\? \(known: csv, json, parquet\)"
    ):
        Request(("a",), time="t", format="cvs")
    with pytest.raises(InvalidInput, match="need 0 <= --max-bad <= 1, a share of the rows, got 5"):
        Request(("a",), time="t", max_bad=5)
    with pytest.raises(InvalidInput, match="need a single character as column separator, got '::'"):
        Request(("a",), time="t", separator="::")
    with pytest.raises(InvalidInput, match="need --earliest before --latest, got 1990-01-01 00:00:00, 1980-"):
        Span(latest=datetime(1980, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidInput, match="need at least one core, got 0"):
        Machine(cores=0)
    with pytest.raises(InvalidInput, match="--cores is for local mode only: with --master yarn the cluster decides"):
        Machine(master="yarn", cores=2)


def test_a_master_on_this_machine_is_local() -> None:
    assert Machine().is_local
    assert Machine("spark://127.0.0.1:7077").is_local
    assert not Machine("spark://host:7077").is_local
    assert not Machine("yarn").is_local


def total(rows: int) -> Total:
    return Total(rows, None, 1, 0, 9)


def test_the_error_for_no_usable_row_lists_the_reasons() -> None:
    problems = [Problem(1, 3, (Example("/a.csv", "1,2"),)), Problem(2, 4, (Example("/a.csv", None),))]
    with pytest.raises(InvalidInput) as caught:
        good_rows({1: total(3), 2: total(4)}, problems, None)
    assert str(caught.value) == (
        "none of the 7 rows has a usable time: 3 rows: line cannot be parsed, such as '1,2' in /a.csv; 4 rows: no time"
    )
    with pytest.raises(InvalidInput, match=r"^the logs have no rows$"):
        good_rows({}, [], None)


def test_too_many_bad_rows_are_an_error_and_rows_outside_are_not_bad() -> None:
    problems = [Problem(2, 1, ()), Problem(OUTSIDE, 50, ())]
    totals = {GOOD: total(49), 2: total(1), OUTSIDE: total(50)}
    assert good_rows(totals, problems, 0.01) == total(49)  # 1 of 100
    with pytest.raises(InvalidInput) as caught:
        good_rows(totals, problems, 0.005)
    assert str(caught.value) == "1.000% of the rows are bad, more than the 0.500% of --max-bad: 1 row: no time"


@pytest.mark.parametrize(("share", "tasks"), [(1.0, 1), (0.5, 2), (0.3, 4), (0.1, 10), (1 / 3, 3), (0.0001, 10_000)])
def test_the_hottest_key_limits_the_useful_tasks(share: float, tasks: int) -> None:
    assert Skew("user", 10, (HotKey("a", 1, share),)).useful_tasks == tasks


def test_the_row_size_is_known_only_for_readable_local_parquet() -> None:
    assert mean_row_size([Source("csv", ("/a.csv",))]) is None
    assert mean_row_size([Source("parquet", ("hdfs://host/a.parquet",))]) is None
    assert mean_row_size([Source("parquet", ("/there/is/none.parquet",))]) is None


def test_spark_errors_become_one_sentence() -> None:
    lost = translate(
        "An error occurred while calling o1.collect.\n: java.io.IOException: No space left\n\tat a.B.c(B.java:1)"
    )
    assert isinstance(lost, QueryFailed)
    assert str(lost) == "Spark could not count the logs: java.io.IOException: No space left"
    scheme = translate("An error\n: X: y\nCaused by: java.lang.ClassNotFoundException: Class a.S3AFileSystem not found")
    assert isinstance(scheme, InvalidInput)
    assert str(scheme) == "java.lang.ClassNotFoundException: Class a.S3AFileSystem not found"
