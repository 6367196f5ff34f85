"""NEXMark bids: record *i* is the *i*-th bid of the benchmark's stream of persons, auctions and bids in 1 : 3 : 46.

Ids, hot auctions and bidders, and prices follow the benchmark (jobs: nexmark/nexmark and Apache Beam's version of it
agree on them). Two differences: numbers are drawn by position, so that any record can be made alone; and a bidder's
id is offset by 1000 once, not twice (nexmark/nexmark issue 30). Event time advances by 1/`rate` seconds a bid from a
fixed date. Channel, url and extra are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.core import InvalidInput
from tidegate.jobs.draws import Draws

FIRST_ID = 1000
#: bids in each group of 50 events, behind 1 person and 3 auctions
BIDS, EVENTS, AUCTIONS, BEFORE = 46, 50, 3, 4
HOT_BLOCK = 100
ACTIVE_PEOPLE, LEAD = 1000, 10
#: one in 2 bids goes to a cold auction, one in 4 comes from a cold bidder
HOT_AUCTION, HOT_BIDDER = 2, 4
#: 2015-07-15T00:00:00Z in microseconds, as in Apache Beam
BASE_TIME = 1_436_918_400_000_000

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bids:
    seed: int = 0
    rate: float = 10_000.0
    schema: str = "auction bigint, bidder bigint, price bigint, dateTime timestamp"

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise InvalidInput(f"events bids: need an event rate > 0 records/s, got {self.rate}")

    def make(self, records: Ints) -> pa.RecordBatch:
        """
        >>> bids = Bids(rate=1000).make(np.arange(3))
        >>> bids.schema.names, bids.num_rows, bids["dateTime"][1].value - bids["dateTime"][0].value
        (['auction', 'bidder', 'price', 'dateTime'], 3, 1000)
        """
        draws = Draws(records, self.seed)
        group = records // BIDS
        columns = {
            "auction": pa.array(_auction(draws, group)),
            "bidder": pa.array(_bidder(draws, group)),
            "price": pa.array(np.rint(100 * 10 ** (6 * draws.unit(4))).astype(np.int64)),
            "dateTime": pa.array(self._time(records), type=pa.timestamp("us", tz="UTC")),
        }
        return pa.RecordBatch.from_pydict(columns)

    def _time(self, records: Ints) -> Ints:
        since: Ints = np.floor(records * (1e6 / self.rate)).astype(np.int64)
        return BASE_TIME + since


def _auction(draws: Draws, group: Ints) -> Ints:
    last = group * AUCTIONS + (AUCTIONS - 1)
    hot = last // HOT_BLOCK * HOT_BLOCK
    oldest = np.maximum(last - HOT_BLOCK, 0)
    cold = oldest + draws.below(1, last - oldest + LEAD + 1)
    return FIRST_ID + np.where(draws.below(0, HOT_AUCTION) > 0, hot, cold)


def _bidder(draws: Draws, group: Ints) -> Ints:
    people = group + 1
    hot = group // HOT_BLOCK * HOT_BLOCK + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    cold = people - active + draws.below(3, active + LEAD)
    return FIRST_ID + np.where(draws.below(2, HOT_BIDDER) > 0, hot, cold)
