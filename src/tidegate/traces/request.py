"""A request for a trace: which logs, columns and times. Times are UTC, with a resolution of one second."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidegate.core import InvalidInput, UnknownName
from tidegate.traces.inputs import FORMATS
from tidegate.traces.time_units import SCALES

#: longest trace: a single stray time must not result in years of zeros
LONGEST = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Span:
    """Plausible times (`earliest` to `latest`), and the part of them to trace (`start` up to, but excluding, `end`).

    >>> Span(start=datetime(2024, 1, 2, tzinfo=UTC), end=datetime(2024, 1, 1, tzinfo=UTC))
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: need --from before --to, got 2024-01-02 00:00:00, 2024-01-01 00:00:00
    """

    earliest: datetime = datetime(1990, 1, 1, tzinfo=UTC)
    #: None: one day after the job starts
    latest: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        if self.latest is not None:
            _check_order("--earliest", self.earliest, "--latest", self.latest)
        if self.start is not None and self.end is not None:
            _check_order("--from", self.start, "--to", self.end)


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
    #: csv, json or parquet; None: from the file extension
    format: str | None = None
    #: s, ms, us or ns; None: from the magnitude of each number
    unit: str | None = None
    separator: str | None = None
    header: bool = True
    span: Span = Span()
    #: largest accepted share of bad rows; None: any share, as long as one row is good
    max_bad: float | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS.values():
            raise UnknownName("format", self.format, set(FORMATS.values()))
        if self.unit is not None and self.unit not in SCALES:
            raise UnknownName("unit of time", self.unit, SCALES)
        if self.max_bad is not None and not 0 <= self.max_bad <= 1:
            raise InvalidInput(f"need 0 <= --max-bad <= 1, a share of the rows, got {self.max_bad:g}")
        if self.separator is not None and len(self.separator) != 1:
            raise InvalidInput(f"need a single character as column separator, got {self.separator!r}")


def _check_order(first_option: str, first: datetime, second_option: str, second: datetime) -> None:
    if not first < second:
        raise InvalidInput(
            f"need {first_option} before {second_option}, got {first:%Y-%m-%d %H:%M:%S}, {second:%Y-%m-%d %H:%M:%S}"
        )
