import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import InvalidInput, UnknownName
from tidegate.jobs import events
from tidegate.jobs.draws import Draws
from tidegate.jobs.event_kinds import Numbers
from tidegate.jobs.nexmark import Bids
from tidegate.jobs.nexmark.numbering import BASE_TIME
from tidegate.jobs.skew import Skew

MANY = np.arange(100_000)
GROUP = MANY // 46  # 46 bids in each group of 50 events
few = settings(max_examples=30, deadline=None)


def column(name: str, records: np.ndarray = MANY, *, seed: int = 7, rate: float = 10_000.0) -> np.ndarray:
    values = Bids(seed=seed, rate=rate).make(records)[name]
    return np.asarray(values.cast("int64") if name == "dateTime" else values)


@few
@given(seed=st.integers(-(2**63), 2**64), begin=st.integers(0, 5_000), length=st.integers(0, 300))
def test_any_slice_is_the_same_slice_of_a_longer_range(seed: int, begin: int, length: int) -> None:
    bids = Bids(seed=seed, rate=1000)
    alone = bids.make(np.arange(begin, begin + length))
    assert alone.equals(bids.make(np.arange(begin + length + 10)).slice(begin, length))


@few
@given(records=st.lists(st.integers(0, 10**12), min_size=1, max_size=50))
def test_a_record_does_not_depend_on_other_records(records: list[int]) -> None:
    bids = Bids(seed=3)
    together = bids.make(np.array(records)).to_pylist()
    assert together == [bids.make(np.array([record])).to_pylist()[0] for record in records]


def test_another_seed_gives_other_records() -> None:
    for name in ("auction", "bidder", "price"):
        assert not np.array_equal(column(name, seed=0), column(name, seed=1))
    # few prices are equal by chance, far fewer than 1 %
    assert (column("price", seed=0) == column("price", seed=1)).mean() < 0.01


def test_auctions_are_open_or_will_be_soon() -> None:
    auction, last = column("auction"), 3 * GROUP + 2
    assert (auction <= 1000 + last + 10).all()
    assert (auction >= 1000 + np.maximum(last - 100, 0)).all()
    assert auction.dtype == np.int64


def test_bidders_exist_or_will_soon() -> None:
    bidder = column("bidder")
    assert (bidder <= 1000 + GROUP + 10).all()
    # cold bidders are among the last 1000 persons; the hot one belongs to the current block of 100
    assert (bidder >= 1000 + np.maximum(GROUP + 1 - 1000, 0)).all()


def test_half_of_the_bids_go_to_the_hot_auction_and_three_quarters_come_from_the_hot_bidder() -> None:
    hot_auction = 1000 + (3 * GROUP + 2) // 100 * 100
    hot_bidder = 1000 + GROUP // 100 * 100 + 1
    # a cold draw hits the hot auction once in 111 times: 1/2 + 1/2/111 = 0.5045
    assert (column("auction") == hot_auction).mean() == pytest.approx(0.5, abs=0.01)
    assert (column("bidder") == hot_bidder).mean() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize(("skew", "auction", "bidder"), [(Skew.off, 1 / 110, 0.001), (Skew.heavy, 0.9, 0.95)])
def test_skew_sets_the_share_of_hot_keys(skew: Skew, auction: float, bidder: float) -> None:
    bids = Bids(seed=7, skew=skew).make(MANY)
    hot_auction, hot_bidder = 1000 + (3 * GROUP + 2) // 100 * 100, 1000 + GROUP // 100 * 100 + 1
    # a cold draw hits the hot auction once in about 110 times, the hot bidder once in about 1000
    assert (np.asarray(bids["auction"]) == hot_auction).mean() == pytest.approx(auction, abs=0.01)
    assert (np.asarray(bids["bidder"]) == hot_bidder).mean() == pytest.approx(bidder, abs=0.01)


def test_prices_are_log_uniform() -> None:
    price = column("price")
    assert price.min() >= 100
    assert price.max() <= 10**8
    # 100 * 10 ** (6 u): the median is 10 ** 5; half of the draws are within a quarter of six decades around it
    assert np.median(np.log10(price)) == pytest.approx(5, abs=0.02)
    assert np.quantile(np.log10(price), [0.25, 0.75]) == pytest.approx([3.5, 6.5], abs=0.03)


def test_event_times_increase_by_one_over_the_rate() -> None:
    assert column("dateTime", np.arange(3), rate=4).tolist() == [BASE_TIME, BASE_TIME + 250_000, BASE_TIME + 500_000]
    # 3 per second: 0, 333,333 and 666,666 µs, and the fourth at exactly 1 s
    assert (column("dateTime", np.arange(4), rate=3) - BASE_TIME).tolist() == [0, 333_333, 666_666, 1_000_000]
    assert (np.diff(column("dateTime", rate=1_234_567)) >= 0).all()
    first = Bids().make(np.arange(1))["dateTime"][0].as_py()
    assert first.isoformat() == "2015-07-15T00:00:00+00:00"


@pytest.mark.parametrize("rate", [0.0, -5.0, float("nan")])
def test_a_rate_must_be_positive(rate: float) -> None:
    with pytest.raises(InvalidInput) as caught:
        Bids(rate=rate)
    assert str(caught.value) == f"events bids: need an event rate > 0 records/s, got {rate}"


def test_no_records_give_an_empty_batch_with_all_columns() -> None:
    bids = Bids().make(np.arange(0))
    assert (bids.num_rows, bids.schema.names) == (0, ["auction", "bidder", "price", "dateTime"])


def test_events_by_name() -> None:
    assert events("bids", seed=3, rate=50) == Bids(seed=3, rate=50)
    assert events("numbers", seed=3, rate=50) == Numbers(seed=3, rate=50)
    assert events("numbers", seed=0, rate=1).make(np.arange(5, 8)).to_pydict() == {"value": [5, 6, 7]}
    with pytest.raises(UnknownName) as caught:
        events("bid", seed=0, rate=1)
    assert str(caught.value) == (
        "no kind of events is named 'bid'; did you mean 'bids'?"
        " (known: bids, nexmark, numbers, topspeed, traffic, words, ysb)"
    )


@few
@given(seed=st.integers(0, 2**64), draw=st.integers(0, 15), bound=st.integers(1, 2**32 - 1))
def test_integers_are_below_their_bound(seed: int, draw: int, bound: int) -> None:
    drawn = Draws(np.arange(200), seed).below(draw, bound)
    assert drawn.min() >= 0
    assert drawn.max() < bound


def test_every_record_may_have_its_own_bound() -> None:
    bounds = np.arange(1, 1001)
    drawn = Draws(np.arange(1000), 1).below(0, bounds)
    assert (drawn < bounds).all()
    assert drawn[0] == 0  # the only integer below 1


def test_integers_are_uniform() -> None:
    counts = np.bincount(Draws(MANY, 1).below(0, 10), minlength=10)
    # 10,000 each; the standard deviation is sqrt(100,000 * 0.1 * 0.9) = 95
    assert np.abs(counts - 10_000).max() < 5 * 95


def test_fractions_are_uniform_and_below_1() -> None:
    drawn = Draws(MANY, 1).unit(4)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert drawn.mean() == pytest.approx(0.5, abs=0.005)  # five standard deviations are 5 * 0.289 / sqrt(100,000)
    assert drawn.var() == pytest.approx(1 / 12, abs=0.002)


def test_draws_of_one_record_and_neighbours_are_independent() -> None:
    draws = Draws(MANY, 1)
    first, second = draws.unit(0), draws.unit(1)
    for x, y in [(first, second), (first[:-1], first[1:]), (first[1:], second[:-1])]:
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(100_000)
    # no two draws of a thousand records are the same number
    assert len({int(bits) for draw in range(16) for bits in Draws(MANY[:1000], 1).bits(draw)}) == 16_000
