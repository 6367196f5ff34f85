import pytest

from tidegate.core import Batch, Decision, Observation, Step, Tick
from tidegate.score import Latencies, Rescales, score
from tidegate.workloads import Constant


def tick(time: float, executors: int, requested: int, *batches: Batch, wish: int | None = None) -> Tick:
    obs = Observation(time, executors, requested, backlog=10.0 * time, batches=batches)
    if wish is None:
        return Tick(obs)
    return Tick(obs, (Step("test", Decision(wish, "because")),), acted=wish != requested)


def test_latency_is_over_records_not_over_batches() -> None:
    # 100 records/s. Batch 0: records of second 0..1, done at 2: 1..2 s. Batch 1: 900 of 1..10, done at 14: 4..13 s
    batches = [Batch(0, 1, 2, 0, 100, rows=100), Batch(1, 10, 14, 100, 1000, rows=900)]
    found = Latencies(batches, Constant(100, level=100).total)
    assert found.percentile(0.5) == pytest.approx(8, abs=0.02)  # 100 below 2 s, 400 more from 4 s up: 4 + 400/100
    assert found.percentile(0.05) == pytest.approx(1.5, abs=0.02)
    assert found.max == pytest.approx(13, abs=0.02)
    assert found.mean == pytest.approx((100 * 1.5 + 900 * 8.5) / 1000, abs=0.02)
    assert found.share_above(4) == pytest.approx(0.9, abs=0.01)


def test_a_run_is_scored_from_its_ticks() -> None:
    ticks = [
        tick(1000, 1, 1, wish=1),
        tick(1010, 1, 1, Batch(0, 1000, 1005, 0, 50, rows=50), wish=3),
        tick(1020, 3, 3, Batch(1, 1005, 1015, 50, 100, rows=40)),
        tick(1030, 3, 3, wish=2),
    ]
    found = score(ticks, slo=7, start=1000, arrived=Constant(10, level=10).total)
    assert (found.processed, found.lost) == (100, 10)  # 10 rows of batch 1 were not read
    assert found.workers is not None
    assert (found.workers.seconds, found.workers.max) == (10 + 10 + 30, 3)
    assert found.workers.mean == pytest.approx(50 / 30)
    assert found.rescales == Rescales(count=2, up=1, down=1)
    assert found.backlog is not None
    # all 100 have arrived by the tick at 10 s, when only batch 0 was done
    assert (found.backlog.max, found.backlog.final) == (50, 0)
    # record k came at k/10 s: batch 0 took 0..5 s, batch 1 (done at 15 s) 5..10 s, of which those above 7 s are 30
    assert found.slo.violated == pytest.approx(0.3, abs=0.01)


def test_without_a_workload_arrivals_come_from_the_reports() -> None:
    batches = (Batch(0, 10, 12, 0, 100, arrived=100, rows=100), Batch(1, 20, 22, 100, 200, arrived=200, rows=100))
    found = score([tick(0, 1, 1), tick(30, 1, 1, *batches)], slo=5)
    assert found.latency is not None
    assert found.latency.max == pytest.approx(12, abs=0.01)
    assert found.backlog is not None
    assert found.backlog.final == 300  # as observed


def test_an_empty_run_has_no_figures() -> None:
    found = score([], slo=5)
    assert (found.processed, found.latency, found.workers, found.backlog, found.slo.violated) == (
        0,
        None,
        None,
        None,
        None,
    )


def test_records_that_tell_when_they_were_created_need_no_workload() -> None:
    # half of the first batch's records were created evenly in 0 to 1 s, half in 1 to 5; those of the second at 6 s
    first = Batch(0, planned=108, finished=110, begin=0, end=100, rows=100, times=(100.0, 101.0, 105.0))
    second = Batch(1, planned=109, finished=111, begin=100, end=300, rows=200, times=(106.0, 106.0, 106.0))
    found = score([tick(110, 1, 1, first), tick(111, 1, 1, second)], slo=8.0, start=100, arrived=lambda t: 0.0)
    assert found.latency
    # 10 s for the oldest; 200 of 300 took 5 s
    assert (found.latency.max, found.latency.p50) == pytest.approx((10.0, 5.0), abs=1e-3)
    # older than 8 s at 110 are those created before 102: 50, and a quarter of the 50 that came in 1 to 5 s
    assert found.slo.violated == pytest.approx(62.5 / 300)
    # the first batch's records took (9.5 + 7) / 2 on average
    assert found.latency.mean == pytest.approx((100 * 8.25 + 200 * 5) / 300, rel=0.01)
