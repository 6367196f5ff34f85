"""Limits the size of a single rescale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.core import Decision, Observation
from tidegate.core.levers import parallelisms
from tidegate.policies.guards.adjustments import moved, shared


@dataclass(frozen=True, slots=True)
class StepLimit:
    """Scale out by at most `up` executors or to `factor` times as many, whichever is more, and scale in by at most the
    share `down`.

    Kubernetes: max(4, double) up, 100 % down. A `down` of 0 means no limit, as does 0 for both `up` and `factor`. A
    step of one executor is always allowed, because a small share of few executors would be none. Isolated operators
    take their own steps (DEBS'24: 15 more for each operator).

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

    def _stepped(self, target: int, now: int) -> int:
        if target > now and (self.up or self.factor):
            return min(target, max(now + self.up, math.floor(now * self.factor), now + 1))
        if target < now and self.down:
            # rounded, because 10 * (1 - 0.9) must not be above 1
            return max(target, min(math.ceil(round(now * (1 - self.down), 9)), now - 1))
        return target


def _rule(now: int, target: int, stepped: int) -> str:
    return f"from {now} goes to {stepped} at {'most' if target > stepped else 'least'}"
