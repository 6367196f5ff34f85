"""Decisions as the report shows them: a mark on a chart each, folded in a table. However many there are, a page holds a
bounded number of them, first of all those that were carried out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tidegate.core import Tick
from tidegate.report.events import without_numbers
from tidegate.report.thinning import Sampled

Outcome = Literal["up", "down", "hold", "advised"]

#: most rows of a table of decisions
LISTED = 500
#: most marks on the chart
MARKED: Mapping[Outcome, int] = {"up": 1000, "down": 1000, "advised": 500, "hold": 500}


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision. An `advised` one differs from what was requested but was not carried out (mode monitor)."""

    #: seconds since the start of the run
    time: float
    before: int
    after: int
    outcome: Outcome
    #: (author, reason), the policy first
    chain: tuple[tuple[str, str], ...]

    @property
    def by(self) -> str:
        """The author of the last step."""
        return self.chain[-1][0]

    @property
    def acted(self) -> bool:
        return self.outcome in {"up", "down"}


@dataclass(frozen=True, slots=True)
class Fold:
    """Consecutive decisions that say the same, represented by the last one."""

    since: float
    last: Choice
    count: int


@dataclass(frozen=True, slots=True)
class Folds:
    """The last rows of a table. `earlier` counts the decisions of the rows before them, which are not listed."""

    rows: tuple[Fold, ...] = ()
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class RunDecisions:
    count: int = 0
    #: those that differ from what was requested, and all
    changes: Folds = field(default_factory=Folds)
    every: Folds = field(default_factory=Folds)
    marks: Mapping[Outcome, Sampled[Choice]] = field(default_factory=dict)

    def marked(self, *outcomes: Outcome) -> list[Choice]:
        return [choice for outcome in outcomes if outcome in self.marks for choice in self.marks[outcome].items]


def choice(tick: Tick, start: float) -> Choice:
    before, after = tick.observation.requested, tick.steps[-1].decision.target.executors
    chain = tuple((step.by, step.decision.reason) for step in tick.steps)
    return Choice(round(tick.observation.time - start, 3), before, after, _outcome(after - before, tick.acted), chain)


def _outcome(change: int, acted: bool) -> Outcome:
    if change == 0:
        return "hold"
    if not acted:
        return "advised"
    return "up" if change > 0 else "down"


@dataclass(slots=True)
class Folding:
    """Folds neighbours whose reasons differ in numbers only; decisions that were carried out are never folded.

    >>> folding = Folding()
    >>> for time in (60, 61, 62):
    ...     folding.add(Choice(time, 2, 2, "hold", (("hpa-cpu", f"hold: CPU {time}%"),)))
    >>> [(fold.since, fold.last.time, fold.count) for fold in folding.folds().rows]
    [(60, 62, 3)]
    """

    listed: int = LISTED
    _rows: deque[Fold] = field(default_factory=deque)
    _likeness: object = None
    _earlier: int = 0

    def add(self, choice: Choice) -> None:
        likeness = None if choice.acted else _likeness(choice)
        if likeness is not None and likeness == self._likeness:
            last = self._rows.pop()
            self._rows.append(Fold(last.since, choice, last.count + 1))
        else:
            self._rows.append(Fold(choice.time, choice, 1))
        self._likeness = likeness
        if len(self._rows) > self.listed:
            self._earlier += self._rows.popleft().count

    def folds(self) -> Folds:
        return Folds(tuple(self._rows), self._earlier)


def _likeness(choice: Choice) -> object:
    return choice.before, choice.after, tuple((by, without_numbers(reason)) for by, reason in choice.chain)


@dataclass(slots=True)
class DecisionLog:
    """Takes decisions in their order. Advice does not push decisions that were carried out off the page."""

    _count: int = 0
    _every: Folding = field(default_factory=Folding)
    _acted: Folding = field(default_factory=Folding)
    _advised: Folding = field(default_factory=Folding)
    _marks: dict[Outcome, Sampled[Choice]] = field(default_factory=dict)

    def add(self, choice: Choice) -> None:
        self._count += 1
        if choice.outcome not in self._marks:
            self._marks[choice.outcome] = Sampled(MARKED[choice.outcome])
        self._marks[choice.outcome].add(choice)
        self._every.add(choice)
        if choice.outcome != "hold":
            (self._acted if choice.acted else self._advised).add(choice)

    def decisions(self) -> RunDecisions:
        return RunDecisions(self._count, self._changes(), self._every.folds(), self._marks)

    def _changes(self) -> Folds:
        acted, advised = self._acted.folds(), self._advised.folds()
        room = LISTED - len(acted.rows)
        shown = advised.rows[-room:] if room else ()
        left_out = sum(fold.count for fold in advised.rows) - sum(fold.count for fold in shown)
        rows = sorted((*acted.rows, *shown), key=lambda fold: fold.last.time)
        return Folds(tuple(rows), acted.earlier + advised.earlier + left_out)


def decisions(choices: Iterable[Choice]) -> RunDecisions:
    log = DecisionLog()
    for made in choices:
        log.add(made)
    return log.decisions()
