"""A source that is slower than what it is asked for is named as the limit."""

from __future__ import annotations

from pathlib import Path

from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment import Experiment
from tidegate.planner.estimator.phases import Supply
from tidegate.planner.estimator.search import CapacitySearch
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.estimator.verdict import Limit
from tidegate.profiling.testbed import Testbed
from tidegate.sim.batch_model import BatchModel, text
from tidegate.workloads import Constant, Shape

#: 10,000 records take 1 s of one executor, and of 5 s 4 are left for them: 8,000/s
MODEL = BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-4, tasks=8, cold=0.0, noise=0.0)
#: records/s
MOST = 5_000.0


class SlowSource(SimulatedDeployment):
    def offer(self, load: Shape) -> None:
        assert isinstance(load, Constant)
        super().offer(Constant(load.duration, min(load.level, MOST)))

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        return Supply(min(rate, MOST), able=rate <= MOST)


def test_a_search_names_the_source(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(text(MODEL))
    e = Experiment(
        engine="sim", model=str(file), workload="constant", duration=60.0, peak=1000.0, policy="static", trigger=5.0,
        options={"executors": 1}, initial=1, maximum=1, partitions=8,
    )  # fmt: skip
    testbed, search = Testbed(SlowSource(e), 1, e.trigger), CapacitySearch(9_000.0, SHORT.for_trigger(e.trigger))
    for phase in search:
        search.tell(testbed.measure(phase))
    estimate = search.estimate()
    assert estimate.limit is Limit.SOURCE
    assert estimate.lower_bound_only
    assert estimate.rate is not None
    assert 0.9 * MOST <= estimate.rate <= 1.01 * MOST
