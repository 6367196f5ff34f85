"""What is asked of a trace: which logs, which columns, which times count. Times are UTC, to the second."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidegate.core import InvalidInput, UnknownName
from tidegate.traces.inputs import FORMATS
from tidegate.traces.times import SCALES

#: more seconds than this are not filled: one stray time must not make years of zeros
LONGEST = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Span:
    """Which times are possible, and which of those are wanted: from `start` up to, not including, `end`.

    >>> Span(start=datetime(2024, 1, 2, tzinfo=UTC), end=datetime(2024, 1, 1, tzinfo=UTC))
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: need --from before --to, got 2024-01-02 00:00:00, 2024-01-01 00:00:00
    """

    earliest: datetime = datetime(1990, 1, 1, tzinfo=UTC)
    #: None: a day after the moment at which the counting begins
    latest: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        if self.latest is not None:
            _ordered("--earliest", self.earliest, "--latest", self.latest)
        if self.start is not None and self.end is not None:
            _ordered("--from", self.start, "--to", self.end)


@dataclass(frozen=True, slots=True)
class Request:
    """Logs in, one Parquet file out.

    >>> Request(logs=("day.csv",), time="at", unit="minutes")
    Traceback (most recent call last):
    tidegate.core.errors.UnknownName: no unit of time is named 'minutes' (known: ms, ns, s, us)
    """

    logs: tuple[str, ...]
    time: str
    key: str | None = None
    output: Path = Path("trace.parquet")
    #: csv, json or parquet; None: by the ends of the files' names
    format: str | None = None
    #: s, ms, us or ns; None: by the size of each number
    unit: str | None = None
    separator: str | None = None
    header: bool = True
    span: Span = Span()
    #: share of the rows that may be bad; None: any, as long as one is good
    max_bad: float | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS.values():
            raise UnknownName("format", self.format, set(FORMATS.values()))
        if self.unit is not None and self.unit not in SCALES:
            raise UnknownName("unit of time", self.unit, SCALES)
        if self.max_bad is not None and not 0 <= self.max_bad <= 1:
            raise InvalidInput(f"need 0 <= --max-bad <= 1, a share of the rows, got {self.max_bad:g}")
        if self.separator is not None and len(self.separator) != 1:
            raise InvalidInput(f"need one character as separator of columns, got {self.separator!r}")


def _ordered(low: str, first: datetime, high: str, second: datetime) -> None:
    if not first < second:
        raise InvalidInput(f"need {low} before {high}, got {first:%Y-%m-%d %H:%M:%S}, {second:%Y-%m-%d %H:%M:%S}")
