"""No rescale for a small change, measured as a share of the executors or as a number."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import change, held, stays


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Ignore wishes that differ from the requested number by less than a share of it (Kubernetes: 0.1 of the metric).

    If workers move between operators, the number of workers that move is the difference.

    >>> Tolerance(0.1).temper(Decision(21, "busy"), Observation(time=0, executors=20, requested=20)).reason
    'hold: 21 wished (busy), but that is less than 10 % from 20'
    >>> Tolerance(0.1).temper(Decision(22, "busy"), Observation(time=0, executors=20, requested=20)).executors
    22
    """

    share: float = 0.1
    name: str = "tolerance"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        # rounded, because 0.1 * 30 must not be above 3
        if stays(wish, obs) or max(change(wish, obs)) >= round(self.share * obs.requested, 9):
            return wish
        return held(wish, obs, f"but that is less than {100 * self.share:g} % from {obs.requested}")


@dataclass(frozen=True, slots=True)
class DeadBand:
    """No scale-in by `down` executors or fewer, and no scale-out by `up` or fewer (Phoebe: 2 and 0).

    Idle executors within the band are never removed: with a band of 2, three of them never become one.

    >>> guard, five = DeadBand(down=2), Observation(time=0, executors=5, requested=5)
    >>> [guard.temper(Decision(wish, "load"), five).executors for wish in (2, 3, 4, 5, 6)]
    [2, 5, 5, 5, 6]
    """

    down: int = 2
    up: int = 0
    name: str = "dead-band"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        step = wish.executors - obs.requested
        if not (-self.down <= step < 0 or 0 < step <= self.up):
            return wish
        band = f"{self.up} more" if step > 0 else f"{self.down} fewer"
        return held(wish, obs, f"but steps of up to {band} than {obs.requested} are not taken")
