import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.cli.layout import elided
from tidegate.cli.runs_view import runs_table
from tidegate.runs import RunResult, RunSpec
from tidegate.score.figures import Figures, Latency, Rescales, Slo, Throughput, Workers
from tidegate.store import Run, Store

Command = Callable[..., Any]
#: noon of a day, local time does not matter
NOW = 1_795_003_200.0
FIGURES = Figures(
    processed=100,
    lost=0,
    latency=Latency(mean=2.0, p50=2.0, p95=4.26, p99=5.0, max=6.0),
    slo=Slo(10.0, 0.0),
    workers=Workers(mean=1.5, max=2, seconds=3.0),
    rescales=Rescales(),
    backlog=None,
    throughput=Throughput(None, None, None),
)


def run(number: int, status: str = "done", **spec: Any) -> Run:
    made = RunSpec(**{"job": "orders", "policy": "hpa-cpu", "mode": "monitor", **spec})
    result = replace(RunResult.of("r", status, made), duration=90.0, figures=FIGURES, verified=True)
    ended = None if status == "running" else NOW - 3510.0
    return Run(f"20261118-1420{number:02}", NOW - 3600.0, status, made, result, ended=ended)


def lines(runs: list[Run], width: int) -> list[str]:
    return [line.plain for line in runs_table(runs, width, NOW).lines]


def test_a_wide_terminal_shows_all_columns() -> None:
    head, line = lines([run(1, workload="tide")], 200)
    assert " ".join(head.split()) == "run started length query policy mode status workload p95 executors verified"
    cells = re.split(r"  +", line)
    assert cells[0] == "20261118-142001"
    assert cells[2:] == ["1:30", "orders", "hpa-cpu", "monitor", "done", "tide", "4.3 s", "1.5", "yes"]


def test_eighty_columns_show_id_start_length_query_policy_mode_and_status() -> None:
    shown = lines([run(1, "interrupted", policy="flink-operator", job="orders-of-europe-prod")], 80)
    assert max(map(len, shown)) <= 80
    assert shown[0].split()[:7] == ["run", "started", "length", "query", "policy", "mode", "status"]
    assert shown[1].startswith("20261118-142001  ")
    assert shown[1].endswith("  monitor  interrupted")


@pytest.mark.parametrize("width", [100, 80, 70, 60, 50, 45, 40])
def test_at_any_width_ids_and_statuses_are_whole(width: int) -> None:
    shown = lines([run(1, "abandoned", job="a-rather-long-name-of-a-query"), run(2, "interrupted", job="x")], width)
    assert max(map(len, shown)) <= width
    assert re.match(r"20261118-142001 .* abandoned\b", shown[1])
    assert re.match(r"20261118-142002 .* interrupted\b", shown[2])


def test_columns_go_in_the_order_of_their_use() -> None:
    gone = [runs_table([run(1)], width, NOW).dropped for width in range(120, 30, -1)]
    order = list(dict.fromkeys(title for dropped in gone for title in dropped))
    first_gone = [next(k for k, dropped in enumerate(gone) if title in dropped) for title in order]
    by_time = [title for _, title in sorted(zip(first_gone, order, strict=True), key=lambda pair: pair[0])]
    assert by_time == ["verified", "workload", "executors", "p95", "length", "policy", "mode", "started"]


def test_a_run_that_goes_on_shows_how_long_and_a_simulated_one_its_own_time() -> None:
    table = lines([run(1, "running"), run(2, engine="sim")], 100)
    assert " 1:00:00 " in table[1]
    assert " 1:30 " in table[2]
    assert " simulated " in table[2]


def test_what_is_wrong_with_an_attachment_stands_below_its_run() -> None:
    told = "degraded: the store is locked, 212 ticks are not kept"
    shown = lines([replace(run(1, "running"), health=told), replace(run(2, "running"), health="scaling")], 80)
    assert shown[2] == f"  {told}"
    assert len(shown) == 4
    ended = replace(run(1, "done"), health="ended: the query was stopped")
    assert len(lines([ended], 80)) == 2


def test_an_unknown_latency_is_no_zero() -> None:
    nothing = replace(FIGURES, latency=Latency(0.0, 0.0, 0.0, 0.0, 0.0))
    stored = run(1)
    assert stored.result is not None
    shown = lines([replace(stored, result=replace(stored.result, figures=nothing))], 200)
    assert "0.0 s" not in shown[1]
    assert re.search(r"—\s+1\.5", shown[1])


@pytest.mark.parametrize("name", ["orders[/prod]", "[bold]", "orders\\", "[link=x]", "a[b", "ü" * 9, "日本語の注文"])
def test_names_are_shown_as_they_are(tidegate: Command, tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        store.begin(RunSpec(job=name, policy="[/red]"))
    ended = tidegate("runs", "--store", "runs.db")
    assert (ended.code, ended.err) == (0, ended.err)
    assert elided(name, 13) in ended.out
    assert "[/red]" in ended.out
    assert "active" in ended.out


def test_a_name_cannot_move_the_cursor(tidegate: Command, tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        store.begin(RunSpec(job="a\n\x1b[2Jb"))
    out = tidegate("runs", "--store", "runs.db").out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2
