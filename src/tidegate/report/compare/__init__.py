"""The report of a comparison as one HTML file: `page` says what is in it, `html` renders it."""

from __future__ import annotations

from pathlib import Path

from tidegate.compare.results import Comparison
from tidegate.report.compare.html import render

__all__ = ["render", "write"]


def write(comparison: Comparison, path: str | Path) -> Path:
    """Write the report of a comparison, with the folders above it where they are missing, and return its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(render(comparison), encoding="utf-8")
    return target
