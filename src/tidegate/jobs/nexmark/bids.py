"""NEXMark bids: record *i* is the *i*-th bid of the benchmark's stream of persons, auctions and bids (1 : 3 : 46).

Ids, hot auctions and bidders, and prices follow the benchmark, as in nexmark/nexmark and Apache Beam. There are two
differences: random numbers are counter-based, so that any record can be generated on its own, and a bidder's id is
offset by 1000 once, not twice (nexmark/nexmark issue 30). Event time starts at a fixed date and advances by 1/`rate`
seconds per bid. Channel, url and extra are omitted, because no query here reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.core import InvalidInput
from tidegate.jobs.draws import Draws
from tidegate.jobs.nexmark import numbering
from tidegate.jobs.nexmark.numbering import FIRST_ID, Ints
from tidegate.jobs.nexmark.people import HOT, HOT_BLOCK, LEAD, cold_person, first_of_block, price
from tidegate.jobs.skew import Skew

TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class Bids:
    seed: int = 0
    rate: float = 10_000.0
    skew: Skew = Skew.default
    schema: str = "auction bigint, bidder bigint, price bigint, dateTime timestamp"
    text: bool = False

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise InvalidInput(f"events bids: need an event rate > 0 records/s, got {self.rate}")

    def make(self, records: Ints) -> pa.RecordBatch:
        """
        >>> bids = Bids(rate=1000).make(np.arange(3))
        >>> bids.schema.names, bids.num_rows, bids["dateTime"][1].value - bids["dateTime"][0].value
        (['auction', 'bidder', 'price', 'dateTime'], 3, 1000)
        """
        time = pa.array(numbering.event_time(records, self.rate), type=TIME)
        return pa.RecordBatch.from_pydict(bid_columns(numbering.bid_event(records), time, self.seed, self.skew))


def bid_columns(event: Ints, time: pa.Array, seed: int, skew: Skew) -> dict[str, pa.Array]:
    """The columns of the bids with these event numbers."""
    draws = Draws(event, seed)
    return {
        "auction": pa.array(_auction(draws, numbering.newest_auction(event), HOT[skew].auction)),
        "bidder": pa.array(_bidder(draws, numbering.newest_person(event), HOT[skew].bidder)),
        "price": pa.array(price(draws, 4)),
        "dateTime": time,
    }


def _auction(draws: Draws, newest: Ints, ratio: int) -> Ints:
    oldest = np.maximum(newest - HOT_BLOCK, 0)
    cold = oldest + draws.below(1, newest - oldest + LEAD + 1)
    return FIRST_ID + np.where(draws.below(0, ratio) > 0, first_of_block(newest), cold)


def _bidder(draws: Draws, newest: Ints, ratio: int) -> Ints:
    hot = first_of_block(newest) + 1
    return FIRST_ID + np.where(draws.below(2, ratio) > 0, hot, cold_person(newest, draws, 3))
