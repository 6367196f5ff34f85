"""The page of a plan as one HTML file: `page` says what is in it, `html` renders it."""

from __future__ import annotations

from pathlib import Path

from tidegate.report.plan.html import render
from tidegate.report.plan.page import Conditions, CostRow, PlanPage, Spread

__all__ = ["Conditions", "CostRow", "PlanPage", "Spread", "render", "write_plan"]


def write_plan(file: Path, shown: PlanPage) -> Path:
    """Write the page of a plan, with the folders above it where they are missing, and return its path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(shown), encoding="utf-8")
    return file
