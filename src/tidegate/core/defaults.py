"""Default locations."""

from __future__ import annotations

from pathlib import Path

#: store for runs from the command line and attached queries, relative to the working directory
STORE = Path(".tidegate") / "tidegate.db"
