from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import Batch, Observation, Tick
from tidegate.score import Cumulative, Finished, RunTrace, trace_from_ticks
from tidegate.score.latency import LatencyDistribution, done, lost


def line(*points: tuple[float, float]) -> Cumulative:
    times, totals = np.array(points, dtype=float).T
    return Cumulative(times, totals)


def portions(*rows: tuple[float, float, float]) -> Finished:
    return Finished(*np.array(rows, dtype=float).reshape(-1, 3).T)


def trace(arrivals: Cumulative, finished: Finished, until: float) -> RunTrace:
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
    found = LatencyDistribution.of(trace(line((0, 0), (10, 100)), portions((6, 0, 50)), until=20))
    assert (found.records, found.max, found.share_above(8)) == (100, 15, 0.5)
    assert found.mean == pytest.approx((50 * 3.5 + 50 * 12.5) / 100)


def test_what_was_done_after_the_end_was_not_done() -> None:
    late = portions((6, 0, 50), (30, 50, 100))
    assert LatencyDistribution.of(trace(line((0, 0), (10, 100)), late, until=20)).max == 15
    # at 8 s only 80 had arrived
    assert LatencyDistribution.of(trace(line((0, 0), (10, 100)), late, until=8)).records == 80


def test_lost_records_count_until_the_end_too() -> None:
    run = trace(line((0, 0), (10, 100)), portions((6, 0, 50), (11, 70, 100)), until=20)
    assert lost(run) == 20
    # 20 of 5..7 s wait for ever: 13..15 s at the end
    assert LatencyDistribution.of(run).share_above(10) == pytest.approx(0.2)


def test_an_error_of_rounding_between_portions_is_no_lost_record() -> None:
    run = trace(line((0, 0), (10, 100)), portions((6, 0, 50), (11, 50 + 1e-6, 100)), until=1000)
    assert (lost(run), LatencyDistribution.of(run).max) == (0, 6)


def test_nothing_arrived() -> None:
    found = LatencyDistribution.of(trace(line((0, 0), (10, 0)), portions(), until=10))
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


def seen(batches: list[Batch]) -> tuple[Finished, Cumulative]:
    found = trace_from_ticks([Tick(Observation(1000.0, 1, 1, batches=tuple(batches)))])
    return done(found), found.arrivals


def slow_share(portions: Finished, arrivals: Cumulative, latency: float) -> float:
    """Portion by portion, how many had arrived more than `latency` before it was done."""
    before = arrivals.by(portions.times - latency)
    late = np.clip(before, portions.begins, portions.ends) - portions.begins
    return float(late.sum() / (portions.ends - portions.begins).sum())


@given(runs(), st.floats(0, 60))
@settings(max_examples=50, deadline=None)
def test_agrees_with_counting_portion_by_portion(batches: list[Batch], latency: float) -> None:
    portions, arrivals = seen(batches)
    found = LatencyDistribution.at(portions, arrivals)
    assert found.records == sum(batch.end - batch.begin for batch in batches)
    assert found.share_above(latency) == pytest.approx(slow_share(portions, arrivals, latency), abs=1e-9)
    # nobody is above the maximum, and somebody just below it
    assert slow_share(portions, arrivals, found.max) == pytest.approx(0, abs=1e-9)
    assert slow_share(portions, arrivals, found.max - 1e-3) > 0
    for level in (0.5, 0.95, 0.99):
        percentile = found.percentile(level)
        assert slow_share(portions, arrivals, percentile + 1e-3) <= 1 - level + 1e-6
        assert slow_share(portions, arrivals, percentile - 1e-3) >= 1 - level - 1e-6


@given(runs())
@settings(max_examples=30, deadline=None)
def test_the_mean_is_the_area_above_the_distribution(batches: list[Batch]) -> None:
    portions, arrivals = seen(batches)
    found = LatencyDistribution.at(portions, arrivals)
    latencies = np.linspace(0, found.max, 4001)
    area = np.trapezoid([slow_share(portions, arrivals, latency) for latency in latencies], latencies)
    # a step of the share may lie anywhere within a step of the latencies
    assert found.mean == pytest.approx(float(area), abs=found.max / 4000)


def test_records_that_say_when_they_were_created_need_no_arrivals() -> None:
    # half of the first were created in 0..1 s, half in 1..5, done at 10; all of the second at 6 s, done at 11
    told = replace(portions((10, 0, 100), (11, 100, 300)), created=((0.0, 1.0, 5.0), (6.0,)))
    found = LatencyDistribution.at(told, line((0, 0)))
    assert (found.records, found.max) == (300, 10)
    assert found.mean == pytest.approx((50 * 9.5 + 50 * 7 + 200 * 5) / 300)


def test_portions_with_and_without_such_times_count_together() -> None:
    # the second by the arrivals, 10/s: those of 5..10 s, done at 12, took 2..7 s
    told = replace(portions((6, 0, 50), (12, 50, 100)), created=((5.0, 6.0), ()))
    found = LatencyDistribution.at(told, line((0, 0), (10, 100)))
    assert (found.records, found.max) == (100, 7)
    assert found.mean == pytest.approx((50 * 0.5 + 50 * 4.5) / 100)


def test_rows_of_a_portion_that_no_task_read_are_lost() -> None:
    # 100 of which 40 were read, then 100 read twice: reading again makes up for nothing
    read = replace(portions((6, 0, 100), (11, 100, 200)), rows=np.array([40.0, 200.0]))
    assert lost(trace(line((0, 0), (10, 200)), read, until=20)) == 60


def test_numbers_of_simulated_records_are_no_whole_ones() -> None:
    read = replace(portions((6, 0, 99.9)), rows=np.array([99.0]))
    assert lost(trace(line((0, 0), (10, 99.9)), read, until=20)) == 0


def test_records_before_and_after_the_arrivals_come_with_the_first_and_the_last() -> None:
    found = LatencyDistribution.at(portions((20, 0, 100), (40, 100, 200)), line((0, 50), (10, 150)))
    # 50 of 0 s and 50 of 0..5 s, done at 20; 50 of 5..10 s and 50 of 10 s, done at 40
    assert found.mean == pytest.approx((50 * 20 + 50 * 17.5 + 50 * 32.5 + 50 * 30) / 200)
    assert (found.records, found.max) == (200, 35)


def test_two_distributions_are_as_good_as_one() -> None:
    arrivals = line((0, 0), (100, 10_000))
    parts = [LatencyDistribution.at(portions(row), arrivals) for row in ((2, 0, 100), (14, 100, 1000))]
    both = LatencyDistribution.at(portions((2, 0, 100), (14, 100, 1000)), arrivals)
    found = parts[0].joined(parts[1])
    assert (found.mean, found.percentile(0.9), found.share_above(4)) == (both.mean, both.percentile(0.9), 0.9)
