"""Partition trials on the simulated testbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.experiment import Experiment
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.space import Configuration
from tidegate.planner.spark_configuration.partitions import PartitionPlan
from tidegate.profiling.campaign import simulated_testbed
from tidegate.profiling.partition_trial_runs import PartitionTrial, TrialProbe, run_trial
from tidegate.profiling.search_run import Searcher
from tidegate.sim.batch_model import BatchModel, text

#: 96 partitions on 24 slots, and as many for each of the 4 slots of the testbed: 16
PLAN = PartitionPlan(partitions=96, slots=24, largest_task=0.2, task_share=0.05)
TRIAL = PartitionTrial(PLAN, Configuration(4, 512))


def searcher(folder: Path, overhead: float) -> Searcher:
    model = BatchModel(
        "keyed", fixed=0.4, overhead=overhead, cost=1e-4, tasks=12, stages=2, first=0.5, cold=0.0, noise=0.0
    )
    file = folder / "model.json"
    file.write_text(text(model))
    e = Experiment(engine="sim", model=str(file), policy="static", trigger=4.0, period=1.0)
    return Searcher(e, SHORT, simulated_testbed)


def test_expensive_tasks_take_fewer_partitions(tmp_path: Path) -> None:
    # two stages of 0.08 s for each wave: of 4 s, 8 partitions lose 0.32, 16 0.64, 32 1.28 s
    probes = run_trial(TRIAL, (), searcher(tmp_path, overhead=0.08), 3600.0)
    assert [probe.partitions for probe in probes] == [16, 8, 32]
    rates = {probe.partitions: probe.rate for probe in probes}
    # (4 - 0.4 - 0.64) / 4 * 40,000, and with 0.32; estimates are a little too high where a quarter is fixed
    assert rates[16] == pytest.approx(29_600, rel=0.06)
    assert rates[8] == pytest.approx(32_800, rel=0.06)
    verdict = TRIAL.verdict(probes)
    assert verdict is not None
    assert verdict.count.planned == 48
    assert "48 partitions instead of 96" in verdict.reason


def test_cheap_tasks_keep_the_plan(tmp_path: Path) -> None:
    verdict = TRIAL.verdict(run_trial(TRIAL, (), searcher(tmp_path, overhead=0.005), 3600.0))
    assert verdict is not None
    assert verdict.count.planned == 96


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    known = (TrialProbe(4, 512, 16, 20_000.0), TrialProbe(4, 512, 32, None, 3.0, "no rate"), TrialProbe(2, 512, 8, 9e3))
    told: list[TrialProbe] = []
    probes = run_trial(TRIAL, known, searcher(tmp_path, overhead=0.08), 3600.0, told.append)
    assert probes[:3] == known
    # the failed one is tried again
    assert [probe.partitions for probe in told] == [8, 32]
    assert TRIAL.failure(TRIAL.counts[2], known) == "no rate"


def test_without_time_nothing_is_run(tmp_path: Path) -> None:
    assert run_trial(TRIAL, (), searcher(tmp_path, overhead=0.08), 100.0) == ()
    assert TRIAL.verdict(()) is None


def test_other_counts_say_nothing_without_the_planned_one() -> None:
    assert TRIAL.verdict([TrialProbe(4, 512, 8, 9e3), TrialProbe(4, 512, 32, 9e3)]) is None


def test_noisy_rates_must_differ_by_more() -> None:
    probes = [TrialProbe(4, 512, 16, 10_000.0), TrialProbe(4, 512, 8, 10_800.0)]
    verdicts = [TRIAL.verdict(probes, noise) for noise in (0.0, 0.04, 0.05, 9.0)]
    # 1.8 * 4 % are 7.2 %, 1.8 * 5 % are 9 %
    assert [verdict.count.planned for verdict in verdicts if verdict] == [48, 48, 96, 96]
