"""Numbering of events: every group of 50 has one person, three auctions and 46 bids, in that order.

The number of an event determines its kind, the newest person and auction at that point, and its time. Persons and
auctions are counted from 0 here; ids start at 1000.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidegate.jobs.draws import START

Ints = npt.NDArray[np.int64]

#: events, persons and auctions per group
GROUP, PERSONS, AUCTIONS = 50, 1, 3
BEFORE_BIDS = PERSONS + AUCTIONS
BIDS = GROUP - BEFORE_BIDS
FIRST_ID = 1000
#: start of event time, µs
BASE_TIME = START * 1_000_000

PERSON, AUCTION, BID = 0, 1, 2


def kind(event: Ints) -> Ints:
    """
    >>> kind(np.array([0, 1, 3, 4, 49, 50])).tolist()
    [0, 1, 1, 2, 2, 0]
    """
    position = event % GROUP
    return (position >= PERSONS).astype(np.int64) + (position >= BEFORE_BIDS)


def newest_person(event: Ints) -> Ints:
    return event // GROUP


def newest_auction(event: Ints) -> Ints:
    """
    >>> newest_auction(np.array([0, 1, 3, 4, 49, 50])).tolist()  # -1: none yet
    [-1, 0, 2, 2, 2, 2]
    """
    return event // GROUP * AUCTIONS + np.clip(event % GROUP - PERSONS, -1, AUCTIONS - 1)


def bid_event(bid: Ints) -> Ints:
    """The event number of bid number `bid`.

    >>> bid_event(np.array([0, 45, 46])).tolist()
    [4, 49, 54]
    """
    return bid // BIDS * GROUP + BEFORE_BIDS + bid % BIDS


def event_time(event: Ints, rate: float) -> Ints:
    """Microseconds since 1970 at `rate` events per second of event time."""
    elapsed: Ints = np.floor(event * (1e6 / rate)).astype(np.int64)
    return BASE_TIME + elapsed
