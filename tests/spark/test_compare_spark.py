"""A comparison on real executors: Spark's own dynamic allocation as the baseline."""

from pathlib import Path

import pytest

from tidegate.compare.cells import cells
from tidegate.compare.execution import compare, on_spark
from tidegate.compare.folder import Folder
from tidegate.compare.grid import grid
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark
#: records/s, more than one core can process: Spark asks for executors when tasks wait for a second
LOAD = 2_500_000


def test_sparks_own_allocation_takes_executors_by_itself_and_is_measured_like_the_rest(tmp_path: Path) -> None:
    for seconds in (20, 60, 240):  # the second executor must have time to start
        run_result = played(tmp_path / str(seconds), seconds)
        if run_result.figures and run_result.figures.workers and run_result.figures.workers.max == 2:
            break
    names = (run_result.status, run_result.policy, run_result.mode, run_result.engine)
    assert names == ("done", "spark-dra", "native", "spark")
    scored = run_result.figures
    assert scored is not None
    assert scored.processed == run_result.offered == seconds * LOAD
    # it began with one, and nobody but Spark asked for the second
    assert scored.workers is not None
    assert scored.workers.max == 2
    assert scored.latency is not None
    assert scored.latency.p95 > 0
    assert scored.cost is not None
    assert scored.cost > 0


def played(folder: Path, seconds: int) -> RunResult:
    folder.mkdir()
    run = {
        "engine": "spark", "duration": seconds, "drain": 900, "peak": LOAD, "maximum": 2, "trigger": 2,
        "partitions": 4, "verify": False, "price": 0.1,
    }  # fmt: skip
    values = {"policies": ["spark-dra"], "jobs": ["q1"], "workloads": ["constant"], "seeds": 1, "run": run}
    found = cells(grid(values, "test"))
    with Folder.open(folder / "out", {}, fresh=True) as made:
        outcome = compare(found, made, on_spark(folder / "runs.db", lambda told: None), lambda done: None)
    assert outcome.curves[0].executors
    (run_result,) = outcome.runs
    return run_result
