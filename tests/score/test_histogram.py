"""Latencies of any number of records in bins, and of lost ones by when they arrived."""

import numpy as np
import pytest

from tidegate.score.histogram import LatencyHistogram, LostRecords, edges
from tidegate.score.latency import LatencyDistribution


def pieces(*rows: tuple[float, float, float]) -> LatencyDistribution:
    """Oldest and youngest age, and the number of records between them."""
    oldest, youngest, counts = np.array(rows, dtype=float).reshape(-1, 3).T
    return LatencyDistribution.between(oldest, youngest, counts)


def random_pieces(seed: int, count: int = 300) -> LatencyDistribution:
    draw = np.random.default_rng(seed)
    oldest = np.exp(draw.uniform(-8, 9, count))
    youngest = oldest * draw.choice([0.0, 0.3, 0.9, 1.0], count)
    return LatencyDistribution.between(oldest, youngest, draw.integers(1, 1000, count).astype(float))


@pytest.mark.parametrize("seed", range(5))
def test_all_is_exact_but_percentiles_which_are_good_to_a_hundredth(seed: int) -> None:
    exact, slo = random_pieces(seed), 10.0
    halves = (exact.oldest[:100], exact.youngest[:100], exact.counts[:100])
    others = (exact.oldest[100:], exact.youngest[100:], exact.counts[100:])
    binned = LatencyHistogram.empty(slo)
    for half in (halves, others):
        binned = binned.plus(LatencyDistribution.between(*half))
    found = binned.distribution()
    assert found.records == pytest.approx(exact.records)
    assert found.mean == pytest.approx(exact.mean)
    assert found.max == exact.max
    assert found.share_above(slo) == pytest.approx(exact.share_above(slo), rel=1e-9)
    levels = [0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999]
    assert found.percentiles(levels) == pytest.approx(exact.percentiles(levels), rel=0.0101, abs=1.2e-3)


def test_bins_are_no_wider_than_a_hundredth_and_few() -> None:
    bins = edges(slo=7.77)
    assert 7.77 in bins
    assert (bins[0], bins[-1]) == (0.0, np.inf)
    widths = np.diff(bins[:-1])
    assert (widths > 0).all()
    assert (widths <= np.maximum(1.001e-3, 0.0100001 * bins[:-2])).all()
    assert bins[-2] > 90 * 86_400
    assert len(bins) < 2500


@pytest.mark.parametrize("slo", [0.0, -1.0, np.inf])
def test_an_slo_that_no_latency_can_meet_or_miss_is_no_edge(slo: float) -> None:
    assert np.isfinite(edges(slo)[:-1]).all()
    assert (np.diff(edges(slo)) > 0).all()


def test_a_record_that_takes_just_the_slo_is_not_late() -> None:
    found = (
        LatencyHistogram.empty(slo=5.0).plus(pieces((5.0, 5.0, 10.0), (5.1, 5.1, 3.0), (0.0, 0.0, 7.0))).distribution()
    )
    assert found.share_above(5.0) == pytest.approx(3 / 20)
    assert found.share_above(0.0) == pytest.approx(13 / 20)


def test_latencies_of_years_have_a_bin_too() -> None:
    found = LatencyHistogram.empty(slo=5.0).plus(pieces((4e8, 2e8, 10.0), (1.0, 0.0, 10.0))).distribution()
    assert (found.max, found.mean) == (4e8, pytest.approx((3e8 + 0.5) / 2))


def test_a_wide_piece_is_sorted_in_blocks() -> None:
    wide = LatencyDistribution.between(np.full(200, 5e7), np.zeros(200), np.full(200, 10.0))
    found = LatencyHistogram.empty(slo=1e7).plus(wide).distribution()
    assert (found.records, found.share_above(1e7)) == pytest.approx((2000, 0.8))


def test_nothing() -> None:
    empty = LatencyHistogram.empty(slo=5.0)
    assert empty.plus(pieces()) is empty
    assert len(empty.distribution().counts) == len(LostRecords.none().at(10.0).counts) == 0


def lost(count: int, every: float = 10.0) -> LostRecords:
    """Three records each, that came in the first second of every ten; in the second half, nine."""
    first = np.arange(count) * every
    return LostRecords.none().plus(np.where(first < count * every / 2, 3.0, 9.0), first, first + 1.0)


def test_lost_records_grow_older() -> None:
    found = lost(2)
    assert [found.at(until).max for until in (11.0, 20.0)] == [11.0, 20.0]
    # 3 of 19 to 20 s, and 9 of 9 to 10 s
    assert (found.at(20.0).mean, found.at(20.0).share_above(19.5)) == pytest.approx((12.0, 0.125))


def test_those_that_came_close_together_are_merged() -> None:
    every, until = lost(20_000), 200_000.0
    few = every.merged(until, most=100, slo=10.0)
    assert len(few.counts) < 1500
    exact, found = every.at(until), few.at(until)
    assert (found.records, found.mean, found.max) == pytest.approx((exact.records, exact.mean, exact.max))
    levels = [0.05, 0.5, 0.95, 0.99]
    assert found.percentiles(levels) == pytest.approx(exact.percentiles(levels), rel=0.01)
    # and again and again, with more of them each time
    assert len(few.merged(until, most=100, slo=10.0).counts) <= len(few.counts)


def test_those_that_may_still_be_in_time_are_merged_last() -> None:
    every, until = lost(2000), 20_000.0
    spared = every.merged(until, most=1900, slo=15_000.0)
    # of the last 15,000 s, all 1500; of those before, pieces of up to 1 % of their age
    assert (spared.at(until).share_above(15_000.0), every.at(until).share_above(15_000.0)) == pytest.approx(
        (0.125, 0.125)
    )
    assert 1500 < len(spared.counts) < 1900
    assert len(every.merged(until, most=100, slo=15_000.0).counts) < 700
    assert every.merged(until, most=2000, slo=0.0) is every
