from pathlib import Path
from typing import Any

import pytest

from tidegate.compare.results import read_table, summary, table, write_tables
from tidegate.core import InvalidInput


def run(policy: str, seed: int, seconds: float, violated: float, **more: Any) -> dict[str, Any]:
    return {
        "run": f"q1/tide/{policy}/{seed}",
        "status": "done",
        "job": "q1",
        "workload": "tide",
        "policy": policy,
        "seed": seed,
        "options": {"target": 0.8},
        "latency": {"p95": 2.0, "max": 3},
        "slo": {"target": 30.0, "violated": violated},
        "workers": {"mean": seconds / 100, "max": 3, "seconds": seconds},
        "rescales": {"count": 2},
        "oracle": {"ratio": seconds / 100},
        "recovery": [{"at": 60.0, "seconds": None}],
        "cost": None,
        "verified": None,
        **more,
    }


FAILED = {"run": "q1/tide/bad/0", "status": "failed", "job": "q1", "workload": "tide", "policy": "bad", "error": "no"}
RUNS = [
    run("cheap", 0, 100.0, 0.5),
    run("cheap", 1, 102.0, 0.5),
    run("right", 0, 200.0, 0.04),
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
    assert (rows[0]["latency.p95"], rows[3]["latency.p95"], rows[4]["latency.p95"]) == (2.0, None, None)
    assert (rows[0]["options"], rows[0]["recovery"]) == ('{"target": 0.8}', '[{"at": 60.0, "seconds": null}]')
    assert (rows[0]["error"], rows[4]["error"]) == (None, "no")


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_a_comparison_without_runs_is_an_empty_table(tmp_path: Path, name: str) -> None:
    write_tables(tmp_path, [])
    assert read_table(tmp_path / name) == []


def test_a_table_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read the runs in .*runs.csv: .*No such file"):
        read_table(tmp_path / "runs.csv")


def test_the_best_is_the_cheapest_that_keeps_the_slo() -> None:
    rows = {row.policy: row for row in summary(RUNS)}
    assert [policy for policy, row in rows.items() if row.best] == ["right"]
    assert rows["cheap"].figures["workers.seconds"].mean == 101.0
    # standard error 1, Student's t of one degree of freedom 12.706
    assert rows["cheap"].figures["workers.seconds"].half == pytest.approx(12.7062)
    assert rows["cheap"].leads == {"workers.mean", "workers.seconds", "oracle.ratio", "latency.p95", "rescales.count"}
    assert rows["large"].leads == {"slo.violated", "rescales.count"}
    assert (rows["bad"].failed, rows["bad"].best, rows["bad"].leads) == (1, False, frozenset())


def test_where_none_keeps_the_slo_the_least_late_is_the_best() -> None:
    rows = summary([run("a", 0, 100.0, 0.9), run("b", 0, 300.0, 0.2), run("c", 0, 200.0, 0.2)])
    assert [row.policy for row in rows if row.best] == ["c"]


def test_where_nothing_is_done_nothing_is_best() -> None:
    assert [row.best for row in summary([FAILED])] == [False]
