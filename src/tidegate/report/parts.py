"""Small values that every page has: facts, badges, notices, legends and the rows of tooltips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tidegate.report.looks import Look, Mark

#: colours of badges and notices, by their names in the style sheet
Tone = Literal["good", "plain", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled text. `note` is shown below it in smaller type, and `at` as a date (seconds since 1970)."""

    label: str
    value: str
    note: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Badge:
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that the reader has to see before anything else."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """Explains either a line (`look`) or a sign (`mark`) of a chart."""

    name: str
    look: Look | None = None
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class TooltipRow:
    """The value of one column of a chart's data source. A row without a colour has no square before its name.

    `policy` is the key of the policy that the row belongs to: it disappears together with the policy's curves.
    """

    column: str
    name: str = ""
    colour: str = ""
    policy: str = ""
