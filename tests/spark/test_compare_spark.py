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
    (one,) = outcome.runs
    assert (one["status"], one["policy"], one["mode"], one["engine"]) == ("done", "spark-dra", "native", "spark")
    assert one["processed"] == one["offered"] == 20 * 400_000
    # it began with one, and nobody but Spark asked for the second: while warming up, or later
    assert one["workers"]["max"] == 2
    assert one["latency"]["p95"] > 0
    assert one["cost"] > 0
    assert outcome.series[0]["executors"]
