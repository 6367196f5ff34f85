"""No scale-in while records are late."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held
from tidegate.policies.lag import trigger_wait


@dataclass(frozen=True, slots=True)
class Late:
    """No scale-in while the latency of the last batch is above `seconds`, the SLO unless another number is given.

    A query that waits for a trigger of that length or longer is late with any number of executors, so that its latency
    is no reason to keep them. Neither is the latency of a last batch after which nothing is left to process.

    >>> slow = Observation(time=0, executors=3, requested=3, latency=27, backlog=5e6)
    >>> Late(seconds=10).temper(Decision(2, "idle"), slow).reason
    'hold: 2 wished (idle), but the last batch was late: its latency is 27 s, more than 10 s'
    """

    seconds: float = 10.0
    name: str = "late"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if wish.executors >= obs.requested or obs.latency is None or obs.latency <= self.seconds:
            return wish
        if trigger_wait(obs) >= self.seconds or (obs.backlog is not None and obs.backlog < 1):
            return wish
        latency = f"its latency is {obs.latency:.0f} s, more than {self.seconds:g} s"
        return held(wish, obs, f"but the last batch was late: {latency}")
