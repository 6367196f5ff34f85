"""The loop: observe, decide, act, as a generator of ticks. It knows four protocols, and neither clock nor engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.core import (
    Clock,
    Decision,
    Engine,
    Guard,
    InvalidInput,
    Limits,
    Observation,
    Policy,
    QueryEnded,
    Step,
    Tick,
    hold,
)
from tidegate.memory import memory, recall
from tidegate.policies.guards.adjustments import spread, stays


@dataclass(slots=True)
class Autoscaler:
    """A policy, the guards that temper it in their order, and limits that always hold."""

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
        wish = self._wish(obs)
        steps = [Step(self.name, wish)]
        for guard in self.guards:
            tempered = _tempered(guard, wish, obs)
            if tempered is not wish and tempered != wish:
                wish = tempered
                steps.append(Step(guard.name, wish))
        bounded = self._bounded(wish)
        if bounded is not None:
            steps.append(Step("limits", bounded))
        return tuple(steps)

    def memory(self) -> dict[str, Any]:
        """What policy and guards have learned, as plain values: one set up the same way can go on from it."""
        return {"policy": memory(self.policy), "guards": [memory(guard) for guard in self.guards]}

    def recall(self, found: Mapping[str, Any]) -> None:
        """Go on from a memory. One that does not fit (other guards, another version) is refused."""
        if len(found["guards"]) != len(self.guards):
            told = f"{len(found['guards'])} guards remembered, {len(self.guards)} here"
            raise InvalidInput(f"a memory does not fit policy {self.name}: {told}")
        recall(self.policy, found["policy"])
        for guard, kept in zip(self.guards, found["guards"], strict=True):
            recall(guard, kept)

    def _wish(self, obs: Observation) -> Decision:
        if obs.processing_rate is None and obs.backlog is None and not obs.per_executor:
            return hold(obs, "the query has reported nothing yet")
        return self.policy.decide(obs)

    def _bounded(self, decision: Decision) -> Decision | None:
        if self.limits.minimum <= decision.executors <= self.limits.maximum:
            return None
        allowed = self.limits.clamp(decision.executors)
        bound = "minimum" if allowed == self.limits.minimum else "maximum"
        shares = spread(decision.per_operator, allowed) if decision.per_operator else None
        return replace(decision, executors=allowed, reason=f"{bound} {allowed}: {decision.reason}", per_operator=shares)


def _tempered(guard: Guard, wish: Decision, obs: Observation) -> Decision:
    """A guard that raises is as good as one that says no: nothing changes, and the reason names it."""
    try:
        return guard.temper(wish, obs)
    except Exception as error:
        return hold(obs, f"the guard {guard.name} failed: {type(error).__name__}: {error}")


def control(
    engine: Engine, autoscaler: Autoscaler, clock: Clock, *, period: float = 1.0, act: bool = True
) -> Iterator[Tick]:
    """Observe every `period` seconds, decide every `autoscaler.interval`, and act if `act`. Ends with the query.

    An exception of a policy or guard does not end the run: it becomes a hold that names it.
    """
    due = -math.inf
    try:
        while True:
            started = clock.now()
            tick = _turn(engine, autoscaler, decide=started >= due, act=act)
            if started >= due:
                due = started + autoscaler.interval
            yield tick
            clock.sleep_until(started + period)
    except QueryEnded:
        return


def _turn(engine: Engine, autoscaler: Autoscaler, *, decide: bool, act: bool) -> Tick:
    obs = engine.observe()
    try:
        autoscaler.observe(obs)
        steps = autoscaler.decide(obs) if decide else ()
    except Exception as error:
        steps = (Step(autoscaler.name, hold(obs, f"the policy failed: {type(error).__name__}: {error}")),)
    wanted = steps[-1].decision if steps else None
    if wanted is None or not act or stays(wanted, obs):
        return Tick(obs, steps)
    engine.scale(wanted)
    return Tick(obs, steps, acted=True)
