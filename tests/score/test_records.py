import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import Batch
from tidegate.score import Cumulative, Finished, Latencies, RunTrace
from tidegate.score import arrivals as seen_by
from tidegate.score.from_ticks import arrivals_of
from tidegate.score.latency import LatencyDistribution, lost


def line(*points: tuple[float, float]) -> Cumulative:
    times, totals = np.array(points, dtype=float).T
    return Cumulative(times, totals)


def portions(*rows: tuple[float, float, float]) -> Finished:
    return Finished(*np.array(rows, dtype=float).reshape(-1, 3).T)


def trial(arrivals: Cumulative, finished: Finished, until: float) -> RunTrace:
    none = np.array([])
    return RunTrace(arrivals, finished, none, none, none, until)


def test_latency_is_over_records_not_over_portions() -> None:
    # 100 records/s. First: records of second 0..1, done at 2: 1..2 s. Second: 900 of 1..10, done at 14: 4..13 s
    found = LatencyDistribution.at(portions((2, 0, 100), (14, 100, 1000)), line((0, 0), (100, 10_000)))
    # 100 below 2 s, 400 more from 4 s up: 4 + 400/100; 50 of the first; 1000 - 50 and 1000 - 10 of all
    assert found.percentiles([0.05, 0.5, 0.95, 0.99]) == pytest.approx([1.5, 8, 12.5, 12.9], abs=1e-4)
    assert (found.records, found.max, found.share_above(4)) == (1000, 13, 0.9)
    assert found.mean == pytest.approx((100 * 1.5 + 900 * 8.5) / 1000)


def test_arrivals_that_bend_within_a_portion_are_exact() -> None:
    # 30 records in 0..10 s, none until 20, 60 in 20..30: done at 31 they are 21..31 and 1..11 s old
    found = LatencyDistribution.at(portions((31, 0, 90)), line((0, 0), (10, 30), (20, 30), (30, 90)))
    assert found.mean == pytest.approx((30 * 26 + 60 * 6) / 90)
    assert found.share_above(15) == pytest.approx(1 / 3)
    assert found.percentile(0.5) == pytest.approx(1 + 45 / 6, abs=1e-4)


def test_a_portion_that_begins_after_a_pause_is_not_as_old_as_the_pause() -> None:
    # rounding puts its beginning before the pause by a millionth of a record
    found = LatencyDistribution.at(portions((25, 30 - 1e-6, 60)), line((0, 0), (10, 30), (20, 30), (30, 90)))
    assert found.max == pytest.approx(5, abs=1e-3)


def test_what_was_not_done_counts_with_its_age_at_the_end() -> None:
    # 10/s; those of 0..5 s were done at 6 (1..6 s), the others not by 20: 50 records of 5..10 s are 10..15 s old
    found = LatencyDistribution.of(trial(line((0, 0), (10, 100)), portions((6, 0, 50)), until=20))
    assert (found.records, found.max, found.share_above(8)) == (100, 15, 0.5)
    assert found.mean == pytest.approx((50 * 3.5 + 50 * 12.5) / 100)


def test_what_was_done_after_the_end_was_not_done() -> None:
    late = portions((6, 0, 50), (30, 50, 100))
    assert LatencyDistribution.of(trial(line((0, 0), (10, 100)), late, until=20)).max == 15
    # at 8 s only 80 had arrived
    assert LatencyDistribution.of(trial(line((0, 0), (10, 100)), late, until=8)).records == 80


def test_lost_records_count_until_the_end_too() -> None:
    run = trial(line((0, 0), (10, 100)), portions((6, 0, 50), (11, 70, 100)), until=20)
    assert lost(run) == 20
    # 20 of 5..7 s wait for ever: 13..15 s at the end
    assert LatencyDistribution.of(run).share_above(10) == pytest.approx(0.2)


def test_an_error_of_rounding_between_portions_is_no_lost_record() -> None:
    run = trial(line((0, 0), (10, 100)), portions((6, 0, 50), (11, 50 + 1e-6, 100)), until=1000)
    assert (lost(run), LatencyDistribution.of(run).max) == (0, 6)


def test_nothing_arrived() -> None:
    found = LatencyDistribution.of(trial(line((0, 0), (10, 0)), portions(), until=10))
    assert (found.records, len(found.counts), found.ecdf()) == (0, 0, [])


def test_records_that_came_at_once_are_equally_old() -> None:
    found = LatencyDistribution.at(portions((9, 0, 100)), line((0, 0), (4, 0), (4, 100), (10, 100)))
    assert (found.mean, found.max, found.share_above(4.9), found.share_above(5)) == pytest.approx((5, 5, 1, 0))
    assert found.percentile(0.5) == pytest.approx(5, abs=1e-4)


def test_the_distribution_rises_from_none_to_all() -> None:
    found = LatencyDistribution.at(portions((2, 0, 100), (14, 100, 1000)), line((0, 0), (100, 10_000))).ecdf(points=50)
    assert (found[0], found[-1], len(found)) == ((1.0, 0.0), (13.0, 1.0), 50)
    assert found == sorted(found)
    assert [share for _, share in found] == sorted(share for _, share in found)


@st.composite
def runs(draw: st.DrawFn) -> list[Batch]:
    """Batches one after the other, of whole records that had all arrived when they were planned."""
    planned, arrived, end, batches = 0.0, 0, 0, list[Batch]()
    for k in range(draw(st.integers(1, 6))):
        planned += draw(st.integers(1, 20))
        arrived += draw(st.integers(0 if arrived > end else 1, 50))
        finished = planned + draw(st.integers(1, 40)) / 4
        begin, end = end, draw(st.integers(end + 1, arrived))
        batches.append(Batch(k, planned, finished, begin, end, arrived=arrived))
        planned = finished
    return batches


def finished(batches: list[Batch]) -> Finished:
    return portions(*((b.finished, b.begin, b.end) for b in batches))


@given(runs(), st.floats(0, 60))
@settings(max_examples=50, deadline=None)
def test_agrees_with_the_score_of_real_runs(batches: list[Batch], latency: float) -> None:
    slow = Latencies(batches, seen_by(batches))
    fast = LatencyDistribution.at(finished(batches), arrivals_of(batches, start=0.0))
    assert fast.records == slow.records
    assert fast.max == pytest.approx(slow.max, abs=2e-4)
    assert fast.share_above(latency) == pytest.approx(slow.share_above(latency), abs=1e-9)
    for level in (0.5, 0.95, 0.99):
        # between two groups of latencies a whole range has the level: so a hair above and below it
        low, high = slow.percentile(level - 1e-6), slow.percentile(level + 1e-6)
        assert low - 1e-3 <= fast.percentile(level) <= high + 1e-3


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_the_mean_is_that_of_real_runs(steps: list[tuple[int, int, int]]) -> None:
    # each batch takes all that had arrived at an even rate since the last: the slow score is exact there
    batches, time, end = [], 0.0, 0
    for k, (length, count, wait) in enumerate(steps):
        time, begin, end = time + length, end, end + count
        batches.append(Batch(k, time, time + wait / 4, begin, end, arrived=end))
    slow = Latencies(batches, seen_by(batches))
    assert LatencyDistribution.at(finished(batches), arrivals_of(batches, 0.0)).mean == pytest.approx(
        slow.mean, abs=1e-3
    )
