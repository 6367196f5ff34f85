"""The inverse query: the smallest number of slots with which a model predicts a rate, and some head-room."""

from __future__ import annotations

import math

from tidegate.core import InvalidInput
from tidegate.planner.candidate import Capacity
from tidegate.units import count, share

#: StreamBed asks for 110 % of the rate
HEADROOM = 1.10
#: slots after which the search gives up; the released code stops at 1,599
MOST = 10_000


def smallest_slots(capacity: Capacity, rate: float, memory: float, headroom: float = HEADROOM, most: int = MOST) -> int:
    """Tries one number of slots after the other, as in the paper, so that a model may have peaks and steps.

    >>> from tidegate.planner.least_squares import LINEAR, Measurement
    >>> fit = LINEAR.fit([Measurement(s, 512, 100.0 * s) for s in (2, 4)])
    >>> smallest_slots(fit, 1_000, 512), smallest_slots(fit, 1_000, 512, headroom=1.0)
    (11, 10)
    """
    if not (math.isfinite(rate) and rate > 0):
        raise InvalidInput(f"plan: need a finite rate > 0, got {rate:g}")
    if not (math.isfinite(headroom) and headroom >= 1):
        raise InvalidInput(f"plan: need headroom >= 1, got {headroom:g}")
    best, at = -math.inf, 1
    for slots in range(1, most + 1):
        predicted = capacity.predict(slots, memory)
        # products of decimal fractions must not cost a slot
        if predicted >= headroom * rate * (1 - 1e-12):
            return slots
        if predicted > best:
            best, at = predicted, slots
    raise InvalidInput(
        f"plan: no number of slots up to {most:,} holds {count(rate)} records/s and {share(headroom - 1)} more, "
        f"the highest prediction is {count(max(0.0, best))} records/s at {at:,} slots"
    )
