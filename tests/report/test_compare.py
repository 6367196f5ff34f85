"""The page of a comparison: self-contained, escaped, the best marked, failures listed."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.compare.columns import BY_KEY, COLUMNS
from tidegate.compare.curves import RunCurves
from tidegate.compare.results import Comparison, Settings
from tidegate.report.compare import render, write
from tidegate.report.compare.html import facts
from tidegate.report.compare.page import look, page
from tidegate.report.compare.tables import overall
from tidegate.report.document import ORACLE_NOTE
from tidegate.runs import RunResult
from tidegate.score.convergence import Convergence
from tidegate.score.figures import AgainstOracle, Figures, Latency, Rescales, Slo, Throughput, Workers

EVIL = "</script><script>alert(1)</script>"
ESCAPED = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"


def run(policy: str, seconds: float, late: float, **more: Any) -> RunResult:
    """`more` are fields of the result or of its figures."""
    figures = Figures(
        processed=1000,
        lost=0,
        latency=Latency(mean=2.0, p50=1.0, p95=4.0, p99=9.0, max=12.0),
        slo=Slo(target=10, violated=late),
        workers=Workers(mean=seconds / 600, max=4, seconds=seconds, seen_seconds=seconds - 100),
        rescales=Rescales(count=3, up=2, down=1),
        backlog=None,
        throughput=Throughput(10.0, 10.0, 1.0),
        oracle=AgainstOracle(seconds=1000.0, ratio=seconds / 1000.0, violated=0.0),
    )
    figures = replace(figures, **{name: more.pop(name) for name in ("oracle", "convergence") if name in more})
    result = RunResult(f"{policy}-{more.get('seed', 0)}", "done", "q1", "steps", policy, "microbatch", duration=600)
    return replace(result, figures=figures, **more)


def failed(policy: str, **more: Any) -> RunResult:
    return replace(run(policy, 0, 0, **more), status="failed", figures=None)


def curves(policy: str, **more: Any) -> RunCurves:
    drawn = RunCurves(
        key=policy,
        job="q1",
        workload="steps",
        policy=policy,
        seed=0,
        times=(0, 300, 600),
        offered=(10.0, 20.0, 20.0),
        executors=(1, 2, 3),
        oracle=(1, 2, 2),
        latency=(1.0, float("nan"), 2.0),
        backlog=(0, 0, 0),
        ecdf=((1.0, 0.5), (2.0, 1.0)),
    )
    return replace(drawn, **more)


def comparison(runs: Sequence[RunResult], curves: Sequence[RunCurves] = (), title: str = "two policies") -> Comparison:
    return Comparison(title, tuple(runs), tuple(curves), Settings(minimum=1, maximum=8, duration=600, slo=10))


def own(document: str) -> str:
    """The document without scripts."""
    return re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


def rows(document: str) -> list[list[str]]:
    """The cells of every row of every table of policies, as texts."""
    bodies = re.findall(r'<tr data-policy="p\d+">(.*?)</tr>', document, flags=re.DOTALL)
    return [
        [" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in re.findall(r"<td.*?</td>", row)] for row in bodies
    ]


def starred(document: str) -> list[tuple[str, str]]:
    """Policies to choose, and why."""
    return re.findall(r'</i>([^<]*)</button><span class="star" title="(.*?)">★</span>', document)


def marked(document: str) -> list[str]:
    return re.findall(r'<td class="best"[^>]*><b title="best[^"]*">(.*?)</b>', document)


@pytest.fixture(scope="module")
def document() -> str:
    evil = f"ds2{EVIL}@time{{x}}"
    runs = [run("static", 2000, 0.1), run(evil, 1500, 0.2), failed("static", seed=1, error=f"Stopped: {EVIL}")]
    return render(comparison(runs, [curves("static"), curves(evil)], title=f"a < b {EVIL}"))


def test_it_fetches_nothing(document: str) -> None:
    assert not re.search(r"(src|href)\s*=|<link|@import|url\(", own(document))
    assert not re.search(r"<script[^>]*\ssrc", document)
    assert "Content-Security-Policy\" content=\"default-src 'none';" in document


def test_what_comes_from_data_is_escaped(document: str) -> None:
    assert "alert(1)</script>" not in document
    assert "<h1>a &lt; b &lt;/script&gt;" in document
    assert "Stopped: &lt;/script&gt;" in document
    # neither a column nor a format of Bokeh's in the tooltips
    assert "&#64;time&#123;x}" in document


def test_every_name_and_error_is_escaped() -> None:
    names = {name: f"{name} {EVIL}" for name in ("job", "workload", "policy")}
    finished = [run(f"policy {EVIL}", 1000, 0.0, job=names["job"], workload=names["workload"], engine=f"engine {EVIL}")]
    broken = failed(f"other {EVIL}", job=names["job"], workload=names["workload"], error=f"error {EVIL}")
    drawn = [curves(names["policy"], job=names["job"], workload=names["workload"])]
    document = render(comparison([*finished, replace(broken, run=f"run {EVIL}")], drawn, title=f"title {EVIL}"))
    assert "<script>alert" not in document
    texts = ("title", "job", "workload", "policy", "other", "engine", "run", "error")
    assert [text for text in texts if f"{text} {ESCAPED}" not in own(document)] == []


def test_a_failed_run_is_listed_and_its_policy_is_best_in_nothing(document: str) -> None:
    assert '<span class="badge bad">1 of 3 runs failed</span>' in document
    assert "<h2>Failed runs</h2>" in document
    assert "1 of 2 failed" in document
    assert marked(document) == []


def test_at_most_a_hundred_failed_runs_are_listed() -> None:
    document = render(comparison([run("a", 1000, 0.0), *(failed("a", seed=seed) for seed in range(1, 103))]))
    assert len(re.findall(r"<tr><td>a-\d+</td>", document)) == 100
    assert "2 more are not listed." in document


def test_all_charts_are_there_to_be_drawn_into_their_places(document: str) -> None:
    data = re.findall(r'<script type="application/json" id="(.*?)">(.*?)</script>', document)
    assert [name for name, _ in data] == ["plots-1", "plots0"]
    places = [place for _, plots in data for place in json.loads(plots)["items"][0]["roots"].values()]
    assert places == ["plot-1-pareto", *(f"plot0-{key}" for key in KEYS)]
    assert all(f'id="{place}"' in document for place in places)
    assert all(f'data-plots="{name}"' in document for name, _ in data)


KEYS = ("workload", "workers", "latency", "ecdf", "resources")


def test_means_over_seeds_and_cells_with_their_intervals() -> None:
    seeds = [run("a", used, 0.0, seed=seed) for seed, used in enumerate((900.0, 1000.0, 1100.0))]
    other = [run("a", 3000.0, 0.5, workload="cosine")]
    all_cells, first, second = rows(render(comparison([*seeds, *other])))
    # 4.303 * 100 / sqrt(3) = 248 seconds, 0.248 of the oracle's
    assert first[:3] == ["a ★", "1.00 ± 0.25", "1 k ± 248"]
    assert second[:3] == ["a ★", "3.00", "3 k"]
    # (1000 + 3000) / 2; the error of the mean of two is half of that of one
    assert all_cells[:4] == ["a", "2.00 ± 0.12", "2 k ± 124", "25 % ± 0 %"]


def test_the_best_of_each_column_is_marked_with_all_that_read_the_same() -> None:
    document = render(comparison([run("a", 2000, 0.0), run("b", 1500, 0.2), run("c", 1500.1, 0.0)]))
    # twice, over all cells and in the only one: the ratio and worker-seconds of b and c, nobody late of a and c;
    # in the cell also 2.5 workers of b and c; all else is the same for all
    all_cells, cell = document.split("Cell by cell")
    assert sorted(marked(all_cells)) == ["0 %", "0 %", "1.5 k", "1.5 k", "1.50", "1.50"]
    assert sorted(marked(cell)) == ["0 %", "0 %", "1.5 k", "1.5 k", "1.50", "1.50", "2.50", "2.50"]
    # b uses the least, c a little more and is never late; a is beaten by c
    assert "late records than <b>b</b>, <b>c</b>." in document


def test_the_policy_to_choose_has_a_star_in_each_cell() -> None:
    """As in the terminal: the fewest worker-seconds within what is allowed, else the fewest late records."""
    steps = [run("a", 2000, 0.0), run("b", 1500, 0.01), run("c", 1000, 0.011)]
    cosine = [run("a", 2000, 0.3, workload="cosine"), run("b", 1500, 0.2, workload="cosine")]
    both = comparison([*steps, *cosine])
    within, none = (
        "to choose: fewest worker-seconds of those late for at most 1 %",
        "to choose: fewest late records, as none is late for at most 1 %",
    )
    document = render(both)
    assert starred(document) == [("b", within), ("b", none)]
    # explained below each of the two tables that have it, not below the one over all cells
    legend = '<span class="star">★</span> to choose: fewest worker-seconds of those late for at most 1 %; where none is'
    assert document.count(legend) == 2
    assert starred(render(replace(both, allowed=0.2))) == [
        ("c", within.replace("1 %", "20 %")),
        ("b", within.replace("1 %", "20 %")),
    ]


def test_worker_seconds_are_those_paid_for_with_those_seen_as_a_note() -> None:
    _, cell = render(comparison([run("a", 2000, 0.0), run("b", 1500, 0.0)])).split("Cell by cell")
    assert '<td title="1.9 k seen">2 k</td>' in cell
    assert '<td class="best" title="1.4 k seen"><b title="best, 1.4 k seen">1.5 k</b></td>' in cell


def test_one_policy_wins_nothing() -> None:
    document = render(comparison([run("a", 2000, 0.1)]))
    assert marked(document) == []
    assert "Who wins" not in document
    assert "one seed each, so chance is not shown" in document
    assert "±" not in own(document).split("<h2>What the columns mean")[0].replace("<style>", "")


def test_without_an_oracle_resources_are_worker_seconds() -> None:
    runs = [run("a", 2000, 0.1, oracle=None), run("b", 1000, 0.2, oracle=None)]
    document = render(comparison(runs, [curves("a", oracle=None), curves("b", oracle=None)]))
    assert "÷ oracle" not in document
    assert "÷ the oracle" not in document
    assert "The oracle is the cheapest schedule" not in document
    assert "</i>oracle</span>" not in document


def test_a_change_that_was_never_followed_is_shown_and_not_the_best() -> None:
    late = run("a", 2000, 0.1, convergence=(Convergence(1, 20.0, 1), Convergence(2, None, None)))
    never = run("b", 2000, 0.1, convergence=(Convergence(1, None, None),))
    slow = run("c", 2000, 0.1, convergence=(Convergence(1, 40.0, 2),))
    document = render(comparison([late, never, slow]))
    assert [row[-1] for row in rows(document)[3:]] == ["20 s 1 never", "never", "40 s"]
    assert marked(document) == ["40 s"]


@pytest.mark.parametrize("settings", [Settings(600, 10, 2, 8, "microbatch"), Settings(minimum=2, maximum=8)])
def test_the_facts_are_what_was_compared(settings: Settings) -> None:
    """What the settings do not say is taken from the runs."""
    shown = page(Comparison("one", (run("a", 1000, 0.0),), settings=settings))
    assert [(fact.label, fact.value, fact.note) for fact in facts(shown)] == [
        ("Policies", "1", ""),
        ("Jobs", "1", "q1"),
        ("Workloads", "1", "steps"),
        ("Seeds", "1", "0"),
        ("Duration", "10:00", "each run"),
        ("Executors", "2 to 8", ""),
        ("SLO", "10 s", ""),
        ("Engine", "microbatch", ""),
    ]


def test_nothing_finished() -> None:
    document = render(comparison([failed("a", error="no")]))
    assert "No run was finished." in document
    assert "application/json" not in document


def test_charts_of_the_first_forty_cells_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.report.compare.html.DRAWN", 1)
    runs = [run("a", 1000, 0.0, job=job) for job in ("q1", "q2", "q3")]
    document = render(comparison(runs, [curves("a", job=job) for job in ("q1", "q2", "q3")]))
    assert "first 1 cells; 2 more have tables only" in document
    assert re.findall(r'id="(plots.*?)"', document) == ["plots-1", "plots0"]


def test_every_column_is_explained_and_fourteen_policies_look_different() -> None:
    assert all(column.note.endswith(".") for column in COLUMNS)
    assert len({(look(index).colour, look(index).dash) for index in range(14)}) == 14


def test_a_cell_knows_its_slo_and_its_oracle() -> None:
    (cell,) = page(comparison([run("a", 2000, 0.1), run("a", 2200, 0.1, seed=1)])).cells
    assert cell.target == 10
    assert cell.oracle_seconds is not None
    assert cell.oracle_seconds.mean == 1000
    assert cell.estimates(BY_KEY["seconds"])["a"].mean == 2100


def test_it_is_written_with_its_folders(tmp_path: Path) -> None:
    path = write(comparison([run("a", 1000, 0.0)]), tmp_path / "new" / "page.html")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_every_mark_of_a_table_is_explained_below_it_and_no_other() -> None:
    """Two seeds have an interval; the policy that is late costs less than the oracle."""
    seeds = [run("a", 1100.0, 0.0), run("a", 1300.0, 0.0, seed=1), run("b", 500.0, 0.4), run("b", 520.0, 0.4, seed=1)]
    all_cells, cell = _legends(render(comparison(seeds)))
    star = "★ to choose: fewest worker-seconds of those late for at most 1 %; where none is, fewest late records"
    marks = ["1.0 best of its column", "± 95 % confidence interval over seeds", ORACLE_NOTE]
    assert cell == [star, *marks]
    assert all_cells == marks


def test_latencies_of_zero_are_unknown_and_the_dash_is_explained() -> None:
    untimed = run("a", 900.0, 0.0)
    assert untimed.figures is not None
    untimed = replace(untimed, figures=replace(untimed.figures, latency=Latency(0.0, 0.0, 0.0, 0.0, 0.0)))
    table = overall(page(comparison([untimed, run("b", 800.0, 0.0)])))
    latency = [column.key for column in table.columns].index("p95")
    assert [row.scores[latency].text for row in table.rows] == ["—", "4 s"]
    assert table.unknowns
    assert not overall(page(comparison([run("b", 800.0, 0.0)]))).unknowns


def _legends(document: str) -> list[list[str]]:
    legends = re.findall(r'<p class="hint legend">(.*?)</p>', document, flags=re.DOTALL)
    texts = [re.split(r"</span><span|</span>\s*<span(?= class=\"best\")", legend) for legend in legends]
    return [[" ".join(re.sub(r"<[^>]*>|^[^<]*?>", " ", text).split()) for text in parts] for parts in texts]


def test_tables_scroll_in_boxes_of_their_own(document: str) -> None:
    boxes = document.count('<div class="scroll" tabindex="0" role="region" aria-label="')
    assert boxes == own(document).count("<table") == 3
