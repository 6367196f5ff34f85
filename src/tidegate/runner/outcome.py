"""The outcome of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.runs import RunResult
from tidegate.score.trace import RunTrace

#: called with messages about the progress of the run
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`run` is the id in the store; it is empty, and there is no result, if the run ended before its query started."""

    run: str
    status: str
    result: RunResult | None = None
    #: what the result was scored on
    trace: RunTrace | None = None
