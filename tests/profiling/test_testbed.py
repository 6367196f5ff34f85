"""Whole capacity searches on simulated deployments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment import Experiment
from tidegate.planner.estimator.estimate import CapacityEstimate, Ending
from tidegate.planner.estimator.search import CapacitySearch
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.estimator.verdict import Limit
from tidegate.profiling.testbed import Testbed
from tidegate.sim.batch_model import BatchModel, text

#: 10,000 records take 1 s of one executor; of 5 s, 4 are left for two to process 80,000: 16,000/s
MODEL = BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-4, tasks=8, cold=0.0, noise=0.0)


def found(folder: Path, model: BatchModel = MODEL, warmup_rate: float = 30_000.0) -> CapacityEstimate:
    file = folder / "model.json"
    file.write_text(text(model))
    e = Experiment(
        engine="sim", model=str(file), workload="constant", duration=60.0, peak=1000.0, policy="static", trigger=5.0,
        options={"executors": 2}, initial=2, maximum=2, partitions=8,
    )  # fmt: skip
    testbed = Testbed(SimulatedDeployment(e), executors=2, trigger=e.trigger)
    search = CapacitySearch(warmup_rate, SHORT.for_trigger(e.trigger))
    for phase in search:
        search.tell(testbed.measure(phase))
    return search.estimate()


def test_what_two_executors_can_do(tmp_path: Path) -> None:
    estimate = found(tmp_path)
    assert estimate.rate == pytest.approx(16_000, rel=0.03)
    assert estimate.ending is Ending.CONVERGED


def test_a_driver_that_takes_most_of_a_batch_is_named_as_the_limit(tmp_path: Path) -> None:
    slow = BatchModel("slow", fixed=2.8, overhead=0.0, cost=1e-4, tasks=8, cold=0.0, noise=0.0)
    estimate = found(tmp_path, slow, warmup_rate=5_000.0)
    assert estimate.limit is Limit.DRIVER
    assert estimate.lower_bound_only


def test_a_query_that_ends_is_a_failed_phase(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(text(MODEL))
    e = Experiment(engine="sim", model=str(file), workload="constant", duration=60.0, peak=10.0, trigger=5.0)
    deployment = SimulatedDeployment(e)
    testbed = Testbed(deployment, executors=1, trigger=5.0)
    deployment.engine.sleep_until(10_000.0)
    deployment.offer = lambda load: None  # type: ignore[method-assign]
    search = CapacitySearch(100.0, SHORT)
    phase = search.next()
    assert phase is not None
    assert testbed.measure(phase).failure == "the workload is over"
