"""A known model is run on a small testbed; what is learnt from the run must be the known model again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.core import InvalidInput, Observation
from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment import Experiment
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures, StateFigures, run_figures
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.profiling.learnt_model import capacity_of, learnt_model, paced
from tidegate.sim.batch_model import BatchModel, parse, text
from tidegate.workloads import Constant

#: of a record 60 µs in the first stage and 40 µs where the state is, 0.03 s for each task, 0.6 s for the driver
KEYED = BatchModel(
    "keyed", fixed=0.6, overhead=0.03, cost=1e-4, tasks=12, stages=2, first=0.6, cold=0.0, noise=0.0, state=2.0
)
PLAIN = BatchModel("plain", fixed=0.4, overhead=0.05, cost=8e-5, tasks=12, cold=0.0, noise=0.0)
TRIGGER = 4.0


def shown(model: BatchModel, folder: Path, rates: tuple[float, ...] = (4_000.0, 10_000.0, 7_000.0)) -> RunFigures:
    """Of a run with 2 executors and 12 partitions."""
    file = folder / "model.json"
    file.write_text(text(model))
    settings: dict[str, Any] = {"options": {"executors": 2}, "initial": 2, "maximum": 2, "policy": "static"}
    deployment = SimulatedDeployment(
        Experiment(
            engine="sim", model=str(file), workload="constant", duration=60.0, peak=1.0, trigger=TRIGGER,
            partitions=12, limit=10**9, **settings,
        )
    )  # fmt: skip
    return run_figures([obs for rate in rates for obs in observed(deployment, rate)], TRIGGER)


def observed(deployment: SimulatedDeployment, rate: float, seconds: float = 100.0) -> list[Observation]:
    deployment.offer(Constant(seconds + 100.0, rate))
    clock, observations = deployment.clock, []
    end = clock.now() + seconds
    while clock.now() < end:
        clock.sleep_until(clock.now() + 1.0)
        observations.append(deployment.engine.observe())
    return observations


@pytest.mark.parametrize("known", [KEYED, PLAIN], ids=lambda model: model.job)
def test_a_known_model_is_learnt_from_its_own_run(known: BatchModel, tmp_path: Path) -> None:
    truth = replace(known, tasks=72)
    learnt = learnt_model(known.job, shown(known, tmp_path), partitions=72)
    assert learnt.fixed == pytest.approx(known.fixed, abs=0.06)
    assert learnt.overhead == pytest.approx(known.overhead, rel=0.1)
    assert learnt.cost == pytest.approx(known.cost, rel=0.05)
    assert learnt.first == pytest.approx(known.first, abs=0.03)
    assert (learnt.stages, learnt.cores, learnt.tasks) == (known.stages, 1, 72)
    assert learnt.state == pytest.approx(known.state, rel=0.05)
    # within 5 % for clusters and batches that were never run
    for executors in (4, 12, 24):
        assert capacity_of(learnt, executors, TRIGGER) == pytest.approx(
            capacity_of(truth, executors, TRIGGER), rel=0.05
        )
        for records in (20_000, 300_000):
            time = learnt.batch_time(records, executors)
            assert time == pytest.approx(truth.batch_time(records, executors), rel=0.05)


@pytest.mark.parametrize("known", [KEYED, PLAIN], ids=lambda model: model.job)
def test_the_pace_is_that_of_the_plan(known: BatchModel, tmp_path: Path) -> None:
    learnt = learnt_model(known.job, shown(known, tmp_path), partitions=72)
    # 24 slots were seen to do less than their run promised, by a law that bends
    planned = 0.8 * capacity_of(replace(known, tasks=72), 24, TRIGGER)
    slower = paced(learnt, 24, TRIGGER, planned)
    assert capacity_of(slower, 24, TRIGGER) == pytest.approx(planned, rel=1e-5)
    assert slower.batch_time(planned * TRIGGER, 24) == pytest.approx(TRIGGER, rel=1e-5)
    # and nothing else is changed
    assert replace(slower, cost=learnt.cost) == learnt


def test_what_it_does_in_a_simulation(tmp_path: Path) -> None:
    learnt = paced(learnt_model("keyed", shown(KEYED, tmp_path), partitions=72), 24, TRIGGER, 150_000.0)
    file = tmp_path / "learnt.json"
    file.write_text(text(replace(learnt, noise=0.0)))
    settings: dict[str, Any] = {"options": {"executors": 24}, "initial": 24, "maximum": 24, "policy": "static"}
    e = Experiment(
        engine="sim", model=str(file), workload="constant", duration=60.0, peak=1.0, trigger=TRIGGER,
        partitions=72, limit=10**9, **settings,
    )  # fmt: skip
    deployment = SimulatedDeployment(e)
    kept = [batch for obs in observed(deployment, 0.98 * 150_000.0) for batch in obs.batches]
    assert max(batch.finished - batch.planned for batch in kept) < TRIGGER
    late = [batch for obs in observed(deployment, 1.05 * 150_000.0) for batch in obs.batches]
    assert late[-1].finished - late[-1].planned > TRIGGER


def test_it_is_a_file_that_every_command_reads(tmp_path: Path) -> None:
    learnt = paced(learnt_model("keyed", shown(KEYED, tmp_path), partitions=72), 24, TRIGGER, 150_000.0)
    assert parse(text(learnt), "learnt.json") == learnt


def test_what_a_run_does_not_show_is_taken_from_another_model() -> None:
    stage = StageFigures(tasks=8, each=1e-4)
    run = RunFigures(1e4, 2, 1, (stage,), trigger=4.0, batch_seconds=2.5, batch_records=4e4)
    base = BatchModel("other", startup=9.0, young=-0.5, cpu=0.7)
    learnt = learnt_model("mine", run, partitions=6, base=base)
    assert (learnt.job, learnt.startup, learnt.cpu, learnt.young) == ("mine", 9.0, 0.7, 0.0)
    # batches of one size: 40,000 * 1e-4 s keep 2 slots busy for 2 s of 2.5 s; a task takes 0.05 s by the rules
    assert learnt.fixed == pytest.approx(0.5)
    assert learnt.overhead == 0.05
    assert (learnt.state, learnt.shares, learnt.first) == (0.0, (), 1.0)


def test_state_and_skew_are_those_of_the_run() -> None:
    stages = (StageFigures(4, 1e-5, 0.02), StageFigures(5, 3e-5, 0.04, Skew(partitions=5, largest=0.6)))
    state = StateFigures(rows=2e4, size=4e6)
    run = RunFigures(1e4, 2, 1, stages, 4.0, 1.0, 4e4, keyed=1, fixed=0.5, state=state)
    learnt = learnt_model("hot", run, partitions=10)
    assert learnt.first == pytest.approx(0.25)
    # 2 rows for each record a second, 200 bytes each
    assert (learnt.state, learnt.row_bytes) == (2.0, 200.0)
    # a key has 0.5, and a tenth of the rest is in its partition
    assert learnt.shares == (0.55, *(0.05,) * 9)
    # 2 waves of 0.02 s and 3 of 0.04 s are not the driver's
    assert learnt.fixed == pytest.approx(0.5 - 0.16)


def test_batches_that_are_mostly_without_records_are_longer() -> None:
    # 3 s of 4 s in 4 waves: batches of 6 s with 3 s for records
    model = paced(BatchModel("slow", fixed=1.0, overhead=0.5, tasks=8), 2, TRIGGER, 10_000.0)
    assert model.batch_time(60_000, 2) == pytest.approx(6.0)
    assert capacity_of(model, 2, TRIGGER) == pytest.approx(10_000.0)


def test_what_nothing_can_be_learnt_from() -> None:
    run = RunFigures(1e4, 2, 1, (StageFigures(8, 0.0),), 4.0, 1.0, 4e4)
    with pytest.raises(
        InvalidInput, match=r"^model of q1: need a run whose tasks took time, they took 0 s for a record"
    ):
        learnt_model("q1", run, 8)
    with pytest.raises(InvalidInput, match=r"^model of q1: need a capacity > 0 records/s, got -1$"):
        paced(BatchModel("q1"), 2, TRIGGER, -1.0)
