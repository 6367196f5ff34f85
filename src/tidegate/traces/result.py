"""Statistics of a finished trace. No Spark here: reports and the command line read it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tidegate.traces.problems import OUTSIDE, Problem

#: share of bad rows above which the user is warned
ALARM = 0.01
#: percentile levels of `Trace.distribution`
LEVELS = tuple(percent / 100 for percent in range(101))


@dataclass(frozen=True, slots=True)
class Size:
    """Rates are records per second, over all seconds from the first to the last event, including empty ones."""

    rows: int
    seconds: int
    #: seconds without a record
    empty: int
    first: datetime
    last: datetime
    mean: float
    p50: float
    p95: float
    p99: float
    max: int
    #: mean bytes per record: of a line without its line end, or of a Parquet row before compression
    record: float | None

    @property
    def peak_to_mean(self) -> float:
        return self.max / self.mean


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key and its share of the rows. The key None stands for rows without one, which Spark groups like any other."""

    key: str | None
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class Skew:
    """How unevenly the rows are distributed over keys."""

    column: str
    #: number of distinct keys
    keys: int
    #: up to ten keys, the hottest first
    top: tuple[HotKey, ...]

    @property
    def hottest_share(self) -> float:
        return self.top[0].share

    @property
    def top_share(self) -> float:
        """The combined share of the keys in `top`."""
        return sum(hot.share for hot in self.top)

    @property
    def useful_tasks(self) -> int:
        """The number of tasks beyond which a query that groups by the key gets no faster: all rows of the hottest key
        go to one task, so the speed-up is at most one over its share.

        >>> Skew("user", 5, (HotKey("a", 30, 0.3),)).useful_tasks  # 1 / 0.3 = 3.3: a fourth task still helps
        4
        """
        return math.ceil(round(1 / self.hottest_share, 9))


@dataclass(frozen=True, slots=True)
class Envelope:
    """The trace at screen resolution: lowest, mean and highest rate of every `width` seconds since `start`."""

    start: datetime
    width: int
    low: tuple[int, ...]
    mean: tuple[float, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that has been written to `path`."""

    path: Path
    size: Size
    problems: tuple[Problem, ...]
    skew: Skew | None
    envelope: Envelope
    #: rates at LEVELS
    distribution: tuple[float, ...]
    #: notations of the times, such as `epoch milliseconds`
    notations: tuple[str, ...]
    files: int
    left_out: tuple[str, ...]

    @property
    def bad(self) -> int:
        return sum(problem.rows for problem in self.problems if problem.kind != OUTSIDE)

    @property
    def bad_share(self) -> float:
        return bad_share(self.problems, self.size.rows)


def bad_share(problems: Sequence[Problem], good: int) -> float:
    """The share of bad rows. Rows outside --from and --to are part of the total, but not bad.

    >>> bad_share([Problem(2, 10, ()), Problem(OUTSIDE, 30, ())], good=60)
    0.1
    """
    rows = good + sum(problem.rows for problem in problems)
    bad = sum(problem.rows for problem in problems if problem.kind != OUTSIDE)
    return bad / rows if rows else 0.0
