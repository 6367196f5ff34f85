"""The report of a run as one HTML file: `view` says what is in it, `html` renders it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tidegate.core import Tick
from tidegate.report.html import render
from tidegate.report.view import RunPage, page
from tidegate.store import Run

__all__ = ["RunPage", "page", "render", "write"]


def write(run: Run, ticks: Iterable[Tick], path: str | Path) -> Path:
    """Write the report of a run, with the folders above it where they are missing, and return its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(render(page(run, list(ticks))), encoding="utf-8")
    return target
