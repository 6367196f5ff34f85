"""The rows of a trace as numbers. Errors for invalid times and rates name their place in the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidegate.core import InvalidInput
from tidegate.core.reading import shown
from tidegate.workloads.shape import HIGHEST

#: seconds from 1970 beyond which a number is no time: the year 33,658
FAR = 1e12


@dataclass(frozen=True, slots=True)
class Places:
    """Positions of the rows in a file: `unit` is "line" or "row", counted from 1.

    >>> Places("day.csv", "line", (2, 3, 5))[2]
    'trace day.csv, line 5'
    """

    file: str
    unit: str
    numbers: Sequence[int]

    def __getitem__(self, k: int) -> str:
        return f"trace {self.file}, {self.unit} {self.numbers[k]}"


@dataclass(frozen=True, slots=True)
class Table:
    """Times in seconds since any origin (None: one row per second), and rates in records per second."""

    places: Places
    times: tuple[float, ...] | None
    rates: tuple[float, ...]
    #: the times as they are in the file
    written: Sequence[Any] = field(default=(), repr=False)


def checked_table(places: Places, times: Sequence[Any], rates: Sequence[Any], written: Sequence[Any]) -> Table:
    return Table(
        places, tuple(_time(places, k, time) for k, time in enumerate(times)), checked_rates(places, rates), written
    )


def _time(places: Places, k: int, value: Any) -> float:
    time = seconds(value)
    if time is None or not math.isfinite(time):
        raise InvalidInput(f"{places[k]}: need seconds or an ISO 8601 time, found {_describe(value)}")
    if abs(time) > FAR:
        raise InvalidInput(f"{places[k]}: need a time within {FAR:g} s of 1970, found {_describe(value)}")
    return time


def checked_rates(places: Places, values: Sequence[Any]) -> tuple[float, ...]:
    rates = tuple(_number(value) for value in values)
    for k, rate in enumerate(rates):
        if rate is None or not 0 <= rate < math.inf:
            raise InvalidInput(f"{places[k]}: need a finite rate >= 0 records/s, found {_describe(values[k])}")
        if rate > HIGHEST:
            raise InvalidInput(f"{places[k]}: need a rate of at most {HIGHEST:g} records/s, found {rate:g}")
    return tuple(rate for rate in rates if rate is not None)


def seconds(value: Any) -> float | None:
    """A time in seconds since an origin that is the same for the whole file. Times without a zone are UTC.

    None if the value is not a time.

    >>> seconds("12.5"), seconds("1970-01-01T00:01:00Z"), seconds("1970-01-01 00:01:00"), seconds("time")
    (12.5, 60.0, 60.0, None)
    """
    number = _number(value)
    if number is not None or not isinstance(value, str):
        return number
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _describe(value: Any) -> str:
    """
    >>> _describe("many"), _describe(""), _describe(-2.5), _describe("-2.5"), _describe(None)
    ("'many'", 'nothing', '-2.5', '-2.5', 'nothing')
    """
    if value is None or value == "":
        return "nothing"
    return shown(value) if _number(value) is None else str(value)[:60]
