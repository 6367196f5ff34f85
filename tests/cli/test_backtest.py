import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tidegate.backtest import request as module
from tidegate.backtest import tune as search
from tidegate.backtest.tune import Score
from tidegate.capacity.profiletext import parse
from tidegate.cli.console import ENDING
from tidegate.compare.grid import grid, read
from tidegate.compare.tables import read_table
from tidegate.core import QueryFailed
from tidegate.experiment.settings import Experiment
from tidegate.report import compare as report
from tidegate.sim.batch_model import BatchModel, text

Command = Callable[..., Any]

PLAIN = ("--model", "plain.json", "--processes", "1", "--out", "found")
SMALL = ("backtest", "day.csv", "--policies", "hpa-cpu,ds2", "--max-executors", "4", *PLAIN)


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """The command answers Ctrl-C in its own way; the tests that follow do not."""
    kept = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, answer in kept.items():
        signal.signal(number, answer)


@pytest.fixture(autouse=True)
def day(tidegate: Command, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine steps of three minutes: calm, busy, calm, three times over; and a model in which an executor does 100,000
    records/s but for 1 s of each batch. The report, which takes longer than all else, is drawn for one test only.
    """
    rows = "".join(f"{180 * k},{[30, 230, 30][k % 3]}000\n" for k in range(9))
    (tmp_path / "day.csv").write_text("time,rate\n" + rows)
    plain = BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-5, tasks=12, noise=0.0)
    (tmp_path / "plain.json").write_text(text(plain))
    if "report" not in request.node.name:
        monkeypatch.setattr(report, "write", lambda comparison, path: None)


def test_text_is_a_table_with_both_references_what_to_choose_and_a_report(tidegate: Command, tmp_path: Path) -> None:
    ended = tidegate(*SMALL, "--price", "0.12")
    assert ended.code == 0
    lines = ended.out.splitlines()
    told = "1 % of the records may take more than 30 s"
    assert lines[0] == f"day.csv (27:00, up to 230 k/s) with the model of plain: {told}"
    assert lines[1].split("  ")[0] == "policy"
    names = [line.removeprefix("★").split()[0] for line in lines[2:6]]
    assert names == ["hpa-cpu", "ds2", "static", "oracle"]
    assert sum(line.startswith("★ ") for line in lines[2:6]) == 1
    assert "cost" in lines[1]
    assert any(line.startswith(("Choose ", "No policy keeps late records within 1 %")) for line in lines)
    assert lines[-1] == "report: found/report.html"
    assert (tmp_path / "found" / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    for name in ("runs.csv", "runs.parquet"):
        assert len(read_table(tmp_path / "found" / name)) == 3


def test_json_has_the_runs_the_rows_and_the_recommendation(tidegate: Command) -> None:
    ended = tidegate(*SMALL, "-p", "hpa-cpu:target=0.8", "--output", "json", "--price", "0.12", "--seeds", "2")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert [row["policy"] for row in found["policies"]] == ["hpa-cpu", "ds2", found["static"]]
    assert len(found["runs"]) == 6
    assert found["policies"][0]["options"] == {"target": 0.8}
    for row in found["policies"]:
        assert row["cost"] == pytest.approx(row["seconds"] / 3600 * 0.12)
    assert found["beyond"] is None
    assert found["tuning"] is None
    # 1,620 s at the trace's own rates: 180 * (6 * 30,000 + 3 * 230,000)
    assert {run["offered"] for run in found["runs"]} == {156_600_000}
    allowed = [row for row in found["policies"] if row["late"] <= 0.01]
    best = min(allowed, key=lambda row: row["seconds"])
    assert found["recommendation"]["policy"] == best["policy"]
    assert found["recommendation"]["within"] is True


def test_thresholds_are_for_the_policy_to_choose_unless_another_is_named(tidegate: Command) -> None:
    conditions = ("--fail-if", "late>99%", "--fail-if", "ds2:rescales>=0", "--fail-if", "static 3:cost>0")
    ended = tidegate(*SMALL, "--output", "json", *conditions)
    assert ended.code == 5
    count = next(run["rescales"]["count"] for run in json.loads(ended.out)["runs"] if run["policy"] == "ds2")
    assert ended.err.splitlines()[-2:] == [
        f'tidegate: ds2: rescales is {count}: --fail-if "ds2:rescales>=0"',
        'tidegate: static 3: cost is not known, so --fail-if "static 3:cost>0" cannot be checked',  # no --price
    ]


def test_a_trace_with_dates_is_told_by_the_clock(tidegate: Command, tmp_path: Path) -> None:
    rows = "".join(f"{1_795_000_000 + 180 * k},{[30, 230, 30][k % 3]}000\n" for k in range(9))
    (tmp_path / "dated.csv").write_text("time,rate\n" + rows)
    ended = tidegate("backtest", "dated.csv", "--policies", "static", "--max-executors", "1", *PLAIN)
    assert "Late for longest (UTC):" in ended.out
    assert re.search(r"static: at 2026-11-18 11:\d\d for ", ended.out)


def test_a_peak_that_is_too_high_comes_before_anything_else(tidegate: Command) -> None:
    ended = tidegate("backtest", "trace:day.csv", "--policies", "static", "--max-executors", "1", *PLAIN)
    assert ended.code == 0
    assert ended.out.startswith(
        "The trace's peak is too high: 230 k/s over 30 s from 3:00 on. The load exceeds 93.3 k/s, the capacity of"
        " 1 executor, for 9:00 in total. 3 executors could handle it."
    )
    assert "No policy keeps late records within 1 %; " in ended.out
    assert "Late for longest (from the trace's start):" in ended.out
    quiet = tidegate("backtest", "day.csv", "--policies", "static", "--max-executors", "1", *PLAIN, "--output", "json")
    assert json.loads(quiet.out)["beyond"]["needed"] == 3
    assert quiet.err.startswith("The trace's peak is too high")


def test_what_profiling_cost_is_told(tidegate: Command) -> None:
    words = ("backtest", "day.csv", "--policies", "twres", "--max-executors", "2", *PLAIN)
    found = json.loads(tidegate(*words, "--output", "json").out)
    spent = found["runs"][0]["profiling"]["worker_seconds"]
    assert found["policies"][0]["profiling"] == spent > 0
    assert "profiling" not in found["runs"][1]  # static needs none
    told = f"twres needs a profile of the job: {spent / 3600:.1f} worker-hours of profiling runs, not counted above"
    assert told in tidegate(*words).out


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "trace bad.csv: the file is empty"),
        ("time,rate\n", "trace bad.csv: there are no rows below the header"),
        ("time,rate\n0,5\n", "trace bad.csv: need at least two rows to determine the step, found 1"),
        ("time,rate\n0,5\n60,nan\n", "trace bad.csv, line 3: need a finite rate >= 0 records/s, found nan"),
        ("time,rate\n60,5\n0,6\n", "trace bad.csv, line 3: need increasing times, but 0 comes after 60"),
        ("time,rate\n0,0\n60,0\n", "trace bad.csv: all rates are 0: need at least one above 0"),
        (None, "trace bad.csv: cannot be read: No such file or directory"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "trace:"])
def test_bad_traces_are_refused(
    tidegate: Command, tmp_path: Path, content: str | None, sentence: str, prefix: str
) -> None:
    if content is not None:
        (tmp_path / "bad.csv").write_text(content)
    ended = tidegate("backtest", f"{prefix}bad.csv", "--policies", "ds2")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"tidegate: {sentence}")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--policies", "hpa"], "backtest: no policy is named 'hpa'; did you mean 'hpa-cpu'?"),
        (["--policies", ","], "backtest: need a policy or more, got ','"),
        (["--model", "nowhere.json"], "model nowhere.json: cannot be read"),
        (["--model", "q99"], "no model is named 'q99'"),
        (["--slo", "soon"], "duration 'soon' is not like 90s, 3m or 1h30m"),
        (["--allowed", "150%"], "backtest: allowed '150%' is no share of records below 1, like 1% or 0.01"),
        (["--max-executors", "0"], "run: need 1 <= maximum <= 10000, got 0"),
        (["--price", "-1"], "run: need 0 <= price <= 1e+09, got -1"),
        (["--price", "nan"], "run: need 0 <= price <= 1e+09, got nan"),
        (["--fail-if", "dst:late>1%"], "no policy for --fail-if is named 'dst'; did you mean 'ds2'?"),
        (["-p", "target=0.8"], "backtest: option 'target=0.8' is not POLICY:NAME=VALUE, like hpa-cpu:target=0.8"),
        (["-p", "phoebe:x=1"], "no policy of this backtest is named 'phoebe' (known: ds2, hpa-cpu)"),
        (["--tune", "daedalus"], "no policy of this backtest (--tune) is named 'daedalus' (known: best, ds2, hpa-cpu)"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_runs(tidegate: Command, words: list[str], sentence: str) -> None:
    ended = tidegate(*SMALL, *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"tidegate: {sentence}")


def test_static_cannot_be_tuned(tidegate: Command) -> None:
    ended = tidegate("backtest", "day.csv", "--policies", "static", "--tune", "static")
    assert ended.code == 2
    assert "backtest: --tune static: there are no settings to search for" in ended.err


def test_tuning_tells_both_parts_and_settings_that_can_be_used(tidegate: Command, tmp_path: Path) -> None:
    words = (*SMALL, "--tune", "ds2", "--trials", "12")
    found = json.loads(tidegate(*words, "--output", "json").out)["tuning"]
    assert found["policy"] == "ds2"
    assert found["trials"] <= 12
    assert not found["interrupted"]
    (tmp_path / "x.toml").write_text(found["toml"] + '\njobs = ["q1"]\nworkloads = ["tide"]\n')
    (tuned,) = grid(read(tmp_path / "x.toml"), "x.toml").policies
    assert dict(tuned.values) == found["options"]
    shown = tidegate(*words).out
    for told in ("first two thirds", "last third, held out", "before", f"settings: {found['flags']}"):
        assert told in shown
    assert ("On the held-out part they are better" in shown) == found["better"]
    assert ("On the held-out part they are not better" in shown) == (not found["better"])


def test_an_interrupted_search_tells_the_best_so_far(tidegate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = search.score, 0

    def score(e: Experiment, seeds: Any = (0,)) -> Score:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return real(e, seeds)

    monkeypatch.setattr(search, "score", score)
    ended = tidegate(*SMALL, "--tune", "hpa-cpu", "--output", "json")
    assert ended.code == 130
    assert json.loads(ended.out)["tuning"]["trials"] == 3
    assert "interrupted: settings are the best of 3 trials" in ended.err


def test_a_run_that_fails_is_told_and_the_others_count(tidegate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.profiled

    def simulate(e: Experiment) -> Any:
        if e.policy == "ds2":
            raise QueryFailed("out of memory")
        return real(e)

    monkeypatch.setattr(module, "profiled", simulate)
    ended = tidegate(*SMALL)
    assert ended.code == 1
    assert "1 runs failed, the first, plain/day.csv/ds2/0: out of memory" in ended.err
    assert "Choose " in ended.out


def test_profile_writes_what_policies_can_read(tidegate: Command, tmp_path: Path) -> None:
    ended = tidegate("profile", "--model", "plain.json", "--max-executors", "2", "--to", "p.csv", "--output", "json")
    assert ended.code == 0
    found = json.loads(ended.out)
    points = parse((tmp_path / "p.csv").read_text())
    assert (found["file"], found["points"]) == ("p.csv", len(points))
    assert {point.executors for point in points} == {1, 2}
    # as an option, of a file
    given = ("backtest", "day.csv", "--policies", "twres", "--max-executors", "2", *PLAIN, "-p", "twres:profile=p.csv")
    assert "profiling" not in json.loads(tidegate(*given, "--output", "json").out)["runs"][0]


def test_profile_is_not_for_spark(tidegate: Command) -> None:
    ended = tidegate("profile", "--engine", "spark")
    assert ended.code == 2
    assert "profile: the runs are simulated: need engine sim or operators, got spark" in ended.err
