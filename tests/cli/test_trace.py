"""The command `trace`, as far as it goes without Spark; with Spark it is in tests/traces/test_trace_spark.py."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tidegate.cli.trace import document, summary
from tidegate.traces.problems import Example, Problem
from tidegate.traces.result import Envelope, HotKey, Size, Skew, Trace

START = datetime(2024, 5, 1, tzinfo=UTC)
SIZE = Size(
    rows=8,
    seconds=4,
    empty=1,
    first=START,
    last=START + timedelta(seconds=3),
    mean=2.0,
    p50=2.0,
    p95=3.7,
    p99=3.94,
    max=4,
    record=None,
)
TRACE = Trace(
    path=Path("day.parquet"),
    size=SIZE,
    problems=(Problem(3, 1, (Example("/a.csv", "[noon]"),)), Problem(6, 7, ())),
    skew=Skew("user", 3, (HotKey("a", 4, 0.5), HotKey("b", 3, 0.375), HotKey(None, 1, 0.125))),
    envelope=Envelope(START, 1, (2, 0, 4, 2), (2.0, 0.0, 4.0, 2.0), (2, 0, 4, 2)),
    distribution=(0.0,) * 101,
    notations=("timestamps", "epoch seconds"),
    files=2,
    left_out=(),
)

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(tmp_path: Path, tidegate: Callable[..., Any]) -> Command:
    """Exit code and complaint of `tidegate trace a.csv …` in a folder that has this file."""
    (tmp_path / "a.csv").write_text("t,k\n1,2\n")

    def call(*words: str) -> tuple[int, str]:
        code, out, err = tidegate("trace", *words)
        assert out == ""
        return code, err

    return call


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["b.csv", "--time", "t"], "no file or folder matches 'b.csv'"),
        (["a.csv", "--time", "t", "--format", "xml"], "no format is named 'xml' (known: csv, json, parquet)"),
        (["a.csv", "--time", "t", "--unit", "m"], "no unit of time is named 'm'"),
        (["a.csv", "--time", "t", "--from", "noon"], "time 'noon' is not like 2024-05-01 or 2024-05-01T12:00:00+02:00"),
        (
            ["a.csv", "--time", "t", "--from", "2024-05-02", "--to", "2024-05-01"],
            "need --from before --to, got 2024-05-",
        ),
        (["a.csv", "--time", "t", "--max-bad", "7"], "need 0 <= --max-bad <= 1, a share of the rows, got 7"),
        (["a.csv", "--time", "t", "--cores", "0"], "need at least one core, got 0"),
        (
            ["a.csv", "--time", "t", "-o", "no/day.parquet"],
            "cannot write the trace to no/day.parquet: there is no folder no",
        ),
        (["a.csv", "--time", "t", "-o", "."], "cannot write the trace to .: it is a folder"),
        (["a.csv", "--time", "t", "-o", "a.csv"], "the trace a.csv would replace one of the logs"),
    ],
)
def test_what_cannot_be_done_is_refused_before_spark_starts(refused: Command, words: list[str], sentence: str) -> None:
    code, told = refused(*words)
    assert code == 2
    assert told.startswith(f"tidegate: {sentence}")
    assert [path.name for path in Path().iterdir()] == ["a.csv"]


def test_the_column_of_times_must_be_told(refused: Command) -> None:
    code, told = refused("a.csv")
    assert code == 2
    assert "--time" in told


def test_the_figures_for_programs_are_plain_json() -> None:
    found = json.loads(json.dumps(document(TRACE, Path("day.html"))))
    assert found == {
        "trace": "day.parquet",
        "page": "day.html",
        "files": 2,
        "left_out": [],
        "rows": 8,
        "seconds": 4,
        "empty_seconds": 1,
        "first": "2024-05-01T00:00:00+00:00",
        "last": "2024-05-01T00:00:03+00:00",
        "rate": {"mean": 2.0, "p50": 2.0, "p95": 3.7, "p99": 3.94, "max": 4, "peak_to_mean": 2.0},
        "record_bytes": None,
        "times": ["timestamps", "epoch seconds"],
        # of 8 + 1 + 7 rows
        "bad": {"rows": 1, "share": 0.0625},
        "problems": [
            {"what": "time cannot be read", "rows": 1, "examples": [{"file": "/a.csv", "value": "[noon]"}]},
            {"what": "outside --from and --to", "rows": 7, "examples": []},
        ],
        "keys": {
            "column": "user",
            "distinct": 3,
            "top1": 0.5,
            "top10": 1.0,
            "useful_tasks": 2,
            "top": [
                {"key": "a", "rows": 4, "share": 0.5},
                {"key": "b", "rows": 3, "share": 0.375},
                {"key": None, "rows": 1, "share": 0.125},
            ],
        },
    }


def test_the_figures_for_people() -> None:
    console = Console(width=100, record=True, file=StringIO())
    console.print(summary(TRACE, Path("day.html")))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert lines[lines.index(next(line for line in lines if line.startswith("records"))) :] == [
        "records   8 in 4 s, of 2 files",
        "from      2024-05-01 00:00:00 to 2024-05-01 00:00:03 UTC",
        "rate      2/s on average, p50 2, p95 3.7, p99 3.94, max 4, peak to mean 2",
        "empty     1 of 4 seconds have no record (25.0%)",
        "size      -",
        "times     timestamps, epoch seconds",
        "keys      3 in user; the hottest, 'a', has 50.00%, ten 100.00%",
        "          grouped by it, more than 2 tasks at a time cannot help",
        "bad rows  1 (6.25%)",
        "          1 time cannot be read",
        "            '[noon]' in /a.csv",
        "          7 outside --from and --to",
        "trace     day.parquet",
        "page      day.html",
    ]
    assert lines[0].startswith("      4 ┤")
