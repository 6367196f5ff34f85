"""An engine and a scaler that are never waited for longer than a limit."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate.control import Autoscaler
from tidegate.core import Decision, Engine, Lever, Observation, Step
from tidegate.supervision.patience import Patience


class PatientEngine:
    """An engine whose calls time out. Both calls share a thread, as a driver that hangs answers neither."""

    def __init__(self, engine: Engine, limit: float) -> None:
        self._engine = engine
        self._patience = Patience("engine", limit)
        #: what was observed and not taken yet: more than one if a call returned after it was left behind
        self._observed: deque[Observation] = deque()

    @property
    def levers(self) -> frozenset[Lever]:
        return self._engine.levers

    def observe(self) -> Observation:
        """The current state, with the batches and events of a call that was left behind and has returned since."""
        self._patience.call(lambda: self._observed.append(self._engine.observe()))
        obs = self._observed.pop()
        while self._observed:
            earlier = self._observed.pop()
            obs = replace(obs, batches=(*earlier.batches, *obs.batches), events=(*earlier.events, *obs.events))
        return obs

    def scale(self, decision: Decision) -> None:
        self._patience.call(lambda: self._engine.scale(decision))

    def close(self) -> None:
        self._patience.close()


class PatientScaler:
    """An autoscaler that times out: a policy that hangs is left behind, and the loop holds until it returns."""

    def __init__(self, scaler: Autoscaler, limit: float) -> None:
        self._scaler = scaler
        self._patience = Patience("policy", limit)

    @property
    def name(self) -> str:
        return self._scaler.name

    @property
    def interval(self) -> float:
        return float(self._scaler.interval)

    def observe(self, obs: Observation) -> None:
        self._patience.call(lambda: self._scaler.observe(obs))

    def decide(self, obs: Observation) -> tuple[Step, ...]:
        steps = self._patience.call(lambda: self._scaler.decide(obs))
        return tuple(_with_finite_evidence(step) for step in steps)

    def memory(self) -> dict[str, Any] | None:
        """What the policy has learned; None while it hangs, as it may be halfway through an update."""
        return None if self._patience.hangs else self._patience.call(self._scaler.memory)

    def close(self) -> None:
        self._patience.close()


def _with_finite_evidence(step: Step) -> Step:
    """Evidence is stored as JSON, which has no NaN and no objects of a policy's own."""
    evidence = step.decision.evidence
    if not evidence:
        return step
    finite = _finite(evidence) if isinstance(evidence, Mapping) else {}
    if finite == evidence:
        return step
    decision = step.decision
    return replace(step, decision=Decision(decision.target, decision.reason, finite))


def _finite(evidence: Mapping[str, float]) -> dict[str, float]:
    numbers = {str(name): value for name, value in evidence.items() if isinstance(value, int | float)}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}
