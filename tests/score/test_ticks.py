import numpy as np
import pytest

from tidegate.core import Batch, Decision, Event, Observation, Step, Tick
from tidegate.score import Cumulative, Move, score
from tidegate.score.figures import Aims, figures
from tidegate.score.from_ticks import arrivals_of, trial
from tidegate.workloads import Constant


def tick(time: float, executors: int, requested: int, *batches: Batch, wish: int | None = None) -> Tick:
    lost = (Event(time, "ExecutorLost", "executor 1 is gone"),) if time == 1020 else ()
    obs = Observation(time, executors, requested, batches=batches, events=(Event(time, "Other", ""), *lost))
    if wish is None:
        return Tick(obs)
    return Tick(obs, (Step("test", Decision(wish, "because")),), acted=wish != requested)


TICKS = [
    tick(1000, 1, 1, wish=1),
    tick(1010, 1, 1, Batch(0, 1000, 1005, 0, 50, rows=50, arrived=20), wish=3),
    tick(1020, 3, 3, Batch(1, 1005, 1015, 50, 100, rows=50, arrived=100)),
    tick(1030, 3, 3, Batch(2, 1020, 1025, 100, 100), wish=2),
]


def test_a_trial_from_the_ticks_of_a_real_run() -> None:
    found = trial(TICKS, start=1000, arrivals=Cumulative.of(Constant(10, level=10)))
    assert found.times.tolist() == [0, 10, 20, 30]
    assert (found.executors.tolist(), found.requested.tolist()) == ([1, 1, 3, 3], [1, 1, 3, 3])
    assert found.finished.times.tolist() == [5, 15]  # a batch without records is no portion
    assert (found.finished.begins.tolist(), found.finished.ends.tolist()) == ([0, 50], [50, 100])
    assert found.moves == (Move(10, 1, 3, "because"), Move(30, 3, 2, "because"))
    assert (found.failures, found.until) == ((20.0,), 30.0)


def test_its_figures_are_those_of_the_score() -> None:
    load = Constant(10, level=10)
    new = figures(trial(TICKS, 1000, Cumulative.of(load)), Aims(slo=7))
    old = score(TICKS, slo=7, start=1000, arrived=load.total)
    assert old.latency
    assert old.workers
    assert old.backlog
    assert (new["processed"], new["lost"]) == (old.processed, old.lost)
    # the score's arrivals are whole records: 0.1 s apart
    for key in ("mean", "p50", "p95", "p99", "max"):
        assert new["latency"][key] == pytest.approx(getattr(old.latency, key), abs=0.11)
    assert new["slo"]["violated"] == pytest.approx(old.slo.violated, abs=0.011)
    # here executors are paid from being asked for, there from being seen
    assert new["workers"]["max"] == old.workers.max
    assert new["workers"]["seconds"] >= old.workers.seconds
    assert new["rescales"] == {"count": old.rescales.count, "up": old.rescales.up, "down": old.rescales.down}
    assert new["backlog"] == {"max": old.backlog.max, "final": old.backlog.final}


def test_without_a_workload_arrivals_are_read_off_the_batches() -> None:
    found = trial(TICKS, start=1000).arrivals
    # 20 at once (planned at the start), 100 at 5 s
    assert found.by([0, 2.5, 5, 30]).tolist() == [20, 60, 100, 100]


def test_records_may_tell_when_they_were_created() -> None:
    first = Batch(0, 108, 110, 0, 100, times=(100.0, 101.0, 105.0))
    second = Batch(1, 109, 111, 100, 300, arrived=340, times=(106.0, 106.0, 106.0))
    found = arrivals_of([first, second], start=100)
    assert found.by([0, 0.5, 1, 3, 5, 5.5]).tolist() == [0, 25, 50, 75, 100, 100]
    assert found.by([6, 7.5, 9]).tolist() == [300, 320, 340]  # 40 that no batch has read


def test_a_run_without_ticks() -> None:
    found = trial([])
    assert (found.until, len(found.times), found.arrivals.whole) == (0.0, 0, 0.0)
    assert figures(found, Aims(slo=1))["latency"] is None
    assert np.array_equal(found.finished.times, [])
