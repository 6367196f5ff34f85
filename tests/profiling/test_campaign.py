"""Explorations on simulated testbeds: measured, continued, and what a failure costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tidegate.core import QueryFailed
from tidegate.experiment import Experiment
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.explorer import Exploration, ExplorationRules
from tidegate.planner.space import Space
from tidegate.profiling.campaign import Campaign, simulated_testbed
from tidegate.profiling.search_run import Searcher, SearchRun
from tidegate.profiling.testbed import Testbed
from tidegate.sim.batch_model import BatchModel, text

#: a batch of 5 s has 4 s for records, 10,000 a second on each executor: 8,000/s for each
MODEL = BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-4, tasks=24, cold=0.0, noise=0.0)
SPACE = Space.of([1, 2, 3, 4], [512])


@pytest.fixture
def e(tmp_path: Path) -> Experiment:
    file = tmp_path / "model.json"
    file.write_text(text(MODEL))
    return Experiment(engine="sim", model=str(file), policy="static", trigger=5.0, partitions=24, period=1.0)


def test_the_capacity_of_each_configuration_is_measured(e: Experiment) -> None:
    seen: list[SearchRun] = []
    campaign = Campaign(Searcher(e, SHORT, simulated_testbed), on_probe=lambda _, run: seen.append(run))
    explored = campaign.run(Exploration(SPACE, ExplorationRules(runs=3)))
    rates = {m.slots: m.rate for m in explored.measurements}
    # batches of a tenth more records than a trigger brings are 2 % faster
    assert rates[1] == pytest.approx(8_000, rel=0.04)
    assert rates[4] == pytest.approx(32_000, rel=0.03)
    assert [run.estimate and run.estimate.rate for run in seen] == [m.rate for m in explored.measurements]


def test_it_goes_on_where_it_was_interrupted(e: Experiment) -> None:
    campaign = Campaign(Searcher(e, SHORT, simulated_testbed))
    rules = ExplorationRules(runs=4)
    whole = campaign.run(Exploration(SPACE, rules))
    assert campaign.run(Exploration(SPACE, rules, whole.probes[:2])).probes == whole.probes


def test_a_testbed_that_fails_costs_its_probe_and_not_the_exploration(e: Experiment) -> None:
    @contextmanager
    def fragile(configured: Experiment) -> Iterator[Testbed]:
        if configured.maximum == 4:
            raise QueryFailed("the query failed: out of memory")
        with simulated_testbed(configured) as testbed:
            yield testbed

    explored = Campaign(Searcher(e, SHORT, fragile)).run(Exploration(SPACE, ExplorationRules(runs=3)))
    assert [(p.slots, p.failure) for p in explored.probes if p.failure] == [(4, "the query failed: out of memory")]
    assert len(explored.measurements) == 2
