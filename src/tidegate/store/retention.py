"""How long a store keeps what. Pure: what is due is decided here and carried out by `housekeeping`.

A run on Spark is full for a day, then has a tick per minute for two weeks, then one per ten minutes up to 90 days; this
is counted back from its newest tick, so that a run of a day or less stays as it was. Simulated runs and runs that have
ended are not folded until they are two weeks old, and never if they are short.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from tidegate.core import InvalidInput

DAY = 86_400.0
#: grains of stored ticks: full, by the minute, by ten minutes
FULL, MINUTES, COARSE = range(3)


@dataclass(frozen=True, slots=True)
class RunAge:
    """What retention needs to know of a run."""

    id: str
    created: float
    #: None while it runs
    ended: float | None = None
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """Spans are seconds.

    >>> Retention().span(FULL) / DAY, Retention().span(MINUTES) / DAY, Retention().span(COARSE) / DAY
    (1.0, 14.0, 90.0)
    """

    #: of full ticks, and of ticks by the minute, behind the newest tick of a run
    full: float = DAY
    minutes: float = 14 * DAY
    #: of everything in a run that goes on
    whole: float = 90 * DAY
    #: how long a run keeps its full ticks after its end, and the ticks up to which it keeps them as long as itself
    ended: float = 14 * DAY
    short: int = 7_200
    #: how long a run is kept after its end, and the number of newest runs that are kept however old they are
    runs: float = 90 * DAY
    newest: int = 100
    #: the most runs, and the most bytes: beyond these the oldest that have ended are removed
    most_runs: int = 1_000
    size: int = 1_000_000_000
    #: the most memories of policies
    memories: int = 100

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidInput(f"retention: {field.name} must be above 0, got {value!r}")
        if not self.full <= self.minutes <= self.whole:
            raise InvalidInput(
                f"retention: need full <= minutes <= whole, got {self.full:g}, {self.minutes:g} and {self.whole:g} s"
            )

    def span(self, grain: int) -> float:
        """Age from which ticks of a grain become coarser, or are removed if they are the coarsest."""
        return (self.full, self.minutes, self.whole)[grain]

    def horizon(self, run: RunAge, grain: int, newest: float, now: float, ticks: int) -> float | None:
        """The time before which ticks of a grain are due to become coarser; None if none are.

        `newest` is the time of the run's newest tick, `now` the clock's: a tick from the future makes nothing older.
        `ticks` is how many a run that has ended has.

        >>> going, done, day = RunAge("a", 0.0), RunAge("b", 0.0, ended=DAY), 86_400
        >>> Retention().horizon(going, FULL, newest=3 * DAY, now=3 * DAY, ticks=3 * day) / DAY
        2.0
        >>> Retention().horizon(done, FULL, DAY, now=14 * DAY, ticks=day)  # not two weeks after its end
        >>> Retention().horizon(done, FULL, DAY, now=16 * DAY, ticks=day)
        inf
        """
        if run.ended is not None:
            due = grain == FULL and ticks > self.short and now - run.ended > self.ended
            return math.inf if due else None
        return None if run.simulated else min(newest, now) - self.span(grain)

    def expired(self, runs: Iterable[RunAge], now: float) -> list[str]:
        """The runs to remove for their age or number, the oldest first. None that goes on is among them.

        >>> runs = [RunAge(str(n), n, ended=n) for n in range(5)]
        >>> Retention(runs=3, newest=2).expired(runs, now=10), Retention(newest=5, most_runs=5).expired(runs, now=1e9)
        (['0', '1', '2'], [])
        """
        newest_first = sorted(runs, key=lambda run: run.created)[::-1]
        aged = [
            run.id
            for place, run in enumerate(newest_first)
            if run.ended is not None and self._expired(place, now - run.ended)
        ]
        return aged[::-1]

    def _expired(self, place: int, age: float) -> bool:
        return place >= self.most_runs or (place >= self.newest and age > self.runs)

    def for_room(self, runs: Sequence[RunAge], used: int) -> str | None:
        """The run to remove next in a store that has grown too large: the oldest that has ended."""
        ended = [run for run in runs if run.ended is not None]
        return min(ended, key=lambda run: run.created).id if used > self.size and ended else None
