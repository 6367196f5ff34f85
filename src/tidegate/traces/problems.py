"""Why a row is or is not part of the trace. No Spark here: reports use it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GOOD, UNREADABLE, MISSING, UNKNOWN, EARLY, LATE, OUTSIDE = range(7)
#: kind -> description; rows outside --from and --to are not counted as bad
DESCRIPTIONS: Mapping[int, str] = {
    UNREADABLE: "line cannot be parsed",
    MISSING: "no time",
    UNKNOWN: "time cannot be read",
    EARLY: "time too early",
    LATE: "time in the future",
    OUTSIDE: "outside --from and --to",
}


@dataclass(frozen=True, slots=True)
class Example:
    """A bad row: its file, and the unreadable line or time; None if the time is null."""

    file: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows of one kind that are not part of the trace."""

    kind: int
    rows: int
    examples: tuple[Example, ...]

    @property
    def what(self) -> str:
        return DESCRIPTIONS[self.kind]


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over all rows of one kind. Only good rows have a first and a last second."""

    rows: int
    size: int | None
    notation: int
    first: int | None
    last: int | None
