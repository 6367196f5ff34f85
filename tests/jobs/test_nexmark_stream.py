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
    made = Nexmark().make(MANY)
    assert np.bincount(np.asarray(made["event_type"])).tolist() == [2_000, 6_000, 92_000]
    for code, name in enumerate(("person", "auction", "bid")):
        assert pc.is_valid(made[name]).equals(pc.equal(made["event_type"], code))


def test_ids_count_up_from_1000() -> None:
    made = Nexmark().make(MANY[:150])
    assert [row["id"] for row in made["person"].to_pylist() if row] == [1000, 1001, 1002]
    assert [row["id"] for row in made["auction"].to_pylist() if row] == list(range(1000, 1009))


def test_its_bids_are_those_of_the_stream_of_bids_alone() -> None:
    whole = Nexmark(seed=5, rate=100).make(MANY[:5_000])
    alone = Bids(seed=5, rate=100).make(np.arange(4_600))  # 46 of 50
    bids = whole["bid"].filter(pc.equal(whole["event_type"], 2))
    for name in ("auction", "bidder", "price"):
        assert bids.field(name).equals(alone[name])
    # only times differ: here every event takes 10 ms, there every bid
    assert bids.field("dateTime")[1].value - bids.field("dateTime")[0].value == 10_000
    assert bids.field("dateTime")[0].as_py() == Nexmark(rate=100).make(bid_event(MANY[:1]))["dateTime"][0].as_py()


@settings(max_examples=20, deadline=None)
@given(records=st.lists(st.integers(0, 10**12), min_size=1, max_size=60), seed=st.integers(0, 2**63))
def test_an_event_does_not_depend_on_those_beside_it(records: list[int], seed: int) -> None:
    kind = Nexmark(seed=seed)
    together = kind.make(np.array(records)).to_pylist()
    assert together == [kind.make(np.array([record])).to_pylist()[0] for record in records]


@pytest.mark.parametrize(("skew", "share"), [(Skew.off, 0.001), (Skew.default, 0.75), (Skew.heavy, 0.95)])
def test_sellers_are_people_there_are_or_will_be_soon_and_mostly_the_hot_one(skew: Skew, share: float) -> None:
    made = Nexmark(seed=1, skew=skew).make(MANY)
    auctions = np.flatnonzero(np.asarray(made["event_type"]) == 1)
    seller = np.asarray(pc.struct_field(made["auction"], "seller").take(auctions))
    newest = auctions // 50
    assert (seller <= 1000 + newest + 10).all()
    assert (seller >= 1000 + np.maximum(newest + 1 - 1000, 0)).all()
    assert (seller == 1000 + newest // 100 * 100).mean() == pytest.approx(share, abs=0.02)


def test_auctions_expire_within_twice_the_time_of_1666_events_and_reserve_more_than_the_first_bid() -> None:
    made = Nexmark(rate=10_000).make(MANY)["auction"].drop_null()
    open_for = pc.subtract(made.field("expires"), made.field("dateTime")).cast("int64")
    # 3332 events at 0.1 ms: 333 ms, drawn from 1 to 333
    assert (pc.min(open_for).as_py(), pc.max(open_for).as_py()) == (1_000, 333_000)
    assert pc.all(pc.greater(made.field("reserve"), made.field("initialBid"))).as_py()
    assert sorted(pc.unique(made.field("category")).to_pylist()) == [10, 11, 12, 13, 14]


def test_persons_have_names_cards_and_one_of_six_states() -> None:
    made = Nexmark().make(MANY)["person"].drop_null()
    assert sorted(pc.unique(made.field("state")).to_pylist()) == sorted(STATES)
    assert pc.all(pc.match_substring_regex(made.field("creditCard"), r"^\d{4} \d{4} \d{4} \d{4}$")).as_py()
    assert pc.all(pc.match_substring_regex(made.field("name"), r"^[A-Z][a-z]+ [A-Z][a-z]+$")).as_py()
    assert pc.all(pc.match_substring_regex(made.field("emailAddress"), r"^[a-z ]+@[a-z ]+\.com$")).as_py()


def test_a_rate_must_be_positive() -> None:
    with pytest.raises(InvalidInput) as refused:
        Nexmark(rate=0)
    assert str(refused.value) == "events nexmark: need an event rate > 0 records/s, got 0"


def test_packed_events_are_the_same_in_lists() -> None:
    kind = Nexmark(seed=2)
    packed, plain = kind.pack(MANY[:500]), kind.make(MANY[:500])
    for name in ("person", "auction"):
        assert packed[name].to_pylist() == [None if row is None else [row] for row in plain[name].to_pylist()]
    assert packed["bid"].equals(plain["bid"])
