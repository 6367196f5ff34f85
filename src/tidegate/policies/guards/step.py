"""How far one step may go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import moved, parallelisms, shared


@dataclass(frozen=True, slots=True)
class StepLimit:
    """At most `up` more or `factor` times as many at once, whichever is more; at most the share `down` fewer.

    Kubernetes: max(4, double) up, 100 % down. 0 is no limit: for `up` and `factor` if both are. A step of one executor
    is always possible, or a small share of few executors would be none. Where operators are isolated, each takes steps
    of its own (DEBS'24: 15 more for each operator).

    >>> StepLimit(up=4).temper(Decision(20, "busy"), Observation(time=0, executors=2, requested=2)).reason
    '6 for now: 20 wished (busy), but a step from 2 goes to 6 at most'
    """

    up: int = 4
    factor: float = 2.0
    down: float = 1.0
    name: str = "step"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if obs.isolated and wish.per_operator:
            return self._by_operator(wish, wish.per_operator, obs)
        stepped = self._stepped(wish.executors, obs.requested)
        if stepped == wish.executors:
            return wish
        return moved(wish, obs, stepped, f"but a step {_rule(obs.requested, wish.executors, stepped)}")

    def _by_operator(self, wish: Decision, shares: Mapping[str, int], obs: Observation) -> Decision:
        now = parallelisms(obs)
        stepped = {name: self._stepped(share, now.get(name, share)) for name, share in shares.items()}
        if stepped == shares:
            return wish
        rules = [f"{name} {_rule(now[name], shares[name], n)}" for name, n in stepped.items() if n != shares[name]]
        return shared(wish, obs, stepped, f"but in a step {', '.join(rules)}")

    def _stepped(self, wanted: int, now: int) -> int:
        if wanted > now and (self.up or self.factor):
            return min(wanted, max(now + self.up, math.floor(now * self.factor), now + 1))
        if wanted < now and self.down:
            # 10 x (1 - 0.9) must not come out above 1
            return max(wanted, min(math.ceil(round(now * (1 - self.down), 9)), now - 1))
        return wanted


def _rule(now: int, wanted: int, stepped: int) -> str:
    return f"from {now} goes to {stepped} at {'most' if wanted > stepped else 'least'}"
