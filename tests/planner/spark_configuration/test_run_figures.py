"""Figures of runs: exact from observations that are written down, and near a model's truth from a simulated run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.core import Batch, ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment import Experiment
from tidegate.planner.spark_configuration.run_figures import run_figures
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.sim.batch_model import BatchModel, text
from tidegate.workloads import Constant


def observed(k: int, records: float, state: int | None = None, shares: tuple[float, ...] = ()) -> Observation:
    """A batch every 10 s on two executors of two cores: 0.1 s for each of 8 tasks, 1e-4 s and 3e-4 s for a record in
    two stages, and 1 s for the driver.
    """
    first, second = 0.8 + 1e-4 * records, 0.8 + 3e-4 * records
    return Observation(
        10.0 * k + 9,
        2,
        2,
        arrival_rate=1_000.0,
        trigger=10.0,
        batch_duration=1.0 + (first + second) / 4,
        state_rows=None if state is None else state // 100,
        state_bytes=state,
        batches=(Batch(k, 10.0 * k, 10.0 * k + 1 + (first + second) / 4, 10_000.0 * k, 10_000.0 * k + records),),
        per_executor=(ExecutorSample("1", cores=2), ExecutorSample("2", cores=2)),
        operators=(
            OperatorSample("stage 0", (), 8, busy=first / 10),
            OperatorSample("stage 1", ("stage 0",), 8, busy=second / 10, shares=shares),
        ),
    )


def test_batches_of_differing_sizes() -> None:
    run = run_figures([observed(k, 2_000.0 + 1_000 * k) for k in range(9)])
    assert (run.executors, run.cores, run.slots, run.keyed, run.trigger) == (2, 2, 4, 1, 10.0)
    assert run.rate == 1_000.0  # 10,000 records from batch to batch, every 10 s
    assert [stage.tasks for stage in run.stages] == [8, 8]
    assert [stage.each for stage in run.stages] == pytest.approx([1e-4, 3e-4], rel=1e-3)
    assert [stage.per_task for stage in run.stages] == pytest.approx([0.1, 0.1], rel=0.01)
    # 1 s, and two waves of 0.1 s in each of two stages
    assert run.fixed == pytest.approx(1.4, rel=0.01)
    assert run.driver == pytest.approx(1.0, rel=0.01)


def test_batches_of_one_size_do_not_tell_what_is_fixed() -> None:
    run = run_figures([observed(k, 10_000.0) for k in range(9)])
    assert run.fixed is None
    assert run.driver is None
    assert [stage.per_task for stage in run.stages] == [None, None]
    # 0.8 s / 10,000 records more than without the tasks' own time
    assert [stage.each for stage in run.stages] == pytest.approx([1.8e-4, 3.8e-4])


def test_a_trigger_that_is_known_counts() -> None:
    assert run_figures([observed(k, 10_000.0) for k in range(3)], trigger=8.0).trigger == 8.0


def test_an_observation_without_a_batch_repeats_old_stages() -> None:
    looks = [observed(k, 10_000.0) for k in range(3)]
    stale = Observation(99.0, 2, 2, trigger=10.0, batch_duration=50.0, operators=looks[0].operators)
    assert run_figures([*looks, *[stale] * 10]).stages == run_figures(looks).stages


def test_skew_of_the_state_partitions() -> None:
    shares = (0.4, *[0.6 / 7] * 7)
    run = run_figures([observed(0, 10_000.0), observed(1, 10_000.0, shares=shares)])
    assert run.skew == Skew(8, 0.4)
    assert run.keyed_stages[0].skew == Skew(8, 0.4)
    assert run.source_stages[0].skew is None


def test_state_of_the_last_third_and_whether_it_grows() -> None:
    steady = run_figures([observed(k, 10_000.0, state=5_000_000) for k in range(9)])
    assert steady.state is not None
    assert (steady.state.size, steady.state.rows, steady.state.growing) == (5e6, 5e4, False)
    growing = run_figures([observed(k, 10_000.0, state=1_000_000 * (k + 1)) for k in range(9)])
    assert growing.state is not None
    assert (growing.state.size, growing.state.growing) == (8e6, True)
    assert run_figures([observed(k, 10_000.0) for k in range(9)]).state is None


def test_nothing_to_take_figures_from() -> None:
    with pytest.raises(InvalidInput, match=r"got 0 observations without any batch with records$"):
        run_figures([])
    with pytest.raises(InvalidInput, match=r"got 3 observations without any batch with records$"):
        run_figures([Observation(float(k), 1, 1) for k in range(3)])
    blind = Observation(9.0, 1, 1, batches=(Batch(0, 0.0, 5.0, 0.0, 100.0),))
    with pytest.raises(InvalidInput, match=r"got 1 observations without any stage of a batch$"):
        run_figures([blind])


#: 0.6 s for the driver, 0.05 s for each task, and of a record 6e-5 s in the first stage and 4e-5 s where the state is
MODEL = BatchModel(
    "keyed", fixed=0.6, overhead=0.05, cost=1e-4, tasks=12, stages=2, first=0.6, cold=0.0, state=2.0, row_bytes=500.0,
    shares=(0.3, *[0.7 / 11] * 11),
)  # fmt: skip


@pytest.mark.parametrize(("noise", "tolerance"), [(0.0, 0.03), (0.03, 0.2)])
def test_a_simulated_run_with_several_loads(tmp_path: Path, noise: float, tolerance: float) -> None:
    file = tmp_path / "model.json"
    file.write_text(text(MODEL).replace('"noise": 0.03', f'"noise": {noise}'))
    e = Experiment(
        engine="sim", model=str(file), workload="constant", duration=60.0, peak=8_000.0, policy="static", trigger=5.0,
        options={"executors": 2}, initial=2, maximum=2, partitions=12,
    )  # fmt: skip
    deployment = SimulatedDeployment(e)
    observations = []
    for rate in (4_000.0, 8_000.0, 6_000.0, 2_000.0):
        deployment.offer(Constant(300.0, rate))
        end = deployment.clock.now() + 100.0
        while deployment.clock.now() < end:
            deployment.clock.sleep_until(deployment.clock.now() + 1.0)
            observations.append(deployment.engine.observe())
    run = run_figures(observations)
    assert (run.executors, run.slots, run.keyed, run.trigger) == (2, 2, 1, pytest.approx(5.0))
    assert run.driver == pytest.approx(0.6, rel=tolerance, abs=tolerance)
    assert run.each == pytest.approx(1e-4, rel=max(0.03, tolerance))
    assert run.skew == Skew(12, pytest.approx(0.3))  # type: ignore[arg-type]
    assert run.state is not None
    assert run.state.size == pytest.approx(2.0 * 500 * run.rate, rel=0.01)
