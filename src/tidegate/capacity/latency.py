"""Phoebe's latency model: the latency of a number of executors under a rate, and whether it is a normal one.

The paper asks for "multiple regression"; the released code boosts trees of depth 10 on (executors, rate). Trees are
step functions that do not extrapolate: small numbers of executors are profiled at low rates only, so that 2 workers
were predicted (and logged) to need 1.3 s at 178,000/s, five times their capacity. Here latency is a function of
utilisation, rate over capacity, that never falls: fewer executors or more records cannot promise less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidegate.capacity.profile import SHORTEST, Profile
from tidegate.core import CapacityModel, ProfilePoint


@dataclass(frozen=True, slots=True)
class Expected:
    """Seconds; not `normal` where overload is to be expected, and where nobody has measured."""

    latency: float
    normal: bool


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """Latency by utilisation: straight lines, in the logarithm of latency, through measured levels that never fall.

    >>> curve = LatencyCurve(utilisation=(0.5, 0.9, 1.1), latency=(1.0, 4.0, 64.0), normal_until=8.0)
    >>> round(curve.at(0.7).latency, 6), curve.at(0.7).normal  # half way: sqrt(1 * 4)
    (2.0, True)
    >>> curve.at(0.1), curve.at(1.0).normal, curve.at(2.0).normal
    (Expected(latency=1.0, normal=True), False, False)
    """

    utilisation: tuple[float, ...]
    latency: tuple[float, ...]
    #: the latency between the clusters; infinite where there is one
    normal_until: float

    def at(self, utilisation: float) -> Expected:
        logs = np.interp(utilisation, self.utilisation, np.log(self.latency))
        latency = math.exp(logs)
        measured = utilisation <= self.utilisation[-1] and utilisation < 1
        return Expected(latency, measured and latency <= self.normal_until)


@dataclass(slots=True)
class LatencyModel:
    """Latency from the unsaturated points of a profile, by utilisation under any model of capacity.

    More executors never predict more latency where capacity never falls with them. `update` only keeps the point; a
    prediction makes the curve anew, so ask for `curve()` once where there are many candidates.

    >>> from tidegate.capacity.profile import ProfileCapacity
    >>> measured = [(50, 1.0, False), (90, 2.0, False), (99, 40.0, False), (100, 900.0, True)]
    >>> profile = Profile.of(ProfilePoint(1, *point) for point in measured)
    >>> model = LatencyModel(profile, ProfileCapacity(profile))
    >>> model.predict(2, 100), model.predict(2, 198).normal
    (Expected(latency=1.0, normal=True), False)
    """

    profile: Profile
    capacity: CapacityModel

    def update(self, point: ProfilePoint) -> None:
        self.profile.add(point)

    def predict(self, executors: int, rate: float) -> Expected | None:
        """None where nothing was measured, or the capacity of so many executors is unknown."""
        capacity, curve = self.capacity.capacity(executors), self.curve()
        return curve.at(rate / capacity) if capacity and curve else None

    def curve(self) -> LatencyCurve | None:
        points = [p for p in self.profile.points if not p.saturated]
        capacities = {executors: self.capacity.capacity(executors) for executors in {p.executors for p in points}}
        levels = [
            (p.rate / capacity, math.log(max(p.latency, SHORTEST)))
            for p in points
            if (capacity := capacities[p.executors])
        ]
        if not levels:
            return None
        utilisation, logs = zip(*monotone(levels), strict=True)
        return LatencyCurve(utilisation, tuple(math.exp(log) for log in logs), self.profile.normal_until())


def monotone(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The never falling function of x nearest to y in squares, as the ends of its level pieces (pool adjacent
    violators: neighbours that fall become their mean, until none does).

    >>> monotone([(1, 1.0), (2, 6.0), (3, 2.0), (4, 8.0)])
    [(1, 1.0), (2, 4.0), (3, 4.0), (4, 8.0)]
    """
    pools: list[tuple[float, float, float, int]] = []  # first x, last x, sum of y, how many
    for x, y in sorted(points):
        first, last, total, count = x, x, y, 1
        while pools and (pools[-1][1] == first or pools[-1][2] / pools[-1][3] >= total / count):
            before = pools.pop()
            first, total, count = before[0], total + before[2], count + before[3]
        pools.append((first, last, total, count))
    ends = [((first, total / count), (last, total / count)) for first, last, total, count in pools]
    return [end for pair in ends for end in (pair if pair[0] != pair[1] else pair[:1])]
