from dataclasses import astuple, replace

import numpy as np
import pytest

from tidegate.core import Batch, Decision, Event, Observation, Step, Tick
from tidegate.score import Cumulative, Finished, Move, Objective, TraceRecorder, figures, trace_from_ticks
from tidegate.score.figures import Backlog, Latency, Rescales, Workers
from tidegate.workloads import Constant


def tick(time: float, executors: int, requested: int, *batches: Batch, wish: int | None = None) -> Tick:
    lost = (Event(time, "ExecutorLost", "executor 1 is gone"),) if time == 1020 else ()
    events = (Event(time, "Other", ""), *lost)
    obs = Observation(time, executors, requested, batches=batches, events=events, rerun_tasks=int(time) - 1000)
    if wish is None:
        return Tick(obs)
    return Tick(obs, (Step("test", Decision(wish, "because")),), acted=wish != requested)


TICKS = [
    tick(1000, 1, 1, wish=1),
    tick(1010, 1, 1, Batch(0, 1000, 1005, 0, 50, rows=50, arrived=20), wish=3),
    tick(1020, 3, 3, Batch(1, 1005, 1015, 50, 100, rows=50, arrived=100)),
    tick(1030, 3, 3, Batch(2, 1020, 1025, 100, 100), wish=2),
]


def test_a_trace_from_the_ticks_of_a_real_run() -> None:
    found = trace_from_ticks(TICKS, start=1000, arrivals=Cumulative.of(Constant(10, level=10)))
    assert found.times.tolist() == [0, 10, 20, 30]
    assert (found.executors.tolist(), found.requested.tolist()) == ([1, 1, 3, 3], [1, 1, 3, 3])
    assert found.finished.times.tolist() == [5, 15]  # a batch without records is no portion
    assert (found.finished.begins.tolist(), found.finished.ends.tolist()) == ([0, 50], [50, 100])
    assert found.finished.rows is not None
    assert found.finished.rows.tolist() == [50, 50]
    assert found.moves == (Move(10, 1, 3, "because"), Move(30, 3, 2, "because"))
    assert (found.failures, found.until, found.rerun_tasks, found.dated) == ((20.0,), 30.0, 30, True)


def test_its_figures() -> None:
    found = figures(trace_from_ticks(TICKS, 1000, Cumulative.of(Constant(10, level=10))), Objective(slo=7))
    assert (found.processed, found.lost, found.rerun_tasks) == (100, 0, 30)
    # 50 of 0..5 s, done at 5; 50 of 5..10 s, done at 15: 5..10 s. So a share x took up to 10 x
    assert found.latency is not None
    assert astuple(found.latency) == pytest.approx(
        astuple(Latency(mean=5.0, p50=5.0, p95=9.5, p99=9.9, max=10.0)), abs=2e-4
    )
    assert found.slo.violated == 0.3
    # seen: 10 + 10 + 30; paid: 10 + 30 + 30, from being asked for at 10 s
    assert found.workers == Workers(mean=2.33333333, max=3, seconds=70.0, seen_mean=1.66666667, seen_seconds=50.0)
    assert found.rescales == Rescales(count=2, up=1, down=1)
    # at 10 s 100 had come and 50 were done
    assert found.backlog == Backlog(max=50.0, final=0.0)


def test_without_a_workload_arrivals_are_read_off_the_batches() -> None:
    found = trace_from_ticks(TICKS, start=1000)
    # 20 at once (planned at the start), 100 at 5 s
    assert found.arrivals.by([0, 2.5, 5, 30]).tolist() == [20, 60, 100, 100]
    assert found.dated


def test_records_may_tell_when_they_were_created() -> None:
    first = Batch(0, 108, 110, 0, 100, times=(100.0, 101.0, 105.0))
    second = Batch(1, 109, 111, 100, 300, arrived=340, times=(106.0, 106.0, 106.0))
    found = trace_from_ticks([tick(111, 1, 1, first, second)], start=100)
    assert found.arrivals.by([0, 0.5, 1, 3, 5, 5.5]).tolist() == [0, 25, 50, 75, 100, 100]
    assert found.arrivals.by([6, 7.5, 9]).tolist() == [300, 320, 340]  # 40 that no batch has read
    assert found.finished.created == ((0.0, 1.0, 5.0), (6.0, 6.0, 6.0))


def test_batches_that_say_nothing_of_arrivals_leave_them_unknown() -> None:
    found = trace_from_ticks([tick(111, 1, 1, Batch(0, 108, 110, 0, 100))], start=100)
    assert (found.dated, found.finished.ends.tolist()) == (False, [100])


@pytest.mark.parametrize("broken", ["planned", "finished", "end", "arrived"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_batch_with_broken_numbers_does_not_spoil_the_run(broken: str, value: float) -> None:
    good = Batch(0, 108, 110, 0, 100, arrived=100.0)
    bad = replace(Batch(1, 109, 111, 100, 200, arrived=200.0), **{broken: value})
    assert figures(trace_from_ticks([tick(111, 1, 1, good, bad)], 100), Objective(1)) == figures(
        trace_from_ticks([tick(111, 1, 1, good)], 100), Objective(1)
    )


def test_a_batch_with_a_broken_creation_time_does_not_spoil_it_either() -> None:
    bad = Batch(1, 109, 111, 100, 200, times=(108.0, float("nan")))
    assert len(trace_from_ticks([tick(111, 1, 1, bad)], 100).finished.times) == 0


def test_a_decision_that_nobody_acted_on_is_no_move() -> None:
    watched = Tick(Observation(1000.0, 1, 1), (Step("test", Decision(3, "because")),), acted=False)
    assert trace_from_ticks([watched]).moves == ()
    assert figures(trace_from_ticks([watched]), Objective(1)).rescales == Rescales()


def test_where_nobody_acts_every_change_of_the_number_is_a_move() -> None:
    # Spark's own allocation kills idle executors: that is no failure
    found = trace_from_ticks([tick(1000, 1, 1), tick(1010, 2, 1), tick(1020, 1, 1), tick(1030, 1, 1)], native=True)
    moves = (Move(1010, 1, 2, "dynamic allocation"), Move(1020, 2, 1, "dynamic allocation"))
    assert (found.moves, found.failures) == (moves, ())


def test_the_run_may_end_before_or_after_the_last_tick() -> None:
    assert trace_from_ticks(TICKS, start=1000, until=15).until == 15


def test_an_engines_own_account_of_what_was_done_takes_the_place_of_batches() -> None:
    recorder = TraceRecorder()
    for each in TICKS:
        recorder.take(each)
    finer = Finished(np.array([1.0, 2.0]), np.array([0.0, 10.0]), np.array([10.0, 20.0]))
    assert recorder.trace(1000, finished=finer).finished is finer


def test_a_run_without_ticks() -> None:
    found = trace_from_ticks([])
    assert (found.until, len(found.times), found.arrivals.whole) == (0.0, 0, 0.0)
    assert figures(found, Objective(slo=1)).latency is None
    assert np.array_equal(found.finished.times, [])
