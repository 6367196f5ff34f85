"""A comparison on real executors: Spark's own dynamic allocation as the baseline."""

from pathlib import Path

import pytest

from tidegate.compare.cells import cells
from tidegate.compare.execution import compare, on_spark
from tidegate.compare.folder import Folder
from tidegate.compare.grid import grid

pytestmark = pytest.mark.spark


def test_sparks_own_allocation_takes_executors_by_itself_and_is_measured_like_the_rest(tmp_path: Path) -> None:
    run = {
        "engine": "spark", "duration": 20, "peak": 400_000, "maximum": 2, "trigger": 2, "partitions": 4,
        "verify": False, "price": 0.1,
    }  # fmt: skip
    values = {"policies": ["spark-dra"], "jobs": ["q1"], "workloads": ["constant"], "seeds": 1, "run": run}
    found = cells(grid(values, "test"))
    with Folder.open(tmp_path / "out", {}, fresh=True) as folder:
        outcome = compare(found, folder, on_spark(tmp_path / "runs.db", lambda told: None), lambda done: None)
    (run_result,) = outcome.runs
    names = (run_result.status, run_result.policy, run_result.mode, run_result.engine)
    assert names == ("done", "spark-dra", "native", "spark")
    scored = run_result.figures
    assert scored is not None
    assert scored.processed == run_result.offered == 20 * 400_000
    # it began with one, and nobody but Spark asked for the second: while warming up, or later
    assert scored.workers is not None
    assert scored.workers.max == 2
    assert scored.latency is not None
    assert scored.latency.p95 > 0
    assert scored.cost is not None
    assert scored.cost > 0
    assert outcome.curves[0].executors
