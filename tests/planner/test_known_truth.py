"""Plans for twenty times the testbed, where the truth is known.

Three kinds of query, each with coefficients drawn from the seed:

* linear: r (s + d), where d between -0.8 and 0 slots are lost to overhead. StreamBed's q1 has d = -0.8.
* skew: the slowest of s tasks decides, and their loads follow a Pareto distribution with an index between 4 and 10.
* partitions: a micro-batch of the simulator (`sim.batch_model`), 1,000 to 3,000 partitions, dealt out in waves.

The load is what 1,000 slots hold with StreamBed's 10 % to spare. Everything was designed on seeds from 100 on; those
below 10 were looked at once, when it was finished.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import gammaln

from tidegate.planner.averaging import average
from tidegate.planner.least_squares import PAPER
from tidegate.planner.measurement import Measurement
from tidegate.planner.plan import Plan, plan
from tidegate.planner.selection import select
from tidegate.planner.tasks import Tasks
from tidegate.sim.batch_model import BatchModel
from tidegate.sim.pace import Pace

NOISE = 0.05
MEMORY = 1024.0
TRIGGER = 10.0
SEEDS = range(10)
#: half of the runs at the upper end of the testbed, a third at the lower end, the rest between; and so on
TESTBED = (48, 1, 5, 48, 47, 2, 18, 46, 1, 48)


@dataclass(frozen=True)
class Query:
    capacity: Callable[[int], float]
    tasks: Tasks = Tasks()  # noqa: RUF009
    #: the smallest number of slots that runs at all
    least: int = 1

    @property
    def load(self) -> float:
        return self.capacity(1000) / 1.10

    @property
    def needed(self) -> int:
        return next(slots for slots in range(1, 3001) if self.capacity(slots) >= self.load)

    def configurations(self, runs: int) -> list[int]:
        return [max(self.least, TESTBED[k % len(TESTBED)]) for k in range(runs)]

    def measured(self, slots: list[int], rng: np.random.Generator) -> list[Measurement]:
        """Every rate with an error of 5 %."""
        return [Measurement(s, MEMORY, self.capacity(s) * math.exp(NOISE * rng.standard_normal())) for s in slots]

    def observed(self, slots: list[int], seed: int) -> list[Measurement]:
        """For a minute each, after five of warm-up, on a simulated machine whose pace varies by 5 % every 15 s."""
        pace = Pace(seed, NOISE)
        shares = [pace.worth(360.0 * k + 300, 360.0 * k + 360) / 60 for k in range(len(slots))]
        return [Measurement(s, MEMORY, self.capacity(s) * share) for s, share in zip(slots, shares, strict=True)]


def linear(rng: np.random.Generator) -> Query:
    rate, overhead = math.exp(rng.uniform(math.log(5e3), math.log(2e5))), rng.uniform(-0.8, 0)
    return Query(lambda slots: rate * (slots + overhead))


def skew(rng: np.random.Generator) -> Query:
    rate, index = math.exp(rng.uniform(math.log(5e3), math.log(2e5))), rng.uniform(4, 10)

    def capacity(slots: int) -> float:
        """The mean of the largest of s loads with mean 1 is (a - 1) / a * G(s + 1) G(1 - 1/a) / G(s + 1 - 1/a)."""
        logs = gammaln(slots + 1) + gammaln(1 - 1 / index) - gammaln(slots + 1 - 1 / index)
        return float(rate * slots / ((index - 1) / index * math.exp(logs)))

    return Query(capacity)


def partitions(rng: np.random.Generator) -> Query:
    model = BatchModel(
        "known",
        tasks=int(rng.integers(1000, 3001)),
        cost=math.exp(-rng.uniform(math.log(5e3), math.log(2e5))),
        fixed=rng.uniform(0.2, 1.0),
        overhead=rng.uniform(0.001, 0.006),
    )

    def capacity(slots: int) -> float:
        empty, each = model.parts(slots)
        return max(0.0, (TRIGGER - empty) / (TRIGGER * each))

    # 3,000 partitions on 4 slots: 750 waves of 6 ms are 4.5 s of the trigger's 10
    return Query(capacity, Tasks(model.tasks), least=4)


KINDS = {"linear": linear, "skew": skew, "partitions": partitions}


@dataclass(frozen=True)
class Outcome:
    """Of one seed: the plan, None if it was refused, and what was needed."""

    slots: int | None
    needed: int
    sustained: bool
    covered: bool

    @property
    def good(self) -> bool:
        return self.slots is not None and self.sustained and self.slots <= 1.15 * self.needed


def outcome(query: Query, measurements: list[Measurement]) -> Outcome:
    planned = plan(average(measurements, query.tasks), query.load)
    interval, needed = planned.interval, query.needed
    covered = (interval.low or math.inf) <= needed <= (interval.high or math.inf)
    if not isinstance(planned, Plan):
        return Outcome(None, needed, False, covered)
    return Outcome(planned.slots, needed, query.capacity(planned.slots) >= query.load, covered)


@pytest.mark.parametrize("kind", KINDS)
def test_plans_from_60_runs_with_an_error_of_5_percent(kind: str) -> None:
    outcomes = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        query = KINDS[kind](rng)
        outcomes.append(outcome(query, query.measured(query.configurations(60), rng)))
    assert sum(o.good for o in outcomes) >= 9, outcomes
    assert sum(o.covered for o in outcomes) >= 8, outcomes


@pytest.mark.parametrize("kind", KINDS)
def test_plans_from_20_runs_of_a_minute_in_the_simulator(kind: str) -> None:
    outcomes = []
    for seed in SEEDS:
        query = KINDS[kind](np.random.default_rng(seed))
        outcomes.append(outcome(query, query.observed(query.configurations(20), seed)))
    assert sum(o.good for o in outcomes) >= 9, outcomes
    assert sum(o.covered for o in outcomes) >= 8, outcomes


def streambed(query: Query, rng: np.random.Generator) -> float:
    """Capacity of 1,000 slots as the paper predicts it: four corners, 16 more configurations, the best extrapolation.

    The 16 are drawn from the grid. With the explorer's own choice the errors are the same: medians of 2.0, 50 and 21 %
    on six design seeds.
    """
    corners = [(slots, memory) for memory in (512.0, 4096.0) for slots in (query.least, 48)]
    others = [(int(rng.integers(query.least, 49)), 512.0 * int(rng.integers(1, 9))) for _ in range(16)]
    rates = query.measured([slots for slots, _ in corners + others], rng)
    data = [Measurement(m.slots, memory, m.rate) for m, (_, memory) in zip(rates, corners + others, strict=True)]
    return select(PAPER, data).fit(data).predict(1000, 4096.0)


@pytest.mark.parametrize("kind", KINDS)
def test_five_runs_predict_as_well_as_streambed_s_twenty(kind: str) -> None:
    ours, theirs = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        query = KINDS[kind](rng)
        truth = query.capacity(1000)
        theirs.append(abs(streambed(query, rng) / truth - 1))
        five = average(query.measured(query.configurations(5), rng), query.tasks)
        ours.append(abs(five.quantile(1000, 0.5) / truth - 1))
    # Medians on these seeds, ours and theirs: linear 2.0 and 1.6 %, skew 5.7 and 54 %, partitions 2.9 and 12 %. Where
    # one of their models is right, 20 runs are slightly better than 5.
    assert np.median(ours) <= np.median(theirs) + 0.01, (ours, theirs)
