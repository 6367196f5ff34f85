"""Phoebe's latency model: expected latency by number of executors and rate, and whether it is normal.

The paper asks for "multiple regression"; the released code uses gradient-boosted trees of depth 10 on (executors,
rate). Trees are step functions and do not extrapolate. Small numbers of executors are profiled at low rates only, so
that 2 workers were predicted (and logged) to have a latency of 1.3 s at 178,000/s, five times their capacity. Here
latency is a non-decreasing function of utilisation, rate / capacity: with fewer executors or more records the predicted
latency is never lower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidegate.capacity.profile import SHORTEST, Profile
from tidegate.core import CapacityModel, ProfilePoint


@dataclass(frozen=True, slots=True)
class LatencyPrediction:
    """Seconds. `normal` is False if overload is expected, and outside the measured range."""

    latency: float
    normal: bool


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """Latency by utilisation: log-linear interpolation between non-decreasing measured levels.

    >>> curve = LatencyCurve(utilisation=(0.5, 0.9, 1.1), latency=(1.0, 4.0, 64.0), normal_until=8.0)
    >>> round(curve.at(0.7).latency, 6), curve.at(0.7).normal  # half way: sqrt(1 * 4)
    (2.0, True)
    >>> curve.at(0.1), curve.at(1.0).normal, curve.at(2.0).normal
    (LatencyPrediction(latency=1.0, normal=True), False, False)
    """

    utilisation: tuple[float, ...]
    latency: tuple[float, ...]
    #: boundary between normal and overload latencies; infinite if there is a single cluster
    normal_until: float

    def at(self, utilisation: float) -> LatencyPrediction:
        log_latency = np.interp(utilisation, self.utilisation, np.log(self.latency))
        latency = math.exp(log_latency)
        measured = utilisation <= self.utilisation[-1] and utilisation < 1
        return LatencyPrediction(latency, measured and latency <= self.normal_until)


@dataclass(slots=True)
class LatencyModel:
    """Latency by utilisation, fitted to the unsaturated points of a profile, with any capacity model.

    If capacity does not decrease with executors, adding executors never increases the predicted latency.
    `predict` builds the curve on every call; use `curve()` to evaluate many candidates.

    >>> from tidegate.capacity.profile import ProfileCapacity
    >>> measured = [(50, 1.0, False), (90, 2.0, False), (99, 40.0, False), (100, 900.0, True)]
    >>> profile = Profile.of(ProfilePoint(1, *point) for point in measured)
    >>> model = LatencyModel(profile, ProfileCapacity(profile))
    >>> model.predict(2, 100), model.predict(2, 198).normal
    (LatencyPrediction(latency=1.0, normal=True), False)
    """

    profile: Profile
    capacity: CapacityModel

    def update(self, point: ProfilePoint) -> None:
        self.profile.add(point)

    def predict(self, executors: int, rate: float) -> LatencyPrediction | None:
        """None if nothing was measured, or the capacity of that many executors is unknown."""
        capacity, curve = self.capacity.capacity(executors), self.curve()
        return curve.at(rate / capacity) if capacity and curve else None

    def curve(self) -> LatencyCurve | None:
        """None if no unsaturated point has a known capacity."""
        points = [p for p in self.profile.points if not p.saturated]
        capacities = {executors: self.capacity.capacity(executors) for executors in {p.executors for p in points}}
        levels = [
            (p.rate / capacity, math.log(max(p.latency, SHORTEST)))
            for p in points
            if (capacity := capacities[p.executors])
        ]
        if not levels:
            return None
        utilisation, logs = zip(*isotonic(levels), strict=True)
        return LatencyCurve(utilisation, tuple(math.exp(log) for log in logs), self.profile.normal_until())


def isotonic(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Isotonic regression: the non-decreasing function of x closest to y in least squares, by its constant pieces.

    Pool adjacent violators (Barlow et al. 1972). Returns both ends of each piece.

    >>> isotonic([(1, 1.0), (2, 6.0), (3, 2.0), (4, 8.0)])
    [(1, 1.0), (2, 4.0), (3, 4.0), (4, 8.0)]
    """
    pools: list[tuple[float, float, float, int]] = []  # first x, last x, sum of y, count
    for x, y in sorted(points):
        first, last, total, count = x, x, y, 1
        while pools and (pools[-1][1] == first or pools[-1][2] / pools[-1][3] >= total / count):
            previous = pools.pop()
            first, total, count = previous[0], total + previous[2], count + previous[3]
        pools.append((first, last, total, count))
    ends = [((first, total / count), (last, total / count)) for first, last, total, count in pools]
    return [end for pair in ends for end in (pair if pair[0] != pair[1] else pair[:1])]
