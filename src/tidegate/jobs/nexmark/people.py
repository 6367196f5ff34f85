"""Hot and cold persons: most events belong to the hot person of the current block of 100, the others to one of the last
1000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidegate.jobs.draws import Draws
from tidegate.jobs.nexmark.numbering import Ints
from tidegate.jobs.skew import Skew

HOT_BLOCK = 100
#: a cold person is one of the last `ACTIVE` or of the next `LEAD` persons
ACTIVE, LEAD = 1000, 10


@dataclass(frozen=True, slots=True)
class HotRatios:
    """One in this many draws is cold; with 1 all are."""

    auction: int
    bidder: int
    seller: int


#: off: no hot keys; default: as in the benchmark; heavy: 90 % of bids on one auction, 95 % from one bidder or seller
HOT = {Skew.off: HotRatios(1, 1, 1), Skew.default: HotRatios(2, 4, 4), Skew.heavy: HotRatios(10, 20, 20)}


def cold_person(newest: Ints, draws: Draws, draw: int) -> Ints:
    people = newest + 1
    active = np.minimum(people, ACTIVE)
    return people - active + draws.below(draw, active + LEAD)


def first_of_block(newest: Ints) -> Ints:
    return newest // HOT_BLOCK * HOT_BLOCK


def price(draws: Draws, draw: int) -> Ints:
    """Cents, log-uniform between 100 and 100 million."""
    cents: Ints = np.rint(100 * np.exp(6 * np.log(10) * draws.unit(draw))).astype(np.int64)
    return cents
