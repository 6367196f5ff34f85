"""`phoebe`: the smallest number of executors with a normal latency that recovers in time, by models of a profile
(ICWS'22).

Algorithm 1, once every evaluation interval E, and not before the query has run for E without a rescale or a loss:

    for s in the possible numbers, smallest first:
        R <- D + sum of c(n)                  recovery time (III-B) with the capacity of s, checkpoint I, downtime D
        T <- largest mean of the forecast's averaging bins (III-E)
        take s if R <= target and the latency of (s, T) belongs to the normal cluster
    else the largest number

The capacity is a line through the profile's capacities, latency a monotone curve over utilisation
(`capacity.latency` says why not boosted trees). Both learn on in operation. The released code differs in two rules:
where no number is valid it takes the larger of those with the shortest recovery and the smallest latency
(`released_fallback`), and it never goes down by one or two (the guard `dead-band-down`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from tidegate.capacity.latency import LatencyModel
from tidegate.capacity.recovery import by_terms
from tidegate.core import Decision, Forecast, Limits, Observation, check, hold, parameter, part
from tidegate.policies.profiled import Profiled

#: in the released code's fallback, what is not worse than this is as good
TIE = 1.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """A number of executors, how long it would recover, and its latency: normal, or of an overload."""

    executors: int
    recovery: float
    latency: float
    normal: bool


class Models(Protocol):
    """Judges numbers of executors under a forecast; empty where too little is known."""

    def judge(self, numbers: Iterable[int], ahead: Forecast, rate: float) -> list[Candidate]: ...


@dataclass(slots=True)
class ProfileModels:
    """Phoebe's M_R and M_L over a profile."""

    profiled: Profiled
    checkpoint: float
    downtime: float

    def judge(self, numbers: Iterable[int], ahead: Forecast, rate: float) -> list[Candidate]:
        shape = self.profiled.capacity.fitted()
        curve = LatencyModel(self.profiled.capacity.profile, self.profiled.capacity).curve()
        if shape is None:
            return []
        before = self.checkpoint * (self.profiled.outlook.recent(self.checkpoint) or 0.0)
        found = []
        for executors in numbers:
            capacity = shape.at(executors)
            recovery = by_terms(capacity, ahead, before, self.downtime)
            expected = curve.at(rate / capacity) if curve and capacity > 0 else None
            # where no latency was profiled, only an overload is known to be none of the normal ones
            latency, normal = (expected.latency, expected.normal) if expected else (0.0, rate < capacity)
            found.append(Candidate(executors, recovery, latency, normal))
        return found


@dataclass(slots=True)
class Phoebe:
    """`models` may be given, to judge by others than those of the profile."""

    limits: Limits = field(default_factory=lambda: Limits(1, 1))
    interval: float = parameter(600.0, "s", "evaluation interval E", above=0)
    horizon: float = parameter(600.0, "s", "how far ahead the forecast goes", above=0)
    bins: int = parameter(4, "", "parts of the forecast of which the highest mean counts", least=1)
    target_recovery: float = parameter(180.0, "s", "recovery may take this long", above=0)
    checkpoint: float = parameter(10.0, "s", "I: work that is done again after a failure", least=0)
    downtime: float = parameter(110.0, "s", "D: time to detect a failure and start again", least=0)
    released_fallback: int = parameter(0, "", "1: where no number is valid, the best of either kind", least=0, most=1)
    profiled: Profiled = part(Profiled)
    models: Models | None = None

    def __post_init__(self) -> None:
        check(self, "policy phoebe")
        if self.models is None:
            self.models = ProfileModels(self.profiled, self.checkpoint, self.downtime)

    def observe(self, obs: Observation) -> None:
        self.profiled.observe(obs)

    def decide(self, obs: Observation) -> Decision:
        ahead, settled = self.profiled.ahead(self.horizon), self.profiled.settled(obs.time)
        if ahead is None:
            return hold(obs, "no arrivals seen yet")
        if settled is not None and 0 <= settled < self.interval:
            return hold(obs, f"rescaled or lost an executor {settled:.0f} s ago, evaluated after {self.interval:g} s")
        rate = projected(ahead, self.bins)
        assert self.models is not None
        found = self.models.judge(range(self.limits.minimum, self.limits.maximum + 1), ahead, rate)
        if not found:
            return hold(obs, "no capacity is known: give a profile, or wait until the query was saturated once")
        return self._choose(obs, rate, found)

    def _choose(self, obs: Observation, rate: float, found: Sequence[Candidate]) -> Decision:
        valid = [one for one in found if one.recovery <= self.target_recovery and one.normal]
        best = min(valid, key=lambda one: one.executors) if valid else self._fallback(found)
        evidence = {"rate": rate, "recovery": best.recovery, "latency": best.latency}
        told = f"{best.executors} recover in {best.recovery:.0f} s with {best.latency:.1f} s latency at {rate:.0f}/s"
        rule = "smallest that is valid" if valid else f"none is valid within {self.target_recovery:g} s"
        return Decision(best.executors, f"{rule}: {told}", evidence)

    def _fallback(self, found: Sequence[Candidate]) -> Candidate:
        if not self.released_fallback:
            return max(found, key=lambda one: one.executors)
        quickest = min(one.recovery for one in found) * TIE
        lowest = min(one.latency for one in found) * TIE
        by_recovery = min((one for one in found if one.recovery <= quickest), key=lambda one: one.executors)
        by_latency = min((one for one in found if one.latency <= lowest), key=lambda one: one.executors)
        return max(by_recovery, by_latency, key=lambda one: one.executors)


def projected(ahead: Forecast, bins: int) -> float:
    """The largest mean of equal parts of a forecast.

    >>> projected(Forecast(10, (1.0, 3.0, 5.0, 5.0, 2.0, 2.0)), bins=3)
    5.0
    """
    count = len(ahead.mean)
    parts = min(bins, count)
    edges = [k * count // parts for k in range(parts + 1)]
    means = [sum(ahead.mean[a:b]) / (b - a) for a, b in pairwise(edges)]
    return max(means)
