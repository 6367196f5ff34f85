"""`twres`: the smallest number of executors that can do what is forecast for the next time window (a baseline of
Phoebe's paper, IV-C; after work on Spark streaming).

With MST(s) the largest sustainable rate of s executors, c0 + c1 s + c2/s + c3/s² fitted to a profile with coefficients
of at least 0, and the load of a window the sum of its forecast:

    load >= MST(current) * window: the smallest s with MST(s) * window > load, else the largest MST
    else, if the mean latency is above its limit: one more
    else: the smallest s with MST(s) * window > load

It knows no backlog: records that wait already are not in the load. On Spark a record waits for its trigger in any
case, so the limit is for what comes on top of that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.capacity.recovery import offered
from tidegate.capacity.shapes import Shape
from tidegate.core import Decision, Limits, Observation, check, hold, parameter, part
from tidegate.policies.profiled import Profiled


@dataclass(slots=True)
class Twres:
    limits: Limits = field(default_factory=lambda: Limits(1, 1))
    interval: float = parameter(600.0, "s", "evaluation interval", above=0)
    window: float = parameter(600.0, "s", "of which the load is forecast", above=0)
    latency_limit: float = parameter(2.0, "s", "mean latency beyond the trigger from which one more is taken", above=0)
    profiled: Profiled = part(Profiled)

    def __post_init__(self) -> None:
        check(self, "policy twres")
        self.profiled.capacity = replace(self.profiled.capacity, shape="reciprocal")

    def observe(self, obs: Observation) -> None:
        self.profiled.observe(obs)

    def decide(self, obs: Observation) -> Decision:
        ahead, settled = self.profiled.ahead(self.window), self.profiled.settled(obs.time)
        shape = self.profiled.capacity.fitted()
        if ahead is None:
            return hold(obs, "no arrivals seen yet")
        if shape is None:
            return hold(obs, "no capacity is known: give a profile, or wait until the query was saturated once")
        if settled is not None and 0 <= settled < self.interval:
            return hold(obs, f"rescaled or lost an executor {settled:.0f} s ago, evaluated after {self.interval:g} s")
        load = offered(ahead, 0.0, self.window)
        return self._choose(obs, load, shape)

    def _choose(self, obs: Observation, load: float, shape: Shape) -> Decision:
        current, least = obs.requested, self._least(load, shape)
        latency = self._beyond_trigger(obs)
        evidence = {"load": load, "capacity": shape.at(current) * self.window, "latency": latency or 0.0}
        told = f"{load:.0f} records expected in {self.window:g} s"
        if load < evidence["capacity"] and latency is not None and latency > self.latency_limit:
            reason = f"latency {latency:.1f} s beyond the trigger is above {self.latency_limit:g} s"
            return Decision(min(current + 1, self.limits.maximum), f"{reason}: one more", evidence)
        return Decision(least, f"{told}: {least} can do {shape.at(least) * self.window:.0f}", evidence)

    def _least(self, load: float, shape: Shape) -> int:
        numbers = range(self.limits.minimum, self.limits.maximum + 1)
        enough = (n for n in numbers if shape.at(n) * self.window > load)
        return next(enough, max(numbers, key=shape.at))

    def _beyond_trigger(self, obs: Observation) -> float | None:
        latency = self.profiled.latency
        return None if latency is None else max(0.0, latency - (obs.trigger or 0.0))
