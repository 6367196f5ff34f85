"""Who acts: now and then anyone of the last thousand people, mostly the hot one of the current hundred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidegate.jobs.draws import Draws
from tidegate.jobs.nexmark.numbering import Ints
from tidegate.jobs.skew import Skew

HOT_BLOCK = 100
#: a cold person is one of the last `ACTIVE`, or of the next `LEAD` to come
ACTIVE, LEAD = 1000, 10


@dataclass(frozen=True, slots=True)
class Hot:
    """One in so many is cold; 1 for all."""

    auction: int
    bidder: int
    seller: int


#: the benchmark's; none; and nine in ten bids on one auction, nineteen in twenty of one bidder or seller
HOT = {Skew.off: Hot(1, 1, 1), Skew.default: Hot(2, 4, 4), Skew.heavy: Hot(10, 20, 20)}


def cold_person(newest: Ints, draws: Draws, draw: int) -> Ints:
    people = newest + 1
    active = np.minimum(people, ACTIVE)
    return people - active + draws.below(draw, active + LEAD)


def first_of_block(newest: Ints) -> Ints:
    return newest // HOT_BLOCK * HOT_BLOCK


def price(draws: Draws, draw: int) -> Ints:
    """Cents, even on a logarithmic scale between 100 and 100 million."""
    cents: Ints = np.rint(100 * np.exp(6 * np.log(10) * draws.unit(draw))).astype(np.int64)
    return cents
