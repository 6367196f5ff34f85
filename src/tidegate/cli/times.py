"""Times as a person reads them in the terminal: on the clock where there is one, else since the start."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from tidegate.units import UNKNOWN, clock

DAY = 86_400.0
#: seconds since 1970 from which on a time is taken for a date; smaller ones count from the start of a run or trace
DATED = 315_532_800.0  # 1980


def dated(at: float) -> bool:
    """Whether a time is a date, rather than seconds from a start.

    >>> dated(3600.0), dated(1_795_000_000.0)
    (False, True)
    """
    return at >= DATED


def time_of_day(at: float) -> str:
    """Local time."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def moment(at: float, start: float) -> str:
    """The time of something that happened in a run: on the local clock, or since the start if the run is simulated.

    >>> moment(3725.0, 0.0), len(moment(1_795_000_000.0, 1_794_999_000.0))
    ('1:02:05', 8)
    """
    return time_of_day(at) if dated(at) else clock(at - start)


def started(at: float, now: float) -> str:
    """When a run started: the local time of today, and the date before it otherwise.

    >>> noon = 1_795_003_200.0
    >>> len(started(noon, noon)), len(started(noon - 3 * DAY, noon)), len(started(noon - 400 * DAY, noon))
    (8, 12, 10)
    """
    local, today = time.localtime(at), time.localtime(now)
    if local[:3] == today[:3]:
        return time.strftime("%H:%M:%S", local)
    return time.strftime("%b %d %H:%M" if abs(now - at) < 300 * DAY else "%Y-%m-%d", local)


def age(seconds: float | None) -> str:
    """
    >>> age(45), age(3725), age(4.5 * DAY), age(None)
    ('0:45', '1:02:05', '4 d 12 h', '—')
    """
    if seconds is None:
        return UNKNOWN
    if seconds < DAY:
        return clock(max(0.0, seconds))
    hours = round(seconds / 3600)
    return f"{hours // 24} d {hours % 24} h"


def utc(at: float) -> str:
    """
    >>> utc(1_795_000_000.0)
    '2026-11-18 11:06'
    """
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
