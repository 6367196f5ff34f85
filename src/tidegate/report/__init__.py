"""The report of a run as one HTML file: `view` says what is in it, `html` renders it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tidegate.core import Tick
from tidegate.report.html import render
from tidegate.report.view import RunPage, page
from tidegate.store import Run

__all__ = ["RunPage", "page", "render", "ticks_needed", "write"]

#: ticks that are worth reading to draw a run: charts show half as many points
TICKS = 4_000


def ticks_needed(run: Run) -> int | None:
    """How many ticks a report needs, for `Store.ticks(run, at_most=…)`; None for all, as of a run that has no figures
    and has to be scored: ticks that were folded to draw them would give wrong ones.
    """
    return None if run.result is None or run.result.figures is None else TICKS


def write(run: Run, ticks: Iterable[Tick], path: str | Path) -> Path:
    """Write the report of a run, with the folders above it where they are missing, and return its path.

    The ticks are read once and not kept.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(render(page(run, ticks)), encoding="utf-8")
    return target
