import json
from dataclasses import asdict, dataclass, replace

import numpy as np

from tidegate.score import Cumulative, Finished, Move, RunTrace
from tidegate.score.convergence import Convergence
from tidegate.score.figures import (
    AgainstOracle,
    Backlog,
    Figures,
    Latency,
    Objective,
    Rescales,
    Slo,
    Throughput,
    Workers,
    figures,
)
from tidegate.score.provision import Provision
from tidegate.score.recovery import Recovery
from tidegate.score.trace import Array
from tidegate.workloads import Constant


@dataclass(frozen=True)
class Oracle:
    executors: Array
    seconds: float
    late: float


def line(*points: tuple[float, float]) -> Cumulative:
    times, totals = np.array(points, dtype=float).T
    return Cumulative(times, totals)


RUN = RunTrace(
    arrivals=line((0, 0), (100, 1000)),
    finished=Finished(np.array([20.0, 60.0, 90.0]), np.array([0.0, 100.0, 300.0]), np.array([100.0, 300.0, 800.0])),
    times=np.array([0.0, 50.0, 100.0]),
    executors=np.array([1.0, 3.0, 3.0]),
    requested=np.array([1.0, 3.0, 3.0]),
    until=100.0,
    moves=(Move(10, 1, 4), Move(20, 4, 3), Move(30, 3, 3)),
)


def test_all_figures_of_a_run() -> None:
    oracle = Oracle(np.array([2.0, 2.0, 2.0]), seconds=160.0, late=0.01)
    assert figures(RUN, Objective(slo=40, price=0.36), oracle) == Figures(
        processed=800,
        lost=0,
        # 100 of 10..20 s, 200 of 30..50 s, 500 of 10..60 s, and 200 never done: 0..20 s at the end (see below)
        latency=Latency(mean=29.0, p50=30.0, p95=55.0, p99=59.0, max=60.0),
        # of the second 100 (40..50 s), of the third 200 (40..60 s)
        slo=Slo(target=40, violated=0.3),
        # 50 x 3, asked for before 50 s, + 50 x 3; seen were 50 x 1 + 50 x 3
        workers=Workers(mean=3.0, max=3, seconds=300.0, seen_mean=2.0, seen_seconds=200.0),
        rescales=Rescales(count=2, up=1, down=1),
        # at 50 s 500 had come and 100 were done; at 100 s 1000 and 800
        backlog=Backlog(max=400.0, final=200.0),
        throughput=Throughput(offered=10.0, processed=8.0, ratio=0.8),
        convergence=(),
        recovery=(),
        provision=Provision(over=50.0, under=50.0),
        oracle=AgainstOracle(seconds=160.0, ratio=1.875, violated=0.01),
        cost=0.03,  # 300 s at 0.36 an hour
    )


def test_latency_over_all_that_arrived() -> None:
    found = figures(RUN, Objective(slo=40)).latency
    assert found is not None
    # 100 x 15 + 200 x 40 + 500 x 35 + 200 x 10, of 1000
    assert found.mean == 29.0
    assert found.max == 60.0
    # up to 30 s: 100 + 0 + 200 + 200 = 500
    assert found.p50 == 30.0
    # above 55 s: 10 per second of the third: 50 = 5 %, and 10 above 59 s
    assert (found.p95, found.p99) == (55.0, 59.0)


def test_without_an_oracle_and_a_price() -> None:
    found = figures(RUN, Objective(slo=40))
    assert (found.provision, found.oracle, found.cost, found.convergence) == (None, None, None, ())


def test_convergence_and_recovery_have_one_for_each_step_and_failure() -> None:
    times = np.arange(0.0, 1001.0, 10.0)
    ones = np.ones(len(times))
    done = Finished(times[1:], 10 * times[:-1], 10 * times[1:])
    run = RunTrace(line((0, 0), (1000, 10_000)), done, times, ones, ones, 1000.0, failures=(500.0,))
    found = figures(run, Objective(slo=40), Oracle(ones, 1000.0, 0.0), steps=[400.0])
    assert found.convergence == (Convergence(at=400.0, seconds=0.0, steps=0),)
    assert found.recovery == (Recovery(at=500.0, seconds=0.0),)


def test_figures_are_plain_values() -> None:
    found = figures(RUN, Objective(slo=40, price=1), Oracle(np.array([1.0, 1.0, 1.0]), 1 / 3, 0.0))
    text = json.dumps(asdict(found))
    assert json.dumps(json.loads(text)) == text
    assert json.loads(text)["oracle"]["seconds"] == 0.333333333


def test_nothing_processed() -> None:
    none = np.array([])
    found = figures(replace(RUN, finished=Finished(none, none, none)), Objective(slo=40))
    assert found.latency is not None
    assert (found.processed, found.throughput.ratio, found.latency.max) == (0, 0.0, 100.0)
    assert found.slo.violated == 0.6


def test_nothing_at_all() -> None:
    none = np.array([])
    empty = RunTrace(line((0, 0)), Finished(none, none, none), none, none, none, until=0.0)
    found = figures(empty, Objective(slo=40, price=1))
    assert (found.processed, found.latency, found.workers, found.backlog, found.cost) == (0, None, None, None, None)
    assert found.slo == Slo(target=40, violated=None)
    assert found.throughput == Throughput(offered=None, processed=None, ratio=None)


def test_where_nobody_knows_when_records_arrived_neither_does_the_score() -> None:
    found = figures(replace(RUN, dated=False), Objective(slo=40))
    assert (found.latency, found.slo.violated, found.backlog) == (None, None, None)
    # 800 in 100 s are known all the same, and so are the workers
    assert found.throughput == Throughput(offered=None, processed=8.0, ratio=None)
    assert (found.processed, found.workers) == (800, figures(RUN, Objective(slo=40)).workers)


def test_no_time_passes_between_ticks_of_one_moment_or_where_a_clock_is_set_back() -> None:
    ticks = np.array([0.0, 0.5, 0.3, 1.3])
    run = replace(RUN, times=ticks, executors=np.array([2.0, 4.0, 1.0, 9.0]), requested=np.zeros(4))
    # 0.5 s with 2, none with 4, 1 s with 1
    assert figures(run, Objective(slo=40)).workers == Workers(1.33333333, 9, 2.0, 1.33333333, 2.0)
    same = replace(RUN, times=np.array([5.0, 5.0]), executors=np.ones(2), requested=np.ones(2))
    assert figures(same, Objective(slo=40, price=1)).workers is None


def test_the_arrivals_of_a_workload_may_be_finer() -> None:
    found = Cumulative.of(Constant(2.25, level=10), step=0.5)
    assert found.times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.25]
    assert found.totals.tolist() == [0.0, 5.0, 10.0, 15.0, 20.0, 22.5]
