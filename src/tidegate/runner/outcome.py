"""What is left of a run when it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: told what the run is doing now
Say = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    run: str
    status: str
    result: dict[str, Any]
