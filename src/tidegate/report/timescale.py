"""When things happened: on the clock for a run that took place, since its start for a simulated one.

Charts and tables are in the time zone of the reader. That is known only in the browser, so the file has UTC, and a
script (`templates/times.html`) rewrites it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

#: seconds since 1970 from which on a time is a date; smaller ones count from the start of a simulation
DATED = 315_532_800.0  # 1980
#: runs longer than this have the day beside each time
LONG = 12 * 3600.0

TimeUnit = Literal["clock", "seconds", "date"]


@dataclass(frozen=True, slots=True)
class Timescale:
    """`start` is that of the run, on the clock of its ticks. Times are seconds from it; a first tick may be before."""

    start: float
    first: float = 0.0
    last: float = 0.0

    @property
    def span(self) -> float:
        return self.last - min(0.0, self.first)

    @property
    def dated(self) -> bool:
        """
        >>> Timescale(0.0).dated, Timescale(1_772_409_600.0).dated
        (False, True)
        """
        return self.start >= DATED

    @property
    def unit(self) -> TimeUnit:
        return "date" if self.dated else time_unit(self.span)

    @property
    def with_day(self) -> bool:
        ends = (_utc(self.start + min(0.0, self.first)), _utc(self.start + self.last))
        return self.span > LONG or ends[0].date() != ends[1].date()

    def iso(self, time: float) -> str:
        """
        >>> Timescale(1_772_409_600.0).iso(3725.5)
        '2026-03-02T01:02:05Z'
        """
        return iso(self.start + time)

    def utc(self, time: float) -> str:
        """
        >>> Timescale(1_772_409_600.0, last=60.0).utc(45), Timescale(1_772_409_600.0, last=2 * 86_400.0).utc(45)
        ('00:00:45', '2 Mar 00:00:45')
        """
        moment = _utc(self.start + time)
        return f"{moment.day} {moment:%b %H:%M:%S}" if self.with_day else f"{moment:%H:%M:%S}"


def time_unit(span: float) -> TimeUnit:
    """
    >>> time_unit(90), time_unit(600)
    ('seconds', 'clock')
    """
    return "seconds" if span <= 120 else "clock"


def iso(time: float) -> str:
    """
    >>> iso(1_772_409_645.5)
    '2026-03-02T00:00:45Z'
    """
    return f"{_utc(time):%Y-%m-%dT%H:%M:%SZ}"


def utc(time: float) -> str:
    """
    >>> utc(1_772_409_645.5)
    '2026-03-02 00:00 UTC'
    """
    return f"{_utc(time):%Y-%m-%d %H:%M} UTC"


def length_of_time(seconds: float) -> str:
    """
    >>> length_of_time(8.004), length_of_time(128), length_of_time(2048), length_of_time(7200)
    ('8 s', '2.1 min', '34 min', '2 h')
    """
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "min"), (0, "s")) if seconds >= size)
    return f"{seconds / (size or 1):.2g} {unit}"


def _utc(time: float) -> datetime:
    return datetime.fromtimestamp(time, UTC)
