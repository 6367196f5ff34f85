import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import InvalidInput
from tidegate.jobs.nexmark import Bids, Nexmark
from tidegate.jobs.nexmark.numbering import bid_event
from tidegate.jobs.nexmark.stream import STATES
from tidegate.jobs.skew import Skew

MANY = np.arange(100_000)


def test_of_50_events_one_is_a_person_three_are_auctions_and_46_bids() -> None:
    events = Nexmark().make(MANY)
    assert np.bincount(np.asarray(events["event_type"])).tolist() == [2_000, 6_000, 92_000]
    for code, name in enumerate(("person", "auction", "bid")):
        assert pc.is_valid(events[name]).equals(pc.equal(events["event_type"], code))


def test_ids_count_up_from_1000() -> None:
    events = Nexmark().make(MANY[:150])
    assert [row["id"] for row in events["person"].to_pylist() if row] == [1000, 1001, 1002]
    assert [row["id"] for row in events["auction"].to_pylist() if row] == list(range(1000, 1009))


def test_its_bids_equal_those_of_the_bid_stream() -> None:
    stream = Nexmark(seed=5, rate=100).make(MANY[:5_000])
    bid_stream = Bids(seed=5, rate=100).make(np.arange(4_600))  # 46 of 50
    bids = stream["bid"].filter(pc.equal(stream["event_type"], 2))
    for name in ("auction", "bidder", "price"):
        assert bids.field(name).equals(bid_stream[name])
    # only times differ: here every event takes 10 ms, in the bid stream every bid
    assert bids.field("dateTime")[1].value - bids.field("dateTime")[0].value == 10_000
    assert bids.field("dateTime")[0].as_py() == Nexmark(rate=100).make(bid_event(MANY[:1]))["dateTime"][0].as_py()


@settings(max_examples=20, deadline=None)
@given(records=st.lists(st.integers(0, 10**12), min_size=1, max_size=60), seed=st.integers(0, 2**63))
def test_an_event_does_not_depend_on_other_events(records: list[int], seed: int) -> None:
    kind = Nexmark(seed=seed)
    together = kind.make(np.array(records)).to_pylist()
    assert together == [kind.make(np.array([record])).to_pylist()[0] for record in records]


@pytest.mark.parametrize(("skew", "share"), [(Skew.off, 0.001), (Skew.default, 0.75), (Skew.heavy, 0.95)])
def test_sellers_exist_or_will_soon_and_are_mostly_the_hot_one(skew: Skew, share: float) -> None:
    events = Nexmark(seed=1, skew=skew).make(MANY)
    auctions = np.flatnonzero(np.asarray(events["event_type"]) == 1)
    seller = np.asarray(pc.struct_field(events["auction"], "seller").take(auctions))
    newest = auctions // 50
    assert (seller <= 1000 + newest + 10).all()
    assert (seller >= 1000 + np.maximum(newest + 1 - 1000, 0)).all()
    assert (seller == 1000 + newest // 100 * 100).mean() == pytest.approx(share, abs=0.02)


def test_auctions_expire_within_twice_1666_events_and_reserve_more_than_the_initial_bid() -> None:
    auctions = Nexmark(rate=10_000).make(MANY)["auction"].drop_null()
    open_for = pc.subtract(auctions.field("expires"), auctions.field("dateTime")).cast("int64")
    # 3332 events at 0.1 ms: 333 ms, drawn from 1 to 333
    assert (pc.min(open_for).as_py(), pc.max(open_for).as_py()) == (1_000, 333_000)
    assert pc.all(pc.greater(auctions.field("reserve"), auctions.field("initialBid"))).as_py()
    assert sorted(pc.unique(auctions.field("category")).to_pylist()) == [10, 11, 12, 13, 14]


def test_persons_have_names_cards_and_one_of_six_states() -> None:
    persons = Nexmark().make(MANY)["person"].drop_null()
    assert sorted(pc.unique(persons.field("state")).to_pylist()) == sorted(STATES)
    assert pc.all(pc.match_substring_regex(persons.field("creditCard"), r"^\d{4} \d{4} \d{4} \d{4}$")).as_py()
    assert pc.all(pc.match_substring_regex(persons.field("name"), r"^[A-Z][a-z]+ [A-Z][a-z]+$")).as_py()
    assert pc.all(pc.match_substring_regex(persons.field("emailAddress"), r"^[a-z ]+@[a-z ]+\.com$")).as_py()


def test_a_rate_must_be_positive() -> None:
    with pytest.raises(InvalidInput) as caught:
        Nexmark(rate=0)
    assert str(caught.value) == "events nexmark: need an event rate > 0 records/s, got 0"


def test_packed_events_are_the_same_in_lists() -> None:
    kind = Nexmark(seed=2)
    packed, plain = kind.pack(MANY[:500]), kind.make(MANY[:500])
    for name in ("person", "auction"):
        assert packed[name].to_pylist() == [None if row is None else [row] for row in plain[name].to_pylist()]
    assert packed["bid"].equals(plain["bid"])
