"""From ticks to figures: what every run goes through, real, attached, replayed or simulated."""

import pytest

from tidegate.core import Batch, Decision, Observation, Step, Tick
from tidegate.score import Cumulative, Figures, Objective, figures, trace_from_ticks
from tidegate.score.figures import Backlog, Rescales
from tidegate.workloads import Constant


def tick(time: float, executors: int, requested: int, *batches: Batch, wish: int | None = None) -> Tick:
    obs = Observation(time, executors, requested, backlog=10.0 * time, batches=batches)
    if wish is None:
        return Tick(obs)
    return Tick(obs, (Step("test", Decision(wish, "because")),), acted=wish != requested)


def score(ticks: list[Tick], slo: float, start: float = 0.0, load: Constant | None = None) -> Figures:
    arrivals = None if load is None else Cumulative.of(load)
    return figures(trace_from_ticks(ticks, start, arrivals), Objective(slo))


def test_latency_is_over_records_not_over_batches() -> None:
    # 100 records/s. Batch 0: records of second 0..1, done at 2: 1..2 s. Batch 1: 900 of 1..10, done at 14: 4..13 s
    batches = [Batch(0, 1, 2, 0, 100, rows=100), Batch(1, 10, 14, 100, 1000, rows=900)]
    found = score([tick(0, 1, 1), tick(14, 1, 1, *batches)], slo=4, load=Constant(10, level=100))
    assert found.latency is not None
    assert found.latency.p50 == pytest.approx(8, abs=1e-4)  # 100 below 2 s, 400 more from 4 s up: 4 + 400/100
    assert found.latency.p95 == pytest.approx(12.5, abs=1e-4)  # 50 above: 13 - 50/100
    assert found.latency.max == 13
    assert found.latency.mean == pytest.approx((100 * 1.5 + 900 * 8.5) / 1000)
    assert found.slo.violated == pytest.approx(0.9)


def test_a_run_is_scored_from_its_ticks() -> None:
    ticks = [
        tick(1000, 1, 1, wish=1),
        tick(1010, 1, 1, Batch(0, 1000, 1005, 0, 50, rows=50), wish=3),
        tick(1020, 3, 3, Batch(1, 1005, 1015, 50, 100, rows=40)),
        tick(1030, 3, 3, wish=2),
    ]
    found = score(ticks, slo=7, start=1000, load=Constant(10, level=10))
    assert (found.processed, found.lost) == (100, 10)  # 10 rows of batch 1 were not read
    assert found.workers is not None
    assert (found.workers.seen_seconds, found.workers.max) == (10 + 10 + 30, 3)
    assert found.workers.seen_mean == pytest.approx(50 / 30)
    # the two that the tick at 20 s sees were asked for at 10 s, and are paid from there on
    assert found.workers.seconds == 10 + 30 + 30
    assert found.workers.mean == pytest.approx(70 / 30)
    assert found.rescales == Rescales(count=2, up=1, down=1)
    # all 100 have arrived by the tick at 10 s, when only batch 0 was done
    assert found.backlog == Backlog(max=50, final=0)
    # record k came at k/10 s: batch 0 took 0..5 s, batch 1 (done at 15 s) 5..10 s, of which those above 7 s are 30
    assert found.slo.violated == pytest.approx(0.3)


def test_what_waits_at_the_end_is_as_late_as_it_is_then() -> None:
    # 10/s for 10 s, of which those of 0..5 s are done at 5: 0..5 s. At 30 s the others are 20..25 s old
    found = score([tick(0, 1, 1), tick(30, 1, 1, Batch(0, 5, 5, 0, 50, rows=50))], slo=7, load=Constant(10, level=10))
    assert found.latency is not None
    assert (found.latency.max, found.latency.mean) == (25, (50 * 2.5 + 50 * 22.5) / 100)
    assert (found.slo.violated, found.backlog) == (0.5, Backlog(max=50, final=50))
    assert (found.processed, found.lost, found.throughput.ratio) == (50, 0, 0.5)


def test_without_a_workload_arrivals_come_from_the_reports() -> None:
    batches = (Batch(0, 10, 12, 0, 100, arrived=100, rows=100), Batch(1, 20, 22, 100, 200, arrived=200, rows=100))
    found = score([tick(0, 1, 1), tick(11, 1, 1), tick(30, 1, 1, *batches)], slo=5)
    assert found.latency is not None
    assert found.latency.max == pytest.approx(12)
    # at 11 s 110 had come and nothing was done; of what came after the last planning nobody tells
    assert found.backlog == Backlog(max=110, final=0)


def test_records_that_no_batch_has_taken_wait_without_a_workload_too() -> None:
    # 160 come in 10..20 s; the 60 beyond record 200 came from 10 + 100/16 = 16.25 s on: 13.75..10 s at 30 s
    batches = (Batch(0, 10, 12, 0, 100, arrived=100, rows=100), Batch(1, 20, 22, 100, 200, arrived=260, rows=100))
    found = score([tick(0, 1, 1), tick(30, 1, 1, *batches)], slo=5)
    assert found.latency is not None
    assert found.latency.max == pytest.approx(13.75)
    assert found.backlog == Backlog(max=60, final=60)


def test_an_empty_run_has_no_figures() -> None:
    found = score([], slo=5)
    assert (found.processed, found.latency, found.workers, found.backlog, found.slo.violated) == (
        0,
        None,
        None,
        None,
        None,
    )


def test_where_nothing_says_when_records_came_there_is_no_latency() -> None:
    found = score([tick(0, 1, 1), tick(30, 1, 1, Batch(0, 10, 12, 0, 100, rows=90))], slo=5)
    assert (found.latency, found.slo.violated, found.backlog) == (None, None, None)
    assert (found.processed, found.lost) == (100, 10)


@pytest.mark.parametrize("load", [None, Constant(10, level=30)], ids=["no workload", "a workload"])
def test_records_that_tell_when_they_were_created_need_no_workload(load: Constant | None) -> None:
    # half of the first batch's records were created evenly in 0 to 1 s, half in 1 to 5; those of the second at 6 s
    first = Batch(0, planned=108, finished=110, begin=0, end=100, rows=100, times=(100.0, 101.0, 105.0))
    second = Batch(1, planned=109, finished=111, begin=100, end=300, rows=200, times=(106.0, 106.0, 106.0))
    found = score([tick(110, 1, 1, first), tick(111, 1, 1, second)], slo=8.0, start=100, load=load)
    assert found.latency
    # 10 s for the oldest; 200 of 300 took 5 s
    assert (found.latency.max, found.latency.p50) == pytest.approx((10.0, 5.0), abs=1e-3)
    # older than 8 s at 110 are those created before 102: 50, and a quarter of the 50 that came in 1 to 5 s
    assert found.slo.violated == pytest.approx(62.5 / 300)
    # the first batch's records took (9.5 + 7) / 2 on average
    assert found.latency.mean == pytest.approx((100 * 8.25 + 200 * 5) / 300)
