import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tidegate.compare.cell_runner import Bench, CellResult
from tidegate.compare.cells import Cell, cells
from tidegate.compare.execution import Outcome, compare, on_simulators, pieces
from tidegate.compare.fingerprint import specification
from tidegate.compare.folder import Folder
from tidegate.compare.grid import grid
from tidegate.core import InvalidInput, TidegateError
from tidegate.experiment.settings import Experiment
from tidegate.runs import LateStretch, RunResult, encode
from tidegate.score.figures import Workers
from tidegate.score.trace import Cumulative, Finished, RunTrace

LARGE = 12
VALUES: dict[str, Any] = {
    "policies": ["static", "ds2"],
    "jobs": ["q1", {"name": "q1", "label": "large", "maximum": LARGE}],
    "workloads": ["tide"],
    "seeds": 2,
    "run": {"duration": 600, "peak": 100},
}


@dataclass(frozen=True)
class Plan:
    executors: npt.NDArray[np.float64]
    seconds: float
    late: float = 0.0


def simulate(e: Experiment) -> RunTrace:
    """100 records a second for 600 s, done each minute a minute later; as many executors as the seed and one more."""
    if e.maximum == LARGE and e.policy == "ds2" and e.seed == 1:
        raise InvalidInput("too large for ds2")
    ends = np.arange(1, 10) * 6000.0
    done = Finished(np.arange(2, 11) * 60.0, ends - 6000, ends)
    times = np.arange(41) * 15.0
    held = np.full(41, e.seed + 1.0)
    return RunTrace(Cumulative(np.array([0.0, 600.0]), np.array([0.0, 60_000.0])), done, times, held, held, 600.0)


def oracles(es: Sequence[Experiment]) -> list[Plan]:
    return [Plan(np.ones(41), 300.0) for _ in es]


BENCH = Bench(simulate, oracles)


def run(folder: Path, processes: int = 1, bench: Bench = BENCH, **values: Any) -> Outcome:
    made = grid({**VALUES, **values}, "x.toml")
    with Folder.open(folder, specification(made)) as kept:
        return compare(cells(made), kept, on_simulators(bench, processes), lambda done: None)


def test_a_run_has_its_names_and_the_figures(tmp_path: Path) -> None:
    first = run(tmp_path).runs[0]
    lead = RunResult(
        "q1/tide/static/0",
        "done",
        job="q1",
        workload="tide",
        policy="static",
        engine="sim",
        mode="active",
        source="simulated",
        seed=0,
        options={},
        duration=600.0,
        offered=60_000,
        spread=True,
    )
    assert replace(first, figures=None) == lead
    assert first.figures is not None
    assert (first.figures.processed, first.figures.lost) == (54_000, 0)
    assert first.figures.workers == Workers(mean=1.0, max=1, seconds=600.0, seen_mean=1.0, seen_seconds=600.0)
    assert first.figures.oracle is not None
    assert first.figures.oracle.ratio == 2.0
    assert first.verified is None


def test_a_line_of_the_folder_has_the_keys_of_a_runs_json(tmp_path: Path) -> None:
    first = run(tmp_path).runs[0]
    line = json.loads((tmp_path / "runs.jsonl").read_text().splitlines()[0])
    assert line == encode(first)
    assert {"latency", "slo", "rescales", "backlog", "throughput", "convergence", "recovery", "cost"} < set(line)
    assert (line["run"], line["processed"], line["workers"]["seconds"]) == ("q1/tide/static/0", 54_000, 600.0)


def test_a_bench_may_add_what_only_some_comparisons_want(tmp_path: Path) -> None:
    def late(result: RunResult, trace: RunTrace, e: Experiment) -> RunResult:
        return replace(result, late=(LateStretch(0.0, trace.until),))

    found = run(tmp_path, bench=Bench(simulate, oracles, late)).runs
    assert {one.late for one in found if one.status == "done"} == {(LateStretch(0.0, 600.0),)}


def test_a_run_that_fails_ends_nothing_and_says_why(tmp_path: Path) -> None:
    runs = run(tmp_path).runs
    assert [one.run for one in runs if one.status == "failed"] == ["large/tide/ds2/1"]
    assert runs[-1].error == "too large for ds2"
    assert len(runs) == 8


def test_where_there_is_no_oracle_its_runs_fail_with_the_reason(tmp_path: Path) -> None:
    def none(es: Sequence[Experiment]) -> list[Plan]:
        raise ZeroDivisionError("no oracle")

    runs = run(tmp_path, bench=Bench(simulate, none)).runs
    assert {(one.status, one.error) for one in runs} == {("failed", "ZeroDivisionError: no oracle")}


def test_one_process_and_two_find_the_same_in_the_same_order(tmp_path: Path) -> None:
    one, two = run(tmp_path / "one"), run(tmp_path / "two", processes=2)
    assert (one.runs, one.curves) == (two.runs, two.curves)


def test_curves_are_kept_of_the_first_seed(tmp_path: Path) -> None:
    curves = run(tmp_path).curves
    assert [one.key for one in curves] == [
        "q1/tide/static/0",
        "q1/tide/ds2/0",
        "large/tide/static/0",
        "large/tide/ds2/0",
    ]
    first = curves[0]
    assert {
        len(getattr(first, name)) for name in ("times", "offered", "executors", "oracle", "latency", "backlog")
    } == {240}
    assert first.oracle is not None
    # parts of 2.5 s: the 24th ends at 60 s, when 6000 records wait, and the 48th at 120 s, when 6000 of 12000 are done
    assert (first.times[24], first.offered[0], first.executors[0], first.oracle[0]) == (60.0, 100.0, 1, 1)
    assert (first.backlog[23], first.backlog[47]) == (6000.0, 6000.0)
    # nothing is done in the first minute; at 120 s the records of the first minute are
    assert (first.latency[23], first.latency[47]) == (60.0, 120.0)
    assert first.ecdf[-1] == (120.0, 1.0)


def test_pieces_of_work_share_job_and_workload_and_few_are_cut_by_seed() -> None:
    def keys(*workloads: str) -> list[tuple[int, int]]:
        found = pieces(cells(grid({**VALUES, "workloads": [*workloads]}, "x.toml")))
        return [(len(part), len({(cell.job, cell.workload) for cell in part})) for part in found]

    assert keys("tide") == [(2, 1)] * 4
    assert keys("tide", "steps", "sine", "traffic") == [(4, 1)] * 8


def test_a_second_call_does_only_what_is_missing_and_tries_again_what_failed(tmp_path: Path) -> None:
    whole = run(tmp_path)
    lines = (tmp_path / "runs.jsonl").read_bytes().splitlines(keepends=True)
    # three runs and a half: the kill came in the middle of a line
    (tmp_path / "runs.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:40])
    asked: list[str] = []

    def noted(e: Experiment) -> RunTrace:
        asked.append(f"{e.maximum} {e.policy} {e.seed}")
        return simulate(e)

    again = run(tmp_path, bench=Bench(noted, oracles))
    assert (again.runs, again.curves) == (whole.runs, whole.curves)
    # by seed within a job: q1 static 0, ds2 0, static 1 were there
    assert asked == ["8 ds2 1", "12 static 0", "12 ds2 0", "12 static 1", "12 ds2 1"]
    asked.clear()
    run(tmp_path, bench=Bench(noted, oracles))
    assert asked == ["12 ds2 1"]


def test_an_interrupt_keeps_what_was_done(tmp_path: Path) -> None:
    def impatient(e: Experiment) -> RunTrace:
        if e.maximum == LARGE:
            raise KeyboardInterrupt
        return simulate(e)

    cut = run(tmp_path, bench=Bench(impatient, oracles))
    assert cut.interrupted
    assert [one.run for one in cut.runs] == [
        f"q1/tide/{policy}/{seed}" for policy in ("static", "ds2") for seed in (0, 1)
    ]
    assert run(tmp_path).runs == run(tmp_path / "other").runs


def test_an_interrupt_of_processes_keeps_what_they_have_done(tmp_path: Path) -> None:
    told: list[int] = []

    def impatient(done: int) -> None:
        told.append(done)
        if len(told) == 2:
            raise KeyboardInterrupt

    made = grid(VALUES, "x.toml")
    with Folder.open(tmp_path, specification(made)) as kept:
        cut = compare(cells(made), kept, on_simulators(BENCH, 2), impatient)
    assert cut.interrupted
    # a piece has two runs
    assert len(cut.runs) >= 2
    assert run(tmp_path).runs == run(tmp_path / "other").runs


def test_a_process_that_is_ended_from_outside_is_a_sentence(tmp_path: Path) -> None:
    def ended(e: Experiment) -> RunTrace:
        os._exit(9)

    with pytest.raises(TidegateError, match=r"was ended from outside .* what was done is kept"):
        run(tmp_path, processes=2, bench=Bench(ended, oracles))


def test_another_comparison_in_the_same_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(InvalidInput, match=r"holds another comparison \(seeds is \[0, 1\] there, \[0, 1, 2\] here\)"):
        run(tmp_path, seeds=3)
    with pytest.raises(
        InvalidInput, match=r"\(run.duration is 600.0 there, 60.0 here\): choose another --out, or --fresh"
    ):
        run(tmp_path, run={"duration": 60, "peak": 100})
    run(tmp_path, title="another name for the same")


def kept(folder: Path, spec: dict[str, Any], fresh: bool = False) -> list[str]:
    with Folder.open(folder, spec, fresh=fresh) as found:
        runs = list(found.runs())
        found.keep([CellResult(RunResult(f"run {len(runs)}", "done"))])
    return runs


def test_what_other_code_or_a_fresh_start_leaves_behind_is_dropped(tmp_path: Path) -> None:
    assert kept(tmp_path, {"seeds": [0], "code": "a"}) == []
    assert kept(tmp_path, {"seeds": [0], "code": "a"}) == ["run 0"]
    assert kept(tmp_path, {"seeds": [0], "code": "b"}) == []
    assert kept(tmp_path, {"seeds": [1], "code": "b"}, fresh=True) == []


def test_a_folder_with_other_peoples_runs_or_a_broken_line_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"run": "a", "status": "done"}\nnonsense\n')
    with pytest.raises(InvalidInput, match=r"has runs.jsonl but no readable spec.json: --fresh begins anew"):
        kept(tmp_path, {})
    (tmp_path / "spec.json").write_text("{}")
    with pytest.raises(InvalidInput, match=r"runs.jsonl line 2 is no JSON"):
        kept(tmp_path, {})
    (tmp_path / "runs.jsonl").write_text('{"run": "a", "status": "done"}\n{"run": 1}\n')
    with pytest.raises(InvalidInput, match=r"runs.jsonl line 2: no RunResult that Tidegate wrote: need text, got 1"):
        kept(tmp_path, {})


def test_curves_that_tidegate_did_not_write_are_refused_with_their_place(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "series.jsonl").write_text('{"key": "q1/tide/static/0"}\n')
    with pytest.raises(InvalidInput, match=r"series.jsonl line 1: these are no curves that Tidegate wrote"):
        run(tmp_path)


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot keep a comparison in .*file: File exists"):
        kept(tmp_path / "file", {})


def slow(e: Experiment) -> RunTrace:
    if e.maximum == LARGE:
        time.sleep(60)
    return simulate(e)


def in_a_session_of_its_own(folder: Path) -> None:
    os.setsid()
    run(folder, processes=2, bench=Bench(slow, oracles))


def test_after_a_kill_the_next_call_goes_on_and_no_process_stays(tmp_path: Path) -> None:
    process = get_context("fork").Process(target=in_a_session_of_its_own, args=(tmp_path / "cut",))
    process.start()
    lines = tmp_path / "cut" / "runs.jsonl"
    # all of the first job is there; both processes are at the second
    while process.is_alive() and (not lines.exists() or lines.read_bytes().count(b"\n") < 4):
        time.sleep(0.01)
    with pytest.raises(InvalidInput, match="another comparison is writing to"):
        run(tmp_path / "cut")
    process.kill()
    process.join()
    assert run(tmp_path / "cut").runs == run(tmp_path / "whole").runs
    while _is_there(process.pid or 0):
        time.sleep(0.01)


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_specification_knows_the_contents_of_files(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"

    def found(content: str) -> dict[str, Any]:
        path.write_text(content)
        return specification(grid({**VALUES, "workloads": [f"trace:{path}?gaps=zero"]}, "x.toml"))

    first = found("rate\n1\n")
    assert list(first["files"]) == [str(path)]
    assert first == found("rate\n1\n")
    assert first != found("rate\n2\n")
    assert json.loads(json.dumps(first)) == first


def test_code_counts_for_simulated_runs_only() -> None:
    assert "code" in specification(grid(VALUES, "x.toml"))
    assert "code" not in specification(grid({**VALUES, "run": {"engine": "spark"}}, "x.toml"))


def test_cells_do_not_change_on_their_way_to_a_process() -> None:
    import pickle  # noqa: PLC0415

    made: list[Cell] = cells(grid(VALUES, "x.toml"))
    assert pickle.loads(pickle.dumps(made)) == made
