"""Sinks that need nothing but memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidegate.core import Tick


@dataclass(slots=True)
class KeptTicks:
    """Keeps every tick, for those who look at a run afterwards."""

    name: str = "ticks"
    ticks: list[Tick] = field(default_factory=list)

    def take(self, tick: Tick) -> None:
        self.ticks.append(tick)


@dataclass(frozen=True, slots=True)
class Callback:
    """Hands every tick to a function."""

    call: Callable[[Tick], None]
    name: str = "callback"

    def take(self, tick: Tick) -> None:
        self.call(tick)
