"""From figures of a small simulated run to a large one with the planned configuration, which must do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegate.core import Batch, Observation
from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment import Experiment
from tidegate.planner.spark_configuration.configuration import SparkConfiguration, configure
from tidegate.planner.spark_configuration.requirement import Requirement
from tidegate.planner.spark_configuration.run_figures import RunFigures, run_figures
from tidegate.sim.batch_model import BatchModel, text
from tidegate.workloads import Constant

#: of a record 60 µs in the first stage and 40 µs where the state is, 0.03 s for each task, 0.6 s for the driver
MODEL = BatchModel(
    "keyed", fixed=0.6, overhead=0.03, cost=1e-4, tasks=12, stages=2, first=0.6, cold=0.0, noise=0.0, state=2.0
)
#: on 24 slots: 160,000 records/s keep 16 of them busy
RATE, SLOTS = 160_000.0, 24


def deployed(file: Path, executors: int, partitions: int, limit: int, trigger: float) -> SimulatedDeployment:
    file.write_text(text(MODEL))
    settings: dict[str, Any] = {"options": {"executors": executors}, "initial": executors, "maximum": executors}
    return SimulatedDeployment(
        Experiment(
            engine="sim", model=str(file), workload="constant", duration=60.0, peak=1.0, policy="static",
            trigger=trigger, partitions=partitions, limit=limit, **settings,
        )
    )  # fmt: skip


def observed(deployment: SimulatedDeployment, rate: float, seconds: float) -> list[Observation]:
    deployment.offer(Constant(seconds + 100.0, rate))
    clock, observations = deployment.clock, []
    end = clock.now() + seconds
    while clock.now() < end:
        clock.sleep_until(clock.now() + 1.0)
        observations.append(deployment.engine.observe())
    return observations


def batches(observations: list[Observation]) -> list[Batch]:
    return [batch for obs in observations for batch in obs.batches]


@pytest.fixture
def run(tmp_path: Path) -> RunFigures:
    small = deployed(tmp_path / "small.json", executors=2, partitions=12, limit=10**9, trigger=4.0)
    return run_figures([obs for rate in (4_000.0, 10_000.0, 7_000.0) for obs in observed(small, rate, 100.0)])


def test_the_planned_configuration_does_what_was_planned(run: RunFigures, tmp_path: Path) -> None:
    plan = configure(run, Requirement(RATE, SLOTS, capacity=1.15 * RATE, slo=10.0))
    assert isinstance(plan, SparkConfiguration)
    assert plan.state is not None
    large = deployed(
        tmp_path / "large.json", plan.executors.executors, plan.state.partitions, plan.batch_limit, plan.trigger.trigger
    )
    steady = batches(observed(large, RATE, 300.0))[5:]
    assert len(steady) > 50
    assert max(batch.finished - batch.planned for batch in steady) < plan.trigger.trigger
    latencies = [batch.finished - batch.planned + plan.trigger.trigger for batch in steady]
    assert max(latencies) <= min(10.0, 1.05 * plan.trigger.latency)
    # a burst of three times the rate for two minutes leaves 240 s of records: no batch of them takes much longer
    burst = batches(observed(large, 3 * RATE, 120.0))
    assert burst[-1].arrived is not None
    assert burst[-1].arrived - burst[-1].end > 100 * RATE
    assert max(batch.finished - batch.planned for batch in burst) < 1.05 * plan.trigger.trigger
    # and they go down at the rate afterwards
    after = batches(observed(large, RATE, 100.0))
    backlog = [batch.arrived - batch.end for batch in after if batch.arrived is not None]
    assert backlog[-1] < backlog[0]


def test_the_partitions_of_the_testbed_would_not_do_it(run: RunFigures, tmp_path: Path) -> None:
    assert run.stages[0].tasks == 12
    large = deployed(tmp_path / "large.json", SLOTS, 12, limit=10**9, trigger=4.0)
    late = batches(observed(large, RATE, 200.0))
    # 12 of 24 slots work: 640,000 records take 0.66 + 64 / 12 = 6 s of 4 s
    assert late[-1].finished - late[-1].planned > 5.0
