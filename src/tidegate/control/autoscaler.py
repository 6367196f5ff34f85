"""A policy, the guards that temper it in their order, and limits that always hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.control.validity import CONTROL, valid
from tidegate.core import Decision, Guard, InvalidInput, Limits, Observation, Policy, Step, hold
from tidegate.core.levers import rescales
from tidegate.memory import memory, recall
from tidegate.policies.guards.adjustments import spread


@dataclass(slots=True)
class Autoscaler:
    policy: Policy
    limits: Limits
    guards: tuple[Guard, ...] = ()
    name: str = "policy"

    @property
    def interval(self) -> float:
        return self.policy.interval

    def observe(self, obs: Observation) -> None:
        self.policy.observe(obs)

    def decide(self, obs: Observation) -> tuple[Step, ...]:
        """The policy's wish, then one step for each guard that changed it, and the limits last."""
        wish = valid(self._wish(obs))
        steps = [Step(self.name, wish)]
        for guard in self.guards:
            error = None
            try:
                tempered = guard.temper(wish, obs)
                if tempered is not wish:
                    tempered = valid(tempered)
            except CONTROL:
                raise
            except BaseException as raised:  # as good as a guard that says no: nothing changes, and the reason names it
                error = f"{type(raised).__name__}: {raised}"
                tempered = hold(obs, f"the guard {guard.name} failed: {error}")
            if tempered is not wish and tempered != wish:
                wish = tempered
                steps.append(Step(guard.name, wish, error))
        bounded = self._bounded(wish, obs.others)
        if bounded is not None:
            steps.append(Step("limits", bounded))
        if obs.held and rescales(steps[-1].decision.target, obs):
            steps.append(Step("engine", hold(obs, f"{steps[-1].decision.executors} wished, but {obs.held}")))
        return tuple(steps)

    def memory(self) -> dict[str, Any]:
        """What policy and guards have learned, as plain values: one set up the same way can go on from it."""
        return {"policy": memory(self.policy), "guards": [memory(guard) for guard in self.guards]}

    def recall(self, found: Mapping[str, Any]) -> None:
        """Go on from a memory. One that does not fit (other guards, another version) is refused."""
        if len(found["guards"]) != len(self.guards):
            counts = f"{len(found['guards'])} guards remembered, {len(self.guards)} here"
            raise InvalidInput(f"a memory does not fit policy {self.name}: {counts}")
        recall(self.policy, found["policy"])
        for guard, kept in zip(self.guards, found["guards"], strict=True):
            recall(guard, kept)

    def _wish(self, obs: Observation) -> Decision:
        if obs.processing_rate is None and obs.backlog is None and not obs.per_executor:
            return hold(obs, "the query has reported nothing yet")
        return self.policy.decide(obs)

    def _bounded(self, decision: Decision, others: int) -> Decision | None:
        """The limits are those of the application: what its other queries have counts towards them."""
        target, limits = decision.target, self.limits
        if limits.minimum <= target.executors + others <= limits.maximum and target.executors > 0:
            return None
        allowed = max(1, limits.clamp(target.executors + others) - others)
        if allowed == target.executors:
            return None
        bound = "minimum" if allowed > target.executors else "maximum"
        number = limits.minimum if bound == "minimum" else limits.maximum
        shared = f", {others} of them for other queries" if others else ""
        shares = spread(target.per_operator, allowed) if target.per_operator else None
        within = replace(target, executors=allowed, per_operator=shares)
        return Decision(within, f"{bound} {number}{shared}: {decision.reason}", decision.evidence)
