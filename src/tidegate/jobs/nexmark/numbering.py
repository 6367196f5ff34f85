"""Which event has which number: in every 50 one person, three auctions and 46 bids, in that order.

Event number *e* alone says its kind, the newest person and auction there are, and its time. Persons and auctions are
counted from 0 here; ids start at 1000.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidegate.jobs.draws import START

Ints = npt.NDArray[np.int64]

GROUP, PERSONS, AUCTIONS = 50, 1, 3
BEFORE = PERSONS + AUCTIONS
BIDS = GROUP - BEFORE
FIRST_ID = 1000
#: in microseconds
BASE_TIME = START * 1_000_000

PERSON, AUCTION, BID = 0, 1, 2


def kind(event: Ints) -> Ints:
    """
    >>> kind(np.array([0, 1, 3, 4, 49, 50])).tolist()
    [0, 1, 1, 2, 2, 0]
    """
    place = event % GROUP
    return (place >= PERSONS).astype(np.int64) + (place >= BEFORE)


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
    return bid // BIDS * GROUP + BEFORE + bid % BIDS


def event_time(event: Ints, rate: float) -> Ints:
    """Microseconds since 1970 at `rate` events per second of event time."""
    since: Ints = np.floor(event * (1e6 / rate)).astype(np.int64)
    return BASE_TIME + since
