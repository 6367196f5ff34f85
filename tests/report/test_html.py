"""The document: self-contained, escaped, complete, in every state of a run."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.core import Decision, Event, Observation, Step, Tick
from tidegate.report import page, render, write
from tidegate.runs import RunResult, RunSpec
from tidegate.score.figures import Figures, Latency, Rescales, Slo, Throughput
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


def test_events_are_listed_and_escaped() -> None:
    lost = Tick(Observation(5.0, 1, 1, events=(Event(65.0, "ExecutorLost", "<b>gone"),)))
    shown = own(render(page(run(), [lost])))
    assert "<td>1:05</td><td>ExecutorLost</td><td>&lt;b&gt;gone</td>" in shown


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
