"""The stored runs as a table that fits into the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from tidegate.cli.figures_text import latency_text
from tidegate.cli.layout import Column, Laid, Line, lay_out, printable
from tidegate.cli.times import age, started

if TYPE_CHECKING:
    from tidegate.store import Run

STYLES = {"running": "cyan", "done": "green", "interrupted": "yellow", "abandoned": "yellow", "failed": "red"}
#: what an attached autoscaler is if all is well, which needs no line of its own
WELL = ("scaling", "monitoring")


@dataclass(frozen=True, slots=True)
class _Field:
    column: Column
    value: Callable[[Run, float], Text | str]


def _mode(run: Run) -> str:
    return run.spec.mode if run.spec.engine == "spark" else "simulated"


def _length(run: Run, now: float) -> str:
    """How long it ran; of a simulated run, the simulated time."""
    if run.spec.engine != "spark":
        return age(run.result.duration if run.result else None)
    if run.status == "running":
        return age(now - run.created)
    last = run.ended or run.seen
    return age(last - run.created if last else run.result.duration if run.result else None)


def _executors(run: Run) -> str:
    figures = run.result.figures if run.result else None
    return "—" if figures is None or figures.workers is None else f"{figures.workers.mean:.1f}"


def _verified(run: Run) -> str:
    return {True: "yes", False: "no", None: "—"}[run.result.verified if run.result else None]


#: in the order in which they are shown; at 80 columns the first seven fit
_FIELDS = (
    _Field(Column("run", right=False), lambda run, now: run.id),
    _Field(Column("started", right=False, drop=1), lambda run, now: started(run.created, now)),
    _Field(Column("length", drop=4), _length),
    _Field(Column("query", right=False, elide=True), lambda run, now: run.spec.job or "—"),
    _Field(Column("policy", right=False, elide=True, drop=3), lambda run, now: run.spec.policy),
    _Field(Column("mode", right=False, drop=2), lambda run, now: _mode(run)),
    _Field(Column("status", right=False), lambda run, now: Text(run.status, STYLES.get(run.status, ""))),
    _Field(Column("workload", right=False, elide=True, drop=7), lambda run, now: run.spec.workload or "—"),
    _Field(
        Column("p95", drop=5),
        lambda run, now: latency_text(run.result.figures.latency if run.result and run.result.figures else None),
    ),
    _Field(Column("executors", drop=6), lambda run, now: _executors(run)),
    _Field(Column("verified", right=False, drop=8), lambda run, now: _verified(run)),
)


def runs_table(runs: Iterable[Run], width: int, now: float | None = None) -> Laid:
    """A line for each run, the oldest first, and below a run that is not well why."""
    at = time.time() if now is None else now
    lines: list[Line] = []
    for run in runs:
        lines.append([field.value(run, at) for field in _FIELDS])
        lines += [Text(f"  {line}", "yellow") for line in _health(run, width - 2)]
    return lay_out([field.column for field in _FIELDS], lines, width)


def _health(run: Run, width: int) -> Sequence[str]:
    """What an attached autoscaler last said of itself, if the run goes on or went wrong, and all is not well."""
    if not run.health or run.status == "done" or run.health in WELL:
        return ()
    return wrap(printable(run.health), max(20, width))
