"""A validation run on the simulated testbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.experiment import Experiment
from tidegate.planner.averaging import average
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.measurement import Measurement
from tidegate.profiling.campaign import simulated_testbed
from tidegate.profiling.search_run import Searcher
from tidegate.profiling.validation_run import validation_run
from tidegate.sim.batch_model import BatchModel, text

#: 10,000 records/s of a slot, for 3.5 of 4 s
LEARNT = average([Measurement(slots, 512, 8_750.0 * slots) for slots in (1, 2, 4, 6)])


def searcher(folder: Path, fixed: float = 0.5) -> Searcher:
    file = folder / "model.json"
    file.write_text(text(BatchModel("plain", fixed=fixed, overhead=0.0, cost=1e-4, tasks=24, cold=0.0, noise=0.0)))
    return Searcher(
        Experiment(engine="sim", model=str(file), policy="static", trigger=4.0, period=1.0), SHORT, simulated_testbed
    )


def test_a_run_within_what_was_predicted(tmp_path: Path) -> None:
    shown = validation_run(searcher(tmp_path), LEARNT, 16, 3600.0)
    assert shown.validation is not None
    assert shown.validation.agrees
    assert shown.validation.measurement.rate == pytest.approx(140_000, rel=0.03)
    assert shown.minutes > 3
    assert shown.run is not None
    assert shown.run.figures is not None


def test_a_run_below(tmp_path: Path) -> None:
    # with 16 slots as with 4, 2 of 4 s are left
    shown = validation_run(searcher(tmp_path, fixed=2.0), LEARNT, 16, 3600.0)
    assert shown.validation is not None
    assert "below the" in shown.validation.sentence


def test_without_time_it_is_not_made(tmp_path: Path) -> None:
    shown = validation_run(searcher(tmp_path), LEARNT, 16, 60.0)
    assert (shown.validation, shown.minutes) == (None, 0.0)
    assert "no time was left" in shown.failure


def test_a_run_that_sustains_nothing_validates_nothing(tmp_path: Path) -> None:
    shown = validation_run(searcher(tmp_path, fixed=60.0), LEARNT, 16, 3600.0)
    assert shown.validation is None
    assert shown.failure.startswith("the run with 16 slots validates nothing: ")
    assert shown.minutes > 0
