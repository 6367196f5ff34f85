"""What `tidegate plan` says on standard error while it measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from tidegate import units
from tidegate.cli.console import err

if TYPE_CHECKING:
    from tidegate.planner.estimator.phases import Phase
    from tidegate.planner.explorer import Probe, Question
    from tidegate.profiling.search_run import SearchRun


def say(text: str) -> None:
    err.print(escape(text), soft_wrap=True, highlight=False)


class Budget:
    """The time of a command, of which searches take theirs. A simulated search takes what a real one would."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    @property
    def left(self) -> float:
        return max(0.0, self._left)

    def spend(self, minutes: float) -> None:
        self._left -= 60 * minutes


class PlanProgress:
    """Says what is measured, and how much of the budget is left. Phases of a simulation take no time worth a line."""

    def __init__(self, budget: Budget, *, simulated: bool = False) -> None:
        self._budget, self._simulated = budget, simulated

    def phase(self, question: Question, phase: Phase, seconds: float) -> None:
        if self._simulated:
            return
        left = units.clock(max(0.0, self._budget.left - seconds))
        load = f"{type(phase).__name__.lower()} at {units.count(phase.rate)}/s"
        say(f"{_slots(question.slots)} ({question.reason}): {load}, {left} of the budget left")

    def probe(self, probe: Probe, run: SearchRun) -> None:
        say(f"{_slots(probe.slots)}: {run.estimate if probe.rate is not None else probe.failure}")


def _slots(number: int) -> str:
    return f"{number} slot{'s' * (number != 1)}"
