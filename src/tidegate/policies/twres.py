"""`twres`: the smallest number of executors that can process the load forecast for the next time window (a baseline in
Phoebe's paper, IV-C; based on work on Spark streaming).

MST(s) is the largest sustainable rate of s executors, c0 + c1 s + c2/s + c3/s² with non-negative coefficients fitted to
a profile. The load of a window is the sum of its forecast:

    load >= MST(current) * window: the smallest s with MST(s) * window > load, else the largest MST
    else, if the mean latency is above its limit: one more
    else: the smallest s with MST(s) * window > load

The backlog is not considered: records that are already waiting are not part of the load. On Spark a record always waits
for its trigger, so the latency limit applies to the latency beyond that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.capacity.profile import SHAPES
from tidegate.capacity.recovery import expected_records
from tidegate.capacity.shapes import Shape
from tidegate.core import Decision, Limits, Observation, check, hold, parameter, part
from tidegate.policies.entry import Entry
from tidegate.policies.profiled import Profiled


@dataclass(slots=True)
class Twres:
    limits: Limits = field(default_factory=lambda: Limits(1, 1))
    interval: float = parameter(600.0, "s", "evaluation interval", above=0)
    window: float = parameter(600.0, "s", "time window for which the load is forecast", above=0)
    latency_limit: float = parameter(2.0, "s", "mean latency beyond the trigger above which one is added", above=0)
    shape: str = parameter("reciprocal", "", "capacity as a function of executors", choices=tuple(SHAPES))
    profiled: Profiled = part(Profiled)

    def __post_init__(self) -> None:
        check(self, "policy twres")
        self.profiled.capacity = replace(self.profiled.capacity, shape=self.shape)

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
        load = expected_records(ahead, 0.0, self.window)
        return self._choose(obs, load, shape)

    def _choose(self, obs: Observation, load: float, shape: Shape) -> Decision:
        current, least = obs.requested, self._least(load, shape)
        latency = self._beyond_trigger(obs)
        evidence = {"load": load, "capacity": shape.at(current) * self.window, "latency": latency or 0.0}
        expected = f"{load:.0f} records expected in {self.window:g} s"
        if load < evidence["capacity"] and latency is not None and latency > self.latency_limit:
            reason = f"latency {latency:.1f} s beyond the trigger is above {self.latency_limit:g} s"
            return Decision(min(current + 1, self.limits.maximum), f"{reason}: one more", evidence)
        return Decision(least, f"{expected}: {least} can do {shape.at(least) * self.window:.0f}", evidence)

    def _least(self, load: float, shape: Shape) -> int:
        numbers = range(self.limits.minimum, self.limits.maximum + 1)
        enough = (n for n in numbers if shape.at(n) * self.window > load)
        return next(enough, max(numbers, key=shape.at))

    def _beyond_trigger(self, obs: Observation) -> float | None:
        latency = self.profiled.latency
        return None if latency is None else max(0.0, latency - (obs.trigger or 0.0))


NAMES = {
    "twres": Entry("smallest number for the load forecast in a time window, by a profile", "ICWS'22 IV-C", Twres),
}
