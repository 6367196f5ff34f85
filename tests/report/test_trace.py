"""The page of a trace: self-contained, escaped, complete."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidegate.report.trace import facts, figures, render
from tidegate.traces.problems import Example, Problem
from tidegate.traces.result import Envelope, HotKey, Size, Skew, Trace

EVIL = "</script><script>alert(1)</script>"
START = datetime(2024, 5, 1, tzinfo=UTC)


def a_trace(
    width: int = 1, problems: tuple[Problem, ...] = (), skew: Skew | None = None, name: str = "a.parquet"
) -> Trace:
    size = Size(
        rows=40,
        seconds=20,
        empty=5,
        first=START,
        last=START + timedelta(seconds=19),
        mean=2.0,
        p50=1.0,
        p95=7.5,
        p99=8.0,
        max=8,
        record=120.5,
    )
    curve = Envelope(START, width, low=(0, 1), mean=(1.5, 2.5), high=(4, 8))
    levels = tuple(0.08 * percent for percent in range(101))
    return Trace(Path(name), size, problems, skew, curve, levels, ("epoch seconds",), 3, ())


def own(document: str) -> str:
    """The document without Bokeh's own script."""
    return re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


@pytest.fixture(scope="module")
def document() -> str:
    problems = (
        Problem(1, 8, (Example(f"/logs/{EVIL}", f"1,2{EVIL}"), Example("/b.csv", "x" * 300))),
        Problem(6, 4, ()),
    )
    keys = Skew(f"user{EVIL}", 7, (HotKey(f"a{EVIL}", 10, 0.25), HotKey(None, 4, 0.1)))
    return render(a_trace(60, problems, keys, name=f"day{EVIL}.parquet"))


def test_it_fetches_nothing(document: str) -> None:
    assert not re.search(r"(src|href)\s*=|<link|@import|url\(", own(document))
    assert not re.search(r"<script[^>]*\ssrc", document)
    assert "Content-Security-Policy\" content=\"default-src 'none';" in document


def test_what_comes_from_logs_is_escaped_and_cut(document: str) -> None:
    assert "alert(1)</script>" not in document
    assert document.count("alert(1)&lt;/script&gt;") == 3  # column, file and value; the key is cut
    assert f"<code>{'x' * 100}…</code> in /b.csv" in document


def test_both_charts_the_keys_and_the_bad_rows_are_in_it(document: str) -> None:
    assert document.count("data-root-id") == 2
    assert re.findall(r"<h2>(.*?)</h2>", document) == [
        "Records per second",
        "How often which rate",
        "Hottest keys",
        "Not in the trace",
    ]
    assert "Mean, lowest and highest second of every 1 min." in document
    # 1 / 0.25
    assert "the hottest ten have 35 % of the records" in document
    assert "more than 4 tasks at a time cannot help" in document
    assert "<td>8</td><td>line cannot be parsed</td>" in document
    assert "<td>4</td><td>outside --from and --to</td>" in document
    # 8 of 40 + 8 + 4
    assert "15.4 % of the rows are bad and not in the trace" in document


def test_a_clean_short_trace_has_no_warning_no_keys_and_no_envelope() -> None:
    document = own(render(a_trace()))
    assert re.findall(r"<h2>(.*?)</h2>", document) == ["Records per second", "How often which rate"]
    assert 'class="notice' not in document
    assert "Each second." in document
    assert "lowest to highest" not in document


def test_the_figures() -> None:
    assert [(fact.label, fact.value, fact.note) for fact in figures(a_trace())] == [
        ("Records", "40", "40 in all"),
        ("Mean rate", "2/s", "median 1/s"),
        ("p95 rate", "7.5/s", "p99 8/s"),
        ("Highest rate", "8/s", "4 times the mean"),
        ("Mean record", "120 B", "before compression"),
        ("Bad rows", "0", "0 %"),
    ]
    assert [(fact.value, fact.note) for fact in facts(a_trace())] == [
        ("2024-05-01 00:00:00", "UTC"),
        ("2024-05-01 00:00:19", "UTC"),
        ("20 s", "0:20"),
        ("5", "25 %"),
        ("3", ""),
        ("epoch seconds", ""),
    ]
