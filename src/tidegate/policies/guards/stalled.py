"""No scale-in by the figures of executors that do not respond."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held

#: executors that a reason names
NAMED = 3


@dataclass(frozen=True, slots=True)
class Stalled:
    """No scale-in while an executor is stalled: it shows no CPU and no rate, but it is not idle.

    >>> from tidegate.core import ExecutorSample
    >>> frozen = Observation(0, 3, 3, per_executor=(ExecutorSample("0", cpu=0.9), ExecutorSample("7", stalled=True)))
    >>> Stalled().temper(Decision(2, "CPU 45%"), frozen).reason
    'hold: 2 wished (CPU 45%), but executor 7 does not respond, and its figures are not those of an idle one'
    """

    name: str = "stalled"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if wish.executors >= obs.requested:
            return wish
        ids = [executor.id for executor in obs.per_executor if executor.stalled]
        if not ids:
            return wish
        if len(ids) == 1:
            what = f"executor {ids[0]} does not respond, and its figures are not those of an idle one"
        else:
            names = ", ".join(ids[:NAMED]) + (" …" if len(ids) > NAMED else "")
            what = f"{len(ids)} executors ({names}) do not respond, and their figures are not those of idle ones"
        return held(wish, obs, f"but {what}")
