"""The document: self-contained, escaped, complete, in every state of a run."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from bokeh.models.glyphs import Scatter

from tidegate.core import Decision, Event, Observation, Step, Tick
from tidegate.report import RunPage, page, render, write
from tidegate.report.charts import figures
from tidegate.report.frame import WRITERS
from tidegate.report.html import _legend
from tidegate.report.view import Unit
from tidegate.runs import RunResult, RunSpec
from tidegate.score.figures import AgainstOracle, Figures, Latency, Rescales, Slo, Throughput
from tidegate.store import Run

EVIL = "</script><script>alert(1)</script>"
ESCAPED = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
FIGURES = Figures(
    processed=10,
    lost=0,
    latency=Latency(1.0, 1.0, 4.26, 5.0, 6.0),
    slo=Slo(10, 0.1),
    workers=None,
    rescales=Rescales(),
    backlog=None,
    throughput=Throughput(None, None, None),
)
RESULT = RunResult("r", "done", figures=FIGURES, verified=False)


def tick(at: float, wish: int | None = None, reason: str = "", requested: int = 1) -> Tick:
    obs = Observation(at, 1, requested, arrival_rate=100.0 * at, backlog=None if at == 2 else at, latency=at)
    if wish is None:
        return Tick(obs)
    return Tick(obs, (Step("policy", Decision(wish, reason)),), acted=wish != requested)


def run(status: str = "done", result: RunResult | None = None, **spec: Any) -> Run:
    return Run("20260101-000000", 0.0, status, RunSpec(**{"policy": "", "slo": 10, "start": 0.0, **spec}), result)


def own(document: str) -> str:
    """The document without Bokeh's own script."""
    return re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


def text(shown: RunPage) -> str:
    """The document without charts, which take most of the time."""
    return render(replace(shown, charts=()))


TICKS = [
    tick(0),
    tick(1, 1, "hold: calm at 61%"),
    tick(2, 1, "hold: calm at 62%"),
    tick(3, 3, "rose to the peak"),
    tick(4, 2, f"fell again {EVIL}", requested=3),
]


@pytest.fixture(scope="module")
def document() -> str:
    return render(page(run(result=RESULT, job=f"q<1>{EVIL}"), TICKS))


def test_it_fetches_nothing(document: str) -> None:
    assert not re.search(r"(src|href)\s*=|<link|@import|url\(", own(document))
    assert not re.search(r"<script[^>]*\ssrc", document)
    # Bokeh's script knows an address of MathJax: a browser must not follow it
    assert (
        "Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval';" in document
    )


def test_every_chart_is_in_it(document: str) -> None:
    titles = re.findall(r"<figcaption><b>(.*?)</b>", document)
    assert titles == ["Records per second", "Executors", "Latency", "Backlog"]
    assert document.count("data-root-id") == 4


def test_what_comes_from_data_is_escaped(document: str) -> None:
    assert "<script>alert" not in document
    assert f"<h1>q&lt;1&gt;{ESCAPED}</h1>" in document
    assert "fell again &lt;/script&gt;" in own(document)


def test_each_rescale_is_told_with_its_reason_outside_the_details(document: str) -> None:
    shown = own(document).split("<details>")[0]
    assert "rose to the peak" in shown
    assert "fell again" in shown
    assert "1 → 3" in shown
    assert "3 → 2" in shown
    assert "calm" not in shown


def test_holds_are_folded_in_the_details(document: str) -> None:
    details = own(document).split("<details>")[1]
    assert "All 4 decisions" in details
    assert "0:01 to 0:02 <small>2 times</small>" in details
    assert "calm at 62%" in details
    assert "calm at 61%" not in details


def test_badges_and_figures(document: str) -> None:
    assert '<span class="badge good">done</span> <span class="badge bad">output differs</span>' in document
    assert '<p class="value">4.3 s</p>' in document
    assert '<p class="notice' not in document


def test_every_text_of_a_run_is_escaped() -> None:
    """Marks in the charts carry the same texts, as JSON inside a script."""
    steps = (Step(f"policy {EVIL}", Decision(2, f"reason {EVIL}")), Step(f"guard {EVIL}", Decision(2, f"but {EVIL}")))
    event = Event(1.0, f"Kind{EVIL}", f"message {EVIL}")
    ticks = [
        Tick(Observation(0.0, 1, 1)),
        Tick(Observation(1.0, 1, 1, latency=1.0, events=(event,)), steps, acted=True),
    ]
    result = replace(RESULT, error=f"error {EVIL}", options={f"option {EVIL}": f"value {EVIL}"})
    names = ("job", "workload", "policy", "engine", "mode", "source", "master")
    evil = run(f"status {EVIL}", result, **{name: f"{name} {EVIL}" for name in names}, options={f"o{EVIL}": EVIL})
    document = render(page(evil, ticks))
    assert "<script>alert" not in document
    texts = [*names, "policy", "reason", "guard", "but", "message", "error", "option", "value", "status"]
    assert [text for text in texts if f"{text} {ESCAPED}" not in own(document)] == []
    assert f"<td>Kind{ESCAPED}</td>" in document


def test_what_an_autoscaler_said_of_itself_is_escaped() -> None:
    condition = {"status": False, "reason": f"reason {EVIL}", "message": f"message {EVIL}"}
    watched = replace(run("running"), health=f"holding: {EVIL}", conditions={f"Type{EVIL}": condition})
    document = text(page(watched, TICKS))
    assert "<script>alert" not in document
    assert f"holding: {ESCAPED}" in document
    assert f"<td>Type{ESCAPED}</td>" in document
    assert f"<td>reason {ESCAPED}</td>" in document
    assert f"<td>message {ESCAPED}</td>" in document


def test_events_are_listed_and_escaped() -> None:
    lost = Tick(Observation(5.0, 1, 1, events=(Event(65.0, "ExecutorLost", "<b>gone"),)))
    shown = text(page(run(), [lost]))
    assert "<td>1:05</td><td>ExecutorLost</td><td>&lt;b&gt;gone</td>" in shown


def test_events_that_say_the_same_are_one_line_with_their_number() -> None:
    failing = [Tick(Observation(t, 1, 1, events=(Event(t, "SinkFailed", "disk full"),))) for t in (1.0, 61.0, 125.0)]
    shown = text(page(run(), failing))
    assert "<td>0:01 to 2:05 <small>3 times</small></td><td>SinkFailed</td><td>disk full</td>" in shown
    assert "3 in all." in shown


def test_lost_and_stalled_executors_have_a_mark_of_their_own() -> None:
    events = (Event(1.0, "ExecutorStalled", "frozen"), Event(2.0, "ExecutorLost", "gone"), Event(2.0, "Other", "x"))
    shown = page(run(), [*TICKS, Tick(Observation(5.0, 1, 1, events=events))])
    chart = figures(shown)["executors"]
    stories = dict(_marks(chart))
    assert stories["x"] == ["ExecutorStalled\nfrozen", "ExecutorLost\ngone"]
    assert stories["square"] == ["Other\nx"]
    legend = [entry.name for entry in _legend(shown.charts[1], shown)]
    assert legend[-2:] == ["event", "executor lost or stalled"]


def _marks(chart: Any) -> list[tuple[str, list[str]]]:
    scatters = [part for part in chart.renderers if isinstance(part.glyph, Scatter)]
    return [(part.glyph.marker, list(part.data_source.data["story"])) for part in scatters]


def test_a_real_run_has_clock_times_and_says_in_which_zone() -> None:
    # 2026-03-02 00:00 UTC
    started = 1_772_409_600.0
    ticks = [replace(t, observation=replace(t.observation, time=started + t.observation.time)) for t in TICKS]
    shown = own(render(page(run(start=started), ticks)))
    moment = '<time datetime="2026-03-02T00:00:03Z" title="0:03 since the start">00:00:03</time>'
    assert f"<td>{moment}</td><td><i>▲</i> 1 → 3</td>" in shown
    assert 'Times are clock times, <span id="zone">UTC</span>.' in shown
    assert "since the start, as a simulated run" not in shown


def test_a_simulated_run_counts_from_its_start_and_says_so(document: str) -> None:
    assert "Times are seconds since the start, as a simulated run has no clock time." in document
    assert "getTimezoneOffset" not in own(document)
    assert "<td>0:03</td>" in document


def test_decisions_that_are_not_listed_are_counted_and_the_marks_are_explained() -> None:
    every = [
        tick(float(t), 2 + t % 2, f"swing {'to and fro ' * (t % 3)}", requested=2 + (t + 1) % 2) for t in range(700)
    ]
    shown = text(page(run(), every))
    assert "200 more decisions are not listed: the latest 500 lines are." in shown
    assert "<span><i>▲</i> scaled up</span><span><i>▼</i> scaled down</span></p>" in shown


def test_a_ratio_to_the_oracle_is_explained_where_it_is_shown() -> None:
    cheap = replace(RESULT, figures=replace(FIGURES, oracle=AgainstOracle(seconds=100.0, ratio=0.8, violated=0.0)))
    sentence = "The oracle is the cheapest schedule that keeps the SLO. A policy that is late can cost less"
    assert sentence in text(page(run(result=cheap), TICKS))
    assert sentence not in text(page(run(result=RESULT), TICKS))


def test_health_and_conditions() -> None:
    limited = {"status": True, "reason": "TooManyExecutors", "message": "maximum 4", "since": 2.0}
    watched = replace(run("running"), health="degraded: the store is locked", conditions={"ScalingLimited": limited})
    shown = text(page(watched, TICKS))
    assert '<p class="notice bad">degraded: the store is locked</p>' in shown
    assert (
        '<td>ScalingLimited</td><td><span class="badge warn">yes</span></td><td>TooManyExecutors</td><td>0:02</td>'
        in shown
    )
    assert "<h2>Health</h2>" not in text(page(run(), TICKS))


def test_every_table_scrolls_in_a_box_of_its_own(document: str) -> None:
    tables = own(document).count("<table")
    assert tables == own(document).count('<div class="scroll" tabindex="0" role="region" aria-label="') == 2


def test_a_run_without_ticks_says_so_and_needs_no_script() -> None:
    empty = render(page(run("failed"), []))
    assert "This run failed; no tick of it was recorded" in empty
    assert "<script" not in empty


@pytest.mark.parametrize("ticks", [TICKS, TICKS[:1]])
def test_an_interrupted_run_says_so(ticks: list[Tick]) -> None:
    shown = own(render(page(run("interrupted"), ticks)))
    assert '<p class="notice warn">This run was interrupted' in shown
    assert "Executors</b>" in shown


def test_write_makes_the_folders_and_takes_any_iterable(tmp_path: Path) -> None:
    path = write(run(), iter(TICKS), tmp_path / "deep" / "report.html")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_every_unit_of_a_chart_can_be_written() -> None:
    assert {*get_args(Unit)} <= {*WRITERS}
