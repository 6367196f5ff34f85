"""Units of numeric timestamps.

A number of unknown unit is taken as seconds, milliseconds, microseconds or nanoseconds since 1970 by its magnitude:
10^11 is the year 5138 in seconds and 1973 in milliseconds, and likewise for the next units, so times between 1974 and
5138 are unambiguous.
"""

from __future__ import annotations

from collections.abc import Mapping

#: unit -> units per second
SCALES: Mapping[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: unit -> the smallest number that is too large for it
BOUNDS: Mapping[str, int] = {"s": 10**11, "ms": 10**14, "us": 10**17}
#: notations of times as bits, because one column may mix them
NOTATIONS: Mapping[str, int] = {"timestamps": 1, "s": 2, "ms": 4, "us": 8, "ns": 16}
NOTATION_NAMES: Mapping[str, str] = {
    "timestamps": "timestamps",
    "s": "epoch seconds",
    "ms": "epoch milliseconds",
    "us": "epoch microseconds",
    "ns": "epoch nanoseconds",
}


def unit_of(number: float) -> str:
    """The unit implied by the magnitude of a number; the SQL in `times` applies the same rule.

    >>> [unit_of(n) for n in (1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456, 1_700_000_000_123_456_789)]
    ['s', 'ms', 'us', 'ns']
    """
    return next((unit for unit, bound in BOUNDS.items() if -bound < number < bound), "ns")


def notation_names(bits: int) -> tuple[str, ...]:
    """
    >>> notation_names(1 | 4)
    ('timestamps', 'epoch milliseconds')
    """
    return tuple(NOTATION_NAMES[name] for name, bit in NOTATIONS.items() if bits & bit)
