"""Whole capacity searches on simulated deployments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment import Experiment
from tidegate.planner.estimator.estimate import CapacityEstimate, Ending
from tidegate.planner.estimator.phases import Probe, WarmUp
from tidegate.planner.estimator.search import CapacitySearch
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.estimator.verdict import Limit
from tidegate.profiling.machine_load import CpuTimes
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


def simulated(folder: Path, model: BatchModel = MODEL) -> Testbed:
    file = folder / "model.json"
    file.write_text(text(model))
    e = Experiment(
        engine="sim", model=str(file), workload="constant", duration=60.0, peak=1000.0, policy="static", trigger=5.0,
        options={"executors": 2}, initial=2, maximum=2, partitions=8,
    )  # fmt: skip
    return Testbed(SimulatedDeployment(e), executors=2, trigger=e.trigger)


def test_a_machine_without_cpu_time_left_is_named_as_the_limit(tmp_path: Path) -> None:
    testbed, times = simulated(tmp_path), iter(CpuTimes(0.98 * k, k) for k in range(1_000))
    testbed.machine = lambda: next(times)
    search = CapacitySearch(30_000.0, SHORT.for_trigger(5.0))
    for phase in search:
        search.tell(testbed.measure(phase))
    assert search.estimate().limit is Limit.MACHINE
    assert search.estimate().lower_bound_only


def test_only_the_measured_part_of_a_probe_counts_for_the_machine(tmp_path: Path) -> None:
    testbed = simulated(tmp_path)
    clock = testbed._deployment.clock
    read: list[float] = []

    def machine() -> CpuTimes:
        read.append(clock.now())
        return CpuTimes(0.5 * clock.now(), clock.now())

    testbed.machine = machine
    measured = testbed.measure(Probe(5_000.0, cooldown_rate=100.0, cooldown=8.0, injection=45.0, observation=30.0))
    assert not measured.machine_saturated
    assert read[1] - read[0] == 30.0


def test_it_keeps_loads_that_differ_and_state_where_the_load_stayed(tmp_path: Path) -> None:
    testbed = simulated(tmp_path, replace(MODEL, stages=2, first=0.5, state=2.0))
    for _ in range(10):
        testbed.measure(WarmUp(8_000.0, 15.0, 100_000))
    assert len(testbed.observations) == 45
    assert all(obs.state_rows is None for obs in testbed.observations)
    testbed.measure(Probe(8_000.0, cooldown_rate=100.0, cooldown=10.0, injection=45.0, observation=30.0))
    known = [obs for obs in testbed.observations if obs.state_rows is not None]
    assert len(known) == 30
    assert len(testbed.observations) <= 45 + 10 + 45
    sizes = [batch.end - batch.begin for obs in testbed.observations for batch in obs.batches]
    assert min(sizes) < 0.5 * max(sizes)
    kept = len(testbed.observations)
    testbed.measure(WarmUp(8_000.0, 15.0, 100_000))  # of a query that had failed
    assert len(testbed.observations) == kept
    for _ in range(25):
        testbed.measure(Probe(8_000.0, cooldown_rate=100.0, cooldown=10.0, injection=45.0, observation=30.0))
    assert len(testbed.observations) == 900
