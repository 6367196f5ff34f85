"""The simulator against real Spark: runs that the models were not fitted to.

The recordings were made by `benchmarks/record.py` on the embedded cluster, executors with 0.3 of a core each. The
models in the package were fitted to `cal-`; `hold-` was recorded after they were.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tidegate.sim.batch_model import bundled, model
from tidegate.sim.check import Verdict, check
from tidegate.sim.fit import fit
from tidegate.sim.recording import Recording, parse

FOLDER = Path(__file__).parent.parent / "recorded" / "truth"
#: median of the absolute errors over the runs, at most
LIMITS = {"throughput": 0.05, "batch time": 0.10, "latency p95": 0.15, "backlog max": 0.20}


def recordings(kind: str) -> list[Recording]:
    return [parse(path.read_text(), path.name) for path in sorted(FOLDER.glob(f"{kind}-*.json"))]


HELD_OUT = recordings("hold")


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return [check(model(one.job), one) for one in HELD_OUT]


def test_what_was_held_out_covers_jobs_loads_and_executors() -> None:
    assert len(HELD_OUT) >= 6
    assert {one.job for one in HELD_OUT} == {"q1", "q5", "q11"}
    assert {(one.about or {})["workload"] for one in HELD_OUT} >= {"constant", "steps", "cosine", "increasing"}
    counts = {one.executors(batch.planned) for one in HELD_OUT for batch in one.batches}
    assert counts == {1, 2, 3}
    assert all(one.changes() for one in HELD_OUT)  # rescales in the middle
    calibrated = {one.name for one in recordings("cal")}
    assert not calibrated & {one.name for one in HELD_OUT}


@pytest.mark.parametrize("figure", LIMITS)
def test_the_simulator_is_near_real_runs_that_it_has_not_seen(figure: str, verdicts: list[Verdict]) -> None:
    errors = {one.run: round(one.figures[figure].error, 3) for one in verdicts}
    assert median(abs(error) for error in errors.values()) <= LIMITS[figure], errors


@pytest.mark.parametrize("job", sorted(bundled()))
def test_the_models_of_the_package_are_fitted_to_these_recordings(job: str) -> None:
    found, kept = fit([one for one in recordings("cal") if one.job == job]).model, model(job)
    for executors in (1, 2, 4):
        for seconds in (1.0, 10.0):
            records = seconds / kept.cost
            assert found.batch_time(records, executors) == pytest.approx(kept.batch_time(records, executors), rel=0.01)
    assert (found.cold, found.startup, found.tasks) == (kept.cold, kept.startup, kept.tasks)
    assert found.origin == kept.origin
