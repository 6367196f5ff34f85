"""The whole NEXMark stream: record *i* is event *i*, a person, an auction or a bid, as one wide row.

Columns as in nexmark/nexmark: `event_type` (0 person, 1 auction, 2 bid), three structs of which two are null, and the
event's `dateTime`. Left out: `extra` (padding), and a bid's channel and url. Texts are taken from a fixed list, so
that none is made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.core import InvalidInput
from tidegate.jobs.draws import Draws
from tidegate.jobs.nexmark import numbering
from tidegate.jobs.nexmark.bids import TIME, bid_columns
from tidegate.jobs.nexmark.numbering import FIRST_ID, Ints
from tidegate.jobs.nexmark.people import HOT, cold_person, first_of_block, price
from tidegate.jobs.skew import Skew

PERSON = "id:bigint,name:string,emailAddress:string,creditCard:string,city:string,state:string,dateTime:timestamp"
AUCTION = (
    "id:bigint,itemName:string,description:string,initialBid:bigint,reserve:bigint,"
    "dateTime:timestamp,expires:timestamp,seller:bigint,category:bigint"
)
BID = "auction:bigint,bidder:bigint,price:bigint,dateTime:timestamp"

FIRST_NAMES = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
LAST_NAMES = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
CITIES = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
]
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
FIRST_CATEGORY, CATEGORIES = 10, 5
#: an auction stays open for the time of twice so many events at most: about 100 auctions are open at once
IN_FLIGHT = 1666


@dataclass(frozen=True, slots=True)
class Nexmark:
    seed: int = 0
    rate: float = 10_000.0
    skew: Skew = Skew.default
    schema: str = (
        f"event_type int, person struct<{PERSON}>, auction struct<{AUCTION}>, bid struct<{BID}>, dateTime timestamp"
    )
    text: bool = False

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise InvalidInput(f"events nexmark: need an event rate > 0 records/s, got {self.rate}")

    def make(self, records: Ints) -> pa.RecordBatch:
        """
        >>> made = Nexmark().make(np.arange(5)).to_pylist()
        >>> made[0]["person"]["id"], made[0]["bid"], made[3]["auction"]["id"], made[4]["event_type"]
        (1000, None, 1002, 2)
        """
        return self._batch(records, _spread)

    @property
    def packed_schema(self) -> str:
        return self.schema.replace(f"struct<{PERSON}>", f"array<struct<{PERSON}>>").replace(
            f"struct<{AUCTION}>", f"array<struct<{AUCTION}>>"
        )

    def pack(self, records: Ints) -> pa.RecordBatch:
        """The same with `person` and `auction` as lists of one or, where the event is another, null. An Arrow struct
        column has room for every row, and most rows are bids: this way less than half the bytes go to Spark.
        """
        return self._batch(records, _listed)

    def unpack(self, packed: DataFrame) -> DataFrame:
        """As `make` has it."""
        alone = {name: F.get(name, F.lit(0)) for name in ("person", "auction")}
        return packed.withColumns(alone)

    def _batch(self, records: Ints, place: Callable[[pa.Array, Ints, int], pa.Array]) -> pa.RecordBatch:
        kind, time = numbering.kind(records), numbering.event_time(records, self.rate)
        stamps = pa.array(time, type=TIME)
        persons, auctions = np.flatnonzero(kind == numbering.PERSON), np.flatnonzero(kind == numbering.AUCTION)
        bid = bid_columns(records, stamps, self.seed, self.skew)
        columns = {
            "event_type": pa.array(kind.astype(np.int32)),
            "person": place(_struct(self._persons(records[persons], time[persons])), persons, len(records)),
            "auction": place(_struct(self._auctions(records[auctions], time[auctions])), auctions, len(records)),
            "bid": _struct(bid, mask=pa.array(kind != numbering.BID)),
            "dateTime": stamps,
        }
        return pa.RecordBatch.from_pydict(columns)

    def _persons(self, event: Ints, time: Ints) -> dict[str, pa.Array]:
        draws = Draws(event, self.seed)
        groups = [_pick(card_groups(), draws, 3 + k) for k in range(4)]
        return {
            "id": pa.array(FIRST_ID + numbering.newest_person(event)),
            "name": _join(_pick(FIRST_NAMES, draws, 0), _pick(LAST_NAMES, draws, 1), " "),
            "emailAddress": _join(_pick(texts(7), draws, 2), "@", _pick(texts(5), draws, 9), ".com", ""),
            "creditCard": _join(*groups, " "),
            "city": _pick(CITIES, draws, 7),
            "state": _pick(STATES, draws, 8),
            "dateTime": pa.array(time, type=TIME),
        }

    def _auctions(self, event: Ints, time: Ints) -> dict[str, pa.Array]:
        draws, people = Draws(event, self.seed), numbering.newest_person(event)
        hot = draws.below(0, HOT[self.skew].seller) > 0
        first = price(draws, 3)
        length = max(int(2 * IN_FLIGHT * 1000 / self.rate), 1)  # ms
        return {
            "id": pa.array(FIRST_ID + numbering.newest_auction(event)),
            "itemName": _pick(texts(20), draws, 5),
            "description": _pick(texts(100), draws, 6),
            "initialBid": pa.array(first),
            "reserve": pa.array(first + price(draws, 7)),
            "dateTime": pa.array(time, type=TIME),
            "expires": pa.array(time + 1000 * (1 + draws.below(4, length)), type=TIME),
            "seller": pa.array(FIRST_ID + np.where(hot, first_of_block(people), cold_person(people, draws, 1))),
            "category": pa.array(FIRST_CATEGORY + draws.below(2, CATEGORIES)),
        }


def _pick(choices: list[str] | pa.Array, draws: Draws, draw: int) -> pa.Array:
    known = pa.array(choices)
    return known.take(pa.array(draws.below(draw, len(known))))


def _join(*parts: pa.Array | str) -> pa.Array:
    """The parts of each row in one text; the last is what stands between them."""
    return pc.binary_join_element_wise(*parts)


def _struct(columns: Mapping[str, pa.Array], mask: pa.Array | None = None) -> pa.Array:
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns), mask=mask)


def _spread(values: pa.Array, at: Ints, size: int) -> pa.Array:
    """A column of `size` rows that has these values at these rows and is null elsewhere."""
    rows, missing = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
    rows[at], missing[at] = np.arange(len(at)), False
    return values.take(pa.array(rows, mask=missing))


def _listed(values: pa.Array, at: Ints, size: int) -> pa.Array:
    """The same with each value in a list of its own."""
    there = np.zeros(size, dtype=bool)
    there[at] = True
    ends = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(there, out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=pa.array(~there))


@cache
def card_groups() -> pa.Array:
    return pa.array([f"{k:04}" for k in range(10_000)])


@cache
def texts(longest: int, count: int = 1024) -> pa.Array:
    """Texts of 3 to `longest` - 1 letters and blanks.

    >>> min(len(t.as_py()) for t in texts(20)), max(len(t.as_py()) for t in texts(20))
    (3, 19)
    """
    lengths = 3 + Draws(np.arange(count), longest).below(0, longest - 3)
    letters = Draws(np.arange(count * longest), longest).below(1, 27).reshape(count, longest)
    return pa.array(
        [
            "".join("abcdefghijklmnopqrstuvwxyz "[c] for c in row[:n]).strip().ljust(n, "x")
            for row, n in zip(letters, lengths, strict=True)
        ]
    )
