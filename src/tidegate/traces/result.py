"""What a trace is, in figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tidegate.traces.counting import OUTSIDE, WRONG, Example

#: share of bad rows above which a user is warned
ALARM = 0.01
#: at these levels the rates' distribution is known
LEVELS = tuple(percent / 100 for percent in range(101))


@dataclass(frozen=True, slots=True)
class Size:
    """Rates are records in one second, over all seconds from the first to the last event, the empty ones too."""

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
    #: bytes, of a line without its end, or of a row of Parquet before compression
    record: float | None

    @property
    def peak_to_mean(self) -> float:
        return self.max / self.mean


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows that are not in the trace, and why."""

    kind: int
    rows: int
    examples: tuple[Example, ...]

    @property
    def what(self) -> str:
        return WRONG[self.kind]


@dataclass(frozen=True, slots=True)
class Hot:
    """A key and its share of the rows. The key None is that of rows without one, which Spark groups like any other."""

    key: str | None
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class Skew:
    """How unevenly the rows lie on keys."""

    column: str
    keys: int
    #: up to ten, the hottest first
    top: tuple[Hot, ...]

    @property
    def hottest(self) -> float:
        return self.top[0].share

    @property
    def ten(self) -> float:
        return sum(hot.share for hot in self.top)

    @property
    def useful(self) -> int:
        """More tasks than this cannot help a query that groups by the key: one of them has all rows of the hottest
        key, so the speed-up is at most one over its share.

        >>> Skew("user", 5, (Hot("a", 30, 0.3),)).useful  # 1 / 0.3 = 3.3: a fourth task still takes some of the rest
        4
        """
        return math.ceil(round(1 / self.hottest, 9))


@dataclass(frozen=True, slots=True)
class Envelope:
    """The trace as a screen can show it: lowest, mean and highest rate of each `width` seconds since `start`."""

    start: datetime
    width: int
    low: tuple[int, ...]
    mean: tuple[float, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that was written to `path`."""

    path: Path
    size: Size
    problems: tuple[Problem, ...]
    skew: Skew | None
    envelope: Envelope
    #: rates at LEVELS
    distribution: tuple[float, ...]
    #: how times were written, such as `epoch milliseconds`
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
    """Of all rows, the ones outside --from and --to counted as rows but not as bad.

    >>> bad_share([Problem(2, 10, ()), Problem(OUTSIDE, 30, ())], good=60)
    0.1
    """
    rows = good + sum(problem.rows for problem in problems)
    bad = sum(problem.rows for problem in problems if problem.kind != OUTSIDE)
    return bad / rows if rows else 0.0
