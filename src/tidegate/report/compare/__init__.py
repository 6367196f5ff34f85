"""A comparison of policies as one HTML file: `page` says what is in it, `html` how it looks."""

from __future__ import annotations

from pathlib import Path

from tidegate.report.compare.html import render
from tidegate.report.compare.page import Compared

__all__ = ["Compared", "render", "write"]


def write(comparison: Compared, path: str | Path) -> Path:
    """Write the report of a comparison, making the folders above it, and tell where it is."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(render(comparison), encoding="utf-8")
    return target
