"""Periods of the day and week without rescales."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from tidegate.core import Decision, InvalidInput, Observation
from tidegate.policies.guards.adjustments import held, stays

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "|".join(DAYS)
_PERIOD = re.compile(rf"(?:({_DAY})(?:-({_DAY}))?\s+)?(\d\d):(\d\d)\s*-\s*(\d\d):(\d\d)")
#: 1970-01-01 was a Thursday
_EPOCH = 3


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` (inclusive) to `end` (exclusive), in minutes of the day, on `days` (Monday is 0). It spans midnight
    if `end` is before `start`.
    """

    text: str
    days: frozenset[int]
    start: int
    end: int

    def contains(self, time: float) -> bool:
        """
        >>> night = periods("Mon-Fri 22:00-06:00")[0]
        >>> friday = 1 * 86400  # 1970-01-02
        >>> night.contains(friday + 23 * 3600), night.contains(friday + 29 * 3600), night.contains(friday + 30 * 3600)
        (True, True, False)
        """
        if not math.isfinite(time):
            return False
        day, second = divmod(time, 86_400)
        today, minute = int(day + _EPOCH) % 7, second / 60
        if self.start < self.end:
            return today in self.days and self.start <= minute < self.end
        evening = today in self.days and minute >= self.start
        return evening or ((today - 1) % 7 in self.days and minute < self.end)


@lru_cache(maxsize=64)
def periods(text: str) -> tuple[Period, ...]:
    """Parses a comma-separated list of periods such as "08:00-10:00" or "Mon-Fri 22:00-06:00". Empty text has none.

    >>> [period.text for period in periods("08:00-10:00, Sat-Sun 00:00-24:00")]
    ['08:00-10:00', 'Sat-Sun 00:00-24:00']
    """
    return tuple(_period(part.strip()) for part in text.split(",")) if text.strip() else ()


def _period(text: str) -> Period:
    match = _PERIOD.fullmatch(text.lower())
    if match is None:
        raise _invalid(text)
    first, last, *clock = match.groups()
    hour, minute, to_hour, to_minute = (int(part) for part in clock)
    start, end = hour * 60 + minute, to_hour * 60 + to_minute
    if minute > 59 or to_minute > 59 or start >= 1440 or end > 1440 or start == end:
        raise _invalid(text)
    return Period(text, _days(first, last), start, end)


def _days(first: str | None, last: str | None) -> frozenset[int]:
    if first is None:
        return frozenset(range(7))
    begin = DAYS.index(first)
    length = (DAYS.index(last) - begin) % 7 if last else 0
    return frozenset((begin + day) % 7 for day in range(length + 1))


def _invalid(text: str) -> InvalidInput:
    return InvalidInput(
        f"excluded period {text!r} is not like 08:00-10:00 or Mon-Fri 22:00-06:00 (UTC; days Mon to Sun, at most 24:00)"
    )


@dataclass(frozen=True, slots=True)
class Excluded:
    """No rescale while the time of the observation, in UTC, is in one of these periods (Flink's operator:
    excluded.periods).

    >>> guard = Excluded("08:00-10:00")
    >>> guard.temper(Decision(6, "busy"), Observation(time=9 * 3600, executors=2, requested=2)).reason
    'hold: 6 wished (busy), but nothing is rescaled within 08:00-10:00 UTC'
    >>> guard.temper(Decision(6, "busy"), Observation(time=10 * 3600, executors=2, requested=2)).executors
    6
    """

    text: str
    name: str = "excluded"

    def __post_init__(self) -> None:
        periods(self.text)

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        now = next((period for period in periods(self.text) if period.contains(obs.time)), None)
        if now is None or stays(wish, obs):
            return wish
        return held(wish, obs, f"but nothing is rescaled within {now.text} UTC")
