"""What is left of a run when it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.runs import RunResult

#: called with what the run is doing now
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`run` is its id in the store; empty, without a result, where it ended before its query started."""

    run: str
    status: str
    result: RunResult | None = None
