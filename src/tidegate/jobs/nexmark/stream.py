"""The complete NEXMark stream: record *i* is event *i*, a person, an auction or a bid, as one wide row.

Columns are as in nexmark/nexmark: `event_type` (0 person, 1 auction, 2 bid), three structs of which two are null, and
`dateTime` of the event. Omitted are `extra` (padding), and channel and url of a bid. Strings come from fixed lists that
are generated once.
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
#: an auction is open for at most the time of twice this many events; about 100 auctions are open at once
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
        >>> rows = Nexmark().make(np.arange(5)).to_pylist()
        >>> rows[0]["person"]["id"], rows[0]["bid"], rows[3]["auction"]["id"], rows[4]["event_type"]
        (1000, None, 1002, 2)
        """
        return self._batch(records, _scatter_values)

    @property
    def packed_schema(self) -> str:
        return self.schema.replace(f"struct<{PERSON}>", f"array<struct<{PERSON}>>").replace(
            f"struct<{AUCTION}>", f"array<struct<{AUCTION}>>"
        )

    def pack(self, records: Ints) -> pa.RecordBatch:
        """The same with `person` and `auction` as lists of one item, or null for other events. An Arrow struct column
        allocates space for every row, and most rows are bids: this sends less than half the bytes to Spark.
        """
        return self._batch(records, _scatter_lists)

    def unpack(self, packed: DataFrame) -> DataFrame:
        """Restore the rows of `make`."""
        structs = {name: F.get(name, F.lit(0)) for name in ("person", "auction")}
        return packed.withColumns(structs)

    def _batch(self, records: Ints, scatter: Callable[[pa.Array, Ints, int], pa.Array]) -> pa.RecordBatch:
        kind, time = numbering.kind(records), numbering.event_time(records, self.rate)
        stamps = pa.array(time, type=TIME)
        persons, auctions = np.flatnonzero(kind == numbering.PERSON), np.flatnonzero(kind == numbering.AUCTION)
        bid = bid_columns(records, stamps, self.seed, self.skew)
        columns = {
            "event_type": pa.array(kind.astype(np.int32)),
            "person": scatter(_struct(self._persons(records[persons], time[persons])), persons, len(records)),
            "auction": scatter(_struct(self._auctions(records[auctions], time[auctions])), auctions, len(records)),
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
        initial_bid = price(draws, 3)
        length = max(int(2 * IN_FLIGHT * 1000 / self.rate), 1)  # ms
        return {
            "id": pa.array(FIRST_ID + numbering.newest_auction(event)),
            "itemName": _pick(texts(20), draws, 5),
            "description": _pick(texts(100), draws, 6),
            "initialBid": pa.array(initial_bid),
            "reserve": pa.array(initial_bid + price(draws, 7)),
            "dateTime": pa.array(time, type=TIME),
            "expires": pa.array(time + 1000 * (1 + draws.below(4, length)), type=TIME),
            "seller": pa.array(FIRST_ID + np.where(hot, first_of_block(people), cold_person(people, draws, 1))),
            "category": pa.array(FIRST_CATEGORY + draws.below(2, CATEGORIES)),
        }


def _pick(choices: list[str] | pa.Array, draws: Draws, draw: int) -> pa.Array:
    items = pa.array(choices)
    return items.take(pa.array(draws.below(draw, len(items))))


def _join(*parts: pa.Array | str) -> pa.Array:
    """The parts of each row as one string. The last argument is the separator."""
    return pc.binary_join_element_wise(*parts)


def _struct(columns: Mapping[str, pa.Array], mask: pa.Array | None = None) -> pa.Array:
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns), mask=mask)


def _scatter_values(values: pa.Array, at: Ints, size: int) -> pa.Array:
    """A column of `size` rows with the values at the rows `at`, null elsewhere."""
    rows, missing = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
    rows[at], missing[at] = np.arange(len(at)), False
    return values.take(pa.array(rows, mask=missing))


def _scatter_lists(values: pa.Array, at: Ints, size: int) -> pa.Array:
    """The same, with each value in a list of its own."""
    present = np.zeros(size, dtype=bool)
    present[at] = True
    ends = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(present, out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=pa.array(~present))


@cache
def card_groups() -> pa.Array:
    return pa.array([f"{k:04}" for k in range(10_000)])


@cache
def texts(longest: int, count: int = 1024) -> pa.Array:
    """Strings of 3 to `longest` - 1 letters and spaces.

    >>> min(len(text.as_py()) for text in texts(20)), max(len(text.as_py()) for text in texts(20))
    (3, 19)
    """
    lengths = 3 + Draws(np.arange(count), longest).below(0, longest - 3)
    letters = Draws(np.arange(count * longest), longest).below(1, 27).reshape(count, longest)
    return pa.array(
        [
            "".join("abcdefghijklmnopqrstuvwxyz "[code] for code in codes[:length]).strip().ljust(length, "x")
            for codes, length in zip(letters, lengths, strict=True)
        ]
    )
