import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tidegate.cli.compare_view import legend
from tidegate.cli.console import ENDING
from tidegate.compare import cell_runner
from tidegate.compare.tables import read_table
from tidegate.core import QueryFailed
from tidegate.experiment.settings import Experiment
from tidegate.report import compare as report

Command = Callable[..., Any]

#: runs of ten simulated minutes in this process
SMALL = ("compare", "--duration", "10m", "--rate", "100k", "--processes", "1", "--out", "found")
TWO = (*SMALL, "--policies", "static,hpa-cpu", "--seeds", "2")


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """The command answers Ctrl-C in its own way; the tests that follow do not."""
    kept = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, answer in kept.items():
        signal.signal(number, answer)


@pytest.fixture
def trouble(monkeypatch: pytest.MonkeyPatch) -> dict[str, BaseException]:
    """What the runs of a policy are to raise."""
    found: dict[str, BaseException] = {}

    def simulate(e: Experiment) -> Any:
        if e.policy in found:
            raise found[e.policy]
        return real.simulate(e)

    real = cell_runner.simulators()
    monkeypatch.setattr(cell_runner, "simulators", lambda: cell_runner.Bench(simulate, real.oracles))
    return found


def test_json_is_the_runs_and_nothing_else(tidegate: Command, tmp_path: Path) -> None:
    ended = tidegate(*TWO, "-p", "hpa-cpu:target=0.8", "-p", "hpa-cpu:down-window=1m", "--output", "json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert list(found) == ["runs"]
    assert [run["run"] for run in found["runs"]] == [
        "q1/tide/static/0",
        "q1/tide/static/1",
        "q1/tide/hpa-cpu/0",
        "q1/tide/hpa-cpu/1",
    ]
    assert found["runs"][2]["options"] == {"target": 0.8, "down-window": 60.0}
    assert {(run["status"], run["engine"], run["source"]) for run in found["runs"]} == {("done", "sim", "simulated")}
    for name in ("runs.csv", "runs.parquet"):
        assert [row["run"] for row in read_table(tmp_path / "found" / name)] == [run["run"] for run in found["runs"]]
    assert (tmp_path / "found" / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_text_is_a_table_with_the_best_marked_and_what_failed_told_at_the_end(
    tidegate: Command, trouble: dict[str, BaseException]
) -> None:
    trouble["hpa-cpu"] = QueryFailed("out of memory")
    ended = tidegate(*TWO)
    assert ended.code == 1
    assert "q1 under tide" in ended.out
    assert "★ static" in ended.out
    assert "hpa-cpu (2 failed)" in ended.out
    assert "★ the fewest worker-seconds of those late for at most 1 % of the records" in ended.out
    assert "4 runs, " in ended.out
    assert "report: found/report.html" in ended.out
    assert max(len(line) for line in ended.out.splitlines()) <= 80
    assert "2 of 4 runs failed, the first, q1/tide/hpa-cpu/0: out of memory" in ended.err


def test_an_interrupted_comparison_says_what_is_kept_and_the_next_goes_on(
    tidegate: Command, trouble: dict[str, BaseException]
) -> None:
    trouble["hpa-cpu"] = KeyboardInterrupt()
    ended = tidegate(*TWO, "--output", "json")
    assert ended.code == 130
    # one seed after another: static's, and the interrupt
    first = json.loads(ended.out)["runs"]
    assert [run["run"] for run in first] == ["q1/tide/static/0"]
    assert "interrupted: 1 of 4 runs are kept in found; the same command goes on from there" in ended.err
    trouble.clear()
    # had it been asked for again, it would fail
    trouble["static"] = QueryFailed("again")
    ended = tidegate(*TWO, "--output", "json")
    assert ended.code == 1
    assert [run["status"] for run in json.loads(ended.out)["runs"]] == ["done", "failed", "done", "done"]
    assert json.loads(ended.out)["runs"][0] == first[0]
    assert "1 of 4 runs failed, the first, q1/tide/static/1: again" in ended.err


@pytest.mark.parametrize(
    ("condition", "code"), [("late>99%", 0), ("executors>0", 5), ("static:executors>0", 5), ("*:executors>0", 5)]
)
def test_thresholds_are_for_the_best_for_one_or_for_all(
    tidegate: Command, monkeypatch: pytest.MonkeyPatch, condition: str, code: int
) -> None:
    monkeypatch.setattr(report, "write", lambda comparison, path: None)
    ended = tidegate(*TWO, "--output", "json", "--fail-if", condition)
    assert ended.code == code
    named = [line.split()[1] for line in ended.err.splitlines() if " on q1 under tide: executors is " in line]
    assert len(named) == {"late>99%": 0, "*:executors>0": 2}.get(condition, 1)
    assert {"static:executors>0": ["static"], "*:executors>0": ["static", "hpa-cpu"]}.get(condition, named) == named


def test_a_narrow_terminal_shows_fewer_columns_and_whole_cells(
    tidegate: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "write", lambda comparison, path: None)
    monkeypatch.setenv("COLUMNS", "60")
    ended = tidegate(*TWO)
    assert ended.code == 0
    table = ended.out[: ended.out.index("★ the fewest")]
    assert "…" not in table
    assert max(len(line) for line in table.splitlines()) <= 60
    assert table.splitlines()[0].split() == ["policy", "÷", "oracle", "worker-s", "late", "p95", "s", "rescales"]
    assert "not shown at this width: workers" in ended.err


def test_a_ratio_below_one_is_explained() -> None:
    (first, *_), plain = legend(0.01, [1.2, 0.9]), legend(0.01, [1.2, None])
    assert first == plain[0]
    assert any(line.startswith("÷ oracle below 1: ") for line in legend(0.01, [1.2, 0.9]))
    assert not any("oracle" in line for line in plain)


def test_flags_go_before_a_file(tidegate: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        'title = "A and B"\npolicies = ["static", "ds2"]\njobs = ["q1"]\nworkloads = ["steps"]\nseeds = 5\n'
        '[run]\nduration = "10m"\npeak = "100k"\n'
    )
    ended = tidegate("compare", "x.toml", "--policies", "static", "--seeds", "3,4", "--output", "json")
    assert [run["run"] for run in json.loads(ended.out)["runs"]] == ["q1/steps/static/3", "q1/steps/static/4"]
    (folder,) = (tmp_path / ".tidegate" / "compare").iterdir()
    assert folder.name.startswith("a-and-b-")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--policies", "hpa"], "compare: no policy is named 'hpa'; did you mean 'hpa-cpu'?"),
        (["--policies", ","], "compare: need a list of names as policies, got []"),
        (["--workloads", "cosin"], "compare: no workload is named 'cosin'; did you mean 'cosine'?"),
        (["--engine", "flink"], "compare: no engine is named 'flink' (known: operators, sim, spark)"),
        (["--seeds", "many"], "compare: seeds 'many' are not like 5, or 0,7,12"),
        (["--allowed", "150%"], "compare: allowed '150%' is no share of records below 1, like 1% or 0.01"),
        (["--seeds", "0"], "compare: need a number of seeds >= 1"),
        (["--duration", "soon"], "compare: [run]: duration: duration 'soon' is not like 90s, 3m or 1h30m"),
        (["--max-executors", "0"], "compare: run: need 1 <= maximum <= 10000, got 0"),
        (["-p", "target=0.8"], "compare: option 'target=0.8' is not POLICY:NAME=VALUE, like hpa-cpu:target=0.8"),
        (
            ["-p", "phoebe:x=1"],
            "no policy of this comparison is named 'phoebe' (known: daedalus, ds2, hpa-cpu, static)",
        ),
        (["-p", "ds2:targt=1"], "compare: no option of policy ds2 is named 'targt'"),
        (["nowhere.toml"], "cannot read the experiment nowhere.toml: No such file or directory"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_runs(tidegate: Command, words: list[str], sentence: str) -> None:
    ended = tidegate("compare", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"tidegate: {sentence}")


def test_another_comparison_in_a_folder_needs_fresh(tidegate: Command, tmp_path: Path) -> None:
    words = (*SMALL, "--policies", "static", "--seeds", "1", "--output", "json")
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "spec.json").write_text('{"seeds": [0, 1]}')
    refused = tidegate(*words)
    assert refused.code == 2
    assert "found holds another comparison (seeds is [0, 1] there, [0] here)" in refused.err
    assert len(json.loads(tidegate(*words, "--fresh").out)["runs"]) == 1
