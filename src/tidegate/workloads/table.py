"""The rows of a trace as numbers. What cannot be a time or a rate is refused, with its place in the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidegate.core import InvalidInput


@dataclass(frozen=True, slots=True)
class Places:
    """Where the rows are: `unit` is "line" or "row", counted from 1.

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
    """Times in seconds from any origin, None where each row is a second; rates in records per second."""

    places: Places
    times: tuple[float, ...] | None
    rates: tuple[float, ...]
    #: the times as the file has them
    written: Sequence[Any] = field(default=(), repr=False)


def checked(places: Places, times: Sequence[Any], rates: Sequence[Any], written: Sequence[Any]) -> Table:
    return Table(
        places, tuple(_time(places, k, time) for k, time in enumerate(times)), as_rates(places, rates), written
    )


def _time(places: Places, k: int, value: Any) -> float:
    found = seconds(value)
    if found is None or not math.isfinite(found):
        raise InvalidInput(f"{places[k]}: need seconds or an ISO 8601 time, found {_said(value)}")
    return found


def as_rates(places: Places, values: Sequence[Any]) -> tuple[float, ...]:
    found = tuple(_number(value) for value in values)
    for k, rate in enumerate(found):
        if rate is None or not 0 <= rate < math.inf:
            raise InvalidInput(f"{places[k]}: need a finite rate >= 0 records/s, found {_said(values[k])}")
    return tuple(rate for rate in found if rate is not None)


def seconds(value: Any) -> float | None:
    """From an origin that all times of a file share; a time without a zone is UTC. None for what is no time.

    >>> seconds("12.5"), seconds("1970-01-01T00:01:00Z"), seconds("1970-01-01 00:01:00"), seconds("time")
    (12.5, 60.0, 60.0, None)
    """
    number = _number(value)
    if number is not None or not isinstance(value, str):
        return number
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _said(value: Any) -> str:
    """
    >>> _said("many"), _said(""), _said(-2.5), _said("-2.5"), _said(None)
    ("'many'", 'nothing', '-2.5', '-2.5', 'nothing')
    """
    if value is None or value == "":
        return "nothing"
    return repr(value) if _number(value) is None else str(value)
