"""Decisions as the report shows them: one by one on a chart, folded in a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from tidegate.core import Tick

Outcome = Literal["up", "down", "hold", "advised"]


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


def choices(ticks: Iterable[Tick], start: float) -> tuple[Choice, ...]:
    return tuple(_choice(tick, start) for tick in ticks if tick.steps)


def _choice(tick: Tick, start: float) -> Choice:
    before, after = tick.observation.requested, tick.steps[-1].decision.target.executors
    chain = tuple((step.by, step.decision.reason) for step in tick.steps)
    return Choice(round(tick.observation.time - start, 3), before, after, _outcome(after - before, tick.acted), chain)


def _outcome(change: int, acted: bool) -> Outcome:
    if change == 0:
        return "hold"
    if not acted:
        return "advised"
    return "up" if change > 0 else "down"


def fold(choices: Sequence[Choice]) -> tuple[Fold, ...]:
    """Fold neighbours whose reasons differ in numbers only; decisions that were carried out are never folded.

    >>> holds = [Choice(t, 2, 2, "hold", (("hpa-cpu", f"hold: CPU {t}%"),)) for t in (60, 61, 62)]
    >>> [(f.since, f.last.time, f.count) for f in fold(holds)]
    [(60, 62, 3)]
    """
    groups = (list(group) for _, group in groupby(enumerate(choices), key=_likeness))
    return tuple(Fold(group[0][1].time, group[-1][1], len(group)) for group in groups)


def _likeness(numbered: tuple[int, Choice]) -> object:
    number, choice = numbered
    if choice.acted:
        return number
    words = tuple((by, re.sub(r"\d+(\.\d+)?", "#", reason)) for by, reason in choice.chain)
    return choice.before, choice.after, words
