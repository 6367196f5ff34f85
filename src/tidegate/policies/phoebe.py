"""`phoebe`: the smallest number of executors with normal latency that recovers in time, according to models fitted to a
profile (ICWS'22).

Algorithm 1, once per evaluation interval E, after the query has run for E without a rescale or the loss of an executor:

    for s in the possible numbers, smallest first:
        R <- D + sum of c(n)                  recovery time (III-B) with the capacity of s, checkpoint I, downtime D
        T <- largest mean of the forecast's averaging bins (III-E)
        take s if R <= target and the latency of (s, T) belongs to the normal cluster
    else the largest number

Capacity is a line through the capacities in the profile, and latency a monotone curve over utilisation
(`capacity.latency` explains why not boosted trees). Both keep learning while the query runs. The released code differs
in two rules. If no number is valid, it takes the larger of the number with the shortest recovery and the number with
the lowest latency (`released_fallback`), and it never scales in by one or two (the guard `dead-band-down`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import Protocol

from tidegate.capacity.latency import LatencyModel
from tidegate.capacity.profile import SHAPES
from tidegate.capacity.recovery import by_terms
from tidegate.core import Decision, Forecast, Limits, Observation, check, hold, parameter, part
from tidegate.policies.entry import Entry
from tidegate.policies.profiled import Profiled

_executors = attrgetter("executors")
#: in the fallback of the released code, values up to this multiple of the best count as equally good
TIE = 1.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """A number of executors with its predicted recovery time and latency, and whether that latency is normal."""

    executors: int
    recovery: float
    latency: float
    normal: bool


class Models(Protocol):
    """Predicts recovery and latency of numbers of executors under a forecast; empty if too little is known."""

    def judge(self, numbers: Iterable[int], ahead: Forecast, rate: float) -> list[Candidate]: ...


@dataclass(slots=True)
class ProfileModels:
    """Phoebe's models M_R and M_L, fitted to a profile."""

    profiled: Profiled
    checkpoint: float
    downtime: float

    def judge(self, numbers: Iterable[int], ahead: Forecast, rate: float) -> list[Candidate]:
        shape = self.profiled.capacity.fitted()
        curve = LatencyModel(self.profiled.capacity.profile, self.profiled.capacity).curve()
        if shape is None:
            return []
        before = self.checkpoint * (self.profiled.outlook.recent(self.checkpoint) or 0.0)
        candidates = []
        for executors in numbers:
            capacity = shape.at(executors)
            recovery = by_terms(capacity, ahead, before, self.downtime)
            expected = curve.at(rate / capacity) if curve and capacity > 0 else None
            # without profiled latencies, only an overload is known not to be normal
            latency, normal = (expected.latency, expected.normal) if expected else (0.0, rate < capacity)
            candidates.append(Candidate(executors, recovery, latency, normal))
        return candidates


@dataclass(slots=True)
class Phoebe:
    """Pass `models` to use other models than those fitted to the profile."""

    limits: Limits = field(default_factory=lambda: Limits(1, 1))
    interval: float = parameter(600.0, "s", "evaluation interval E", above=0)
    horizon: float = parameter(600.0, "s", "how far ahead the forecast goes", above=0)
    bins: int = parameter(4, "", "parts of the forecast, of which the highest mean counts", least=1)
    target_recovery: float = parameter(180.0, "s", "longest acceptable recovery time", above=0)
    checkpoint: float = parameter(10.0, "s", "I: work that is repeated after a failure", least=0)
    downtime: float = parameter(110.0, "s", "D: time to detect a failure and restart", least=0)
    released_fallback: int = parameter(
        0, "", "1: if no number is valid, fall back as the released code does", least=0, most=1
    )
    shape: str = parameter("linear", "", "capacity as a function of executors", choices=tuple(SHAPES))
    profiled: Profiled = part(Profiled)
    models: Models | None = None

    def __post_init__(self) -> None:
        check(self, "policy phoebe")
        self.profiled.capacity = replace(self.profiled.capacity, shape=self.shape)
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
        candidates = self.models.judge(range(self.limits.minimum, self.limits.maximum + 1), ahead, rate)
        if not candidates:
            return hold(obs, "no capacity is known: give a profile, or wait until the query was saturated once")
        return self._choose(rate, candidates)

    def _choose(self, rate: float, candidates: Sequence[Candidate]) -> Decision:
        valid = [candidate for candidate in candidates if self._valid(candidate)]
        best = min(valid, key=_executors) if valid else self._fallback(candidates)
        evidence = {"rate": rate, "recovery": best.recovery, "latency": best.latency}
        outcome = f"{best.executors} recover in {best.recovery:.0f} s with {best.latency:.1f} s latency at {rate:.0f}/s"
        rule = "smallest that is valid" if valid else f"none is valid within {self.target_recovery:g} s"
        return Decision(best.executors, f"{rule}: {outcome}", evidence)

    def _valid(self, candidate: Candidate) -> bool:
        return candidate.recovery <= self.target_recovery and candidate.normal

    def _fallback(self, candidates: Sequence[Candidate]) -> Candidate:
        if not self.released_fallback:
            return max(candidates, key=_executors)
        shortest = min(candidate.recovery for candidate in candidates) * TIE
        lowest = min(candidate.latency for candidate in candidates) * TIE
        by_recovery = min((candidate for candidate in candidates if candidate.recovery <= shortest), key=_executors)
        by_latency = min((candidate for candidate in candidates if candidate.latency <= lowest), key=_executors)
        return max(by_recovery, by_latency, key=_executors)


def projected(ahead: Forecast, bins: int) -> float:
    """The largest mean over equal parts of a forecast.

    >>> projected(Forecast(10, (1.0, 3.0, 5.0, 5.0, 2.0, 2.0)), bins=3)
    5.0
    """
    count = len(ahead.mean)
    parts = min(bins, count)
    edges = [k * count // parts for k in range(parts + 1)]
    means = [sum(ahead.mean[a:b]) / (b - a) for a, b in pairwise(edges)]
    return max(means)


NAMES = {
    "phoebe": Entry("smallest number with normal latency that recovers in time, by a profile", "ICWS'22", Phoebe),
}
