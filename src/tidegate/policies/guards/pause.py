"""Scaling that is switched off by the user."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import Decision, InvalidInput, Observation
from tidegate.policies.guards.adjustments import held, stays

CHOICES = ("none", "in", "out", "both")


@dataclass(frozen=True, slots=True)
class Pause:
    """No scale-in ("in"), no scale-out ("out"), or no change at all ("both"), like KEDA's annotations.

    >>> Pause("in").temper(Decision(1, "idle"), Observation(time=0, executors=4, requested=4)).reason
    'hold: 1 wished (idle), but scaling in is paused'
    """

    what: str = "both"
    name: str = "pause"

    def __post_init__(self) -> None:
        if self.what not in CHOICES:
            raise InvalidInput(f"guard pause: need one of {', '.join(CHOICES)}, got {self.what!r}")

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if self.what == "both" and not stays(wish, obs):
            return held(wish, obs, "but scaling is paused")
        if self.what == "in" and wish.executors < obs.requested:
            return held(wish, obs, "but scaling in is paused")
        if self.what == "out" and wish.executors > obs.requested:
            return held(wish, obs, "but scaling out is paused")
        return wish
