from pathlib import Path

import pytest

from tidegate.compare.grid import grid
from tidegate.compare.results import Settings, summary, winner
from tidegate.compare.tables import read_table, table, write_tables
from tidegate.core import InvalidInput
from tidegate.runs import RunResult
from tidegate.score.estimate import Estimate
from tidegate.score.figures import AgainstOracle, Figures, Latency, Rescales, Slo, Throughput, Workers
from tidegate.score.recovery import Recovery

LATENCY = Latency(mean=1.0, p50=1.0, p95=2.0, p99=2.5, max=3)


def run(policy: str, seed: int, seconds: float, violated: float, latency: Latency | None = LATENCY) -> RunResult:
    figures = Figures(
        processed=100,
        lost=0,
        latency=latency,
        slo=Slo(30.0, violated),
        workers=Workers(mean=seconds / 100, max=3, seconds=seconds),
        rescales=Rescales(count=2),
        backlog=None,
        throughput=Throughput(None, None, None),
        recovery=(Recovery(60.0, None),),
        oracle=AgainstOracle(100.0, seconds / 100, 0.0),
    )
    names = {"job": "q1", "workload": "tide", "policy": policy, "engine": "sim"}
    key = f"q1/tide/{policy}/{seed}"
    return RunResult(key, "done", **names, seed=seed, options={"target": 0.8}, figures=figures)  # type: ignore[arg-type]


FAILED = RunResult("q1/tide/bad/0", "failed", job="q1", workload="tide", policy="bad", engine="sim", error="no")
RUNS = [
    run("cheap", 0, 100.0, 0.5),
    run("cheap", 1, 102.0, 0.5),
    run("tolerable", 0, 150.0, 0.04),
    run("right", 0, 200.0, 0.01),
    run("large", 0, 300.0, 0.0, latency=None),
    FAILED,
]


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_a_table_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    write_tables(tmp_path, RUNS)
    assert read_table(tmp_path / name) == table(RUNS)


def test_a_table_has_one_column_for_each_figure_and_none_for_what_has_parts() -> None:
    rows = table(RUNS)
    assert "latency" not in rows[0]
    assert (rows[0]["latency.p95"], rows[4]["latency.p95"], rows[5]["latency.p95"]) == (2.0, None, None)
    assert (rows[0]["options"], rows[0]["recovery"]) == ('{"target": 0.8}', '[{"at": 60.0, "seconds": null}]')
    assert (rows[0]["error"], rows[5]["error"]) == (None, "no")


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_a_comparison_without_runs_is_an_empty_table(tmp_path: Path, name: str) -> None:
    write_tables(tmp_path, [])
    assert read_table(tmp_path / name) == []


def test_a_table_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read the runs in .*runs.csv: .*No such file"):
        read_table(tmp_path / "runs.csv")


def test_the_best_is_the_cheapest_that_keeps_the_slo() -> None:
    rows = {row.policy: row for row in summary(RUNS)}
    # one record in a hundred may be late, as for a back-test; it was one in twenty, which "tolerable" would keep
    assert [policy for policy, row in rows.items() if row.best] == ["right"]
    assert [row.policy for row in summary(RUNS, allowed=0.05) if row.best] == ["tolerable"]
    assert rows["cheap"].figures["seconds"].mean == 101.0
    # standard error 1, Student's t of one degree of freedom 12.706
    assert rows["cheap"].figures["seconds"].half == pytest.approx(12.7062)
    assert rows["cheap"].leads == {"workers", "seconds", "ratio", "p95", "rescales"}
    assert rows["large"].leads == {"violated", "rescales"}
    assert "p95" not in rows["large"].figures
    assert (rows["bad"].failed, rows["bad"].best, rows["bad"].leads) == (1, False, frozenset())


def test_where_none_keeps_the_slo_the_least_late_is_the_best() -> None:
    rows = summary([run("a", 0, 100.0, 0.9), run("b", 0, 300.0, 0.2), run("c", 0, 200.0, 0.2)])
    assert [row.policy for row in rows if row.best] == ["c"]


def test_where_nothing_is_done_nothing_is_best() -> None:
    assert [row.best for row in summary([FAILED])] == [False]


def test_a_policy_without_figures_is_never_chosen() -> None:
    means = {"unknown": {"seconds": Estimate(1.0)}, "known": {"seconds": Estimate(9.0), "violated": Estimate(0.5)}}
    assert winner(means) == "known"
    assert winner({"unknown": means["unknown"]}) is None


def test_settings_are_what_a_grid_says_for_all_its_runs() -> None:
    lists = {"policies": ["ds2"], "jobs": [{"name": "q1", "slo": 5}], "workloads": ["tide"]}
    found = Settings.of(grid({**lists, "run": {"duration": "6h", "maximum": 12, "engine": "sim"}}, "x.toml"))
    assert found == Settings(duration=21_600.0, slo=None, minimum=None, maximum=12, engine="sim")
