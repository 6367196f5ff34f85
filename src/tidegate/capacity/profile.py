"""Profiles: measurements of rate and latency by number of executors, and the capacity model fitted to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from tidegate.capacity.shapes import Linear, Points, Reciprocal, Shape
from tidegate.capacity.usl import Usl
from tidegate.core import Observation, ProfilePoint, check, parameter

SHAPES: Mapping[str, Callable[[Points], Shape]] = {
    "linear": Linear.fit,
    "reciprocal": Reciprocal.fit,
    "usl": Usl.fit,
}

#: smallest ratio of the means of two latency clusters: Phoebe's relative distance of 2
SEPARATION = 3.0
#: seconds; latencies are clipped to it before the logarithm is taken
SHORTEST = 0.001


def normal_until(latencies: Iterable[float], separation: float = SEPARATION) -> float:
    """The boundary between normal and overload latencies; infinite if there is only one cluster.

    The logarithms are split into two clusters with the least sum of squares. In one dimension this is exact: every cut
    of the sorted values is tried. The split counts only if the geometric means differ by a factor of `separation`.

    >>> normal_until([1.0, 1.0, 1.0, 16.0]), normal_until([1.0, 1.2, 2.0])
    (4.0, inf)
    """
    logs = np.log(np.maximum(np.sort(np.fromiter(latencies, dtype=float)), SHORTEST))
    if logs.size < 2:
        return math.inf
    sizes = np.arange(1, logs.size)
    sums = np.cumsum(logs)
    low, high = sums[:-1] / sizes, (sums[-1] - sums[:-1]) / (logs.size - sizes)
    # maximising the sum of squares between the clusters minimises the one within
    cut = int(np.argmax(sizes * (logs.size - sizes) * (high - low) ** 2))
    separated = high[cut] - low[cut] >= math.log(separation) - 1e-12
    return float(np.exp((low[cut] + high[cut]) / 2)) if separated else math.inf


@dataclass(slots=True)
class Profile:
    """A bounded set of points. A new point replaces one with as many executors and nearly the same rate.

    Of saturated points, whose rate is a measured capacity, the last `repeats` are kept per number of executors. When
    the profile is full, the oldest unsaturated point is dropped.

    >>> profile = Profile.of([ProfilePoint(2, 100, 1.0), ProfilePoint(2, 101, 3.0), ProfilePoint(2, 180, 9.0, True)])
    >>> [p.latency for p in profile.points], profile.capacities()
    ([3.0, 9.0], {2: 180})
    """

    limit: int = parameter(500, "", "maximum number of points", least=1)
    near: float = parameter(0.02, "share", "relative difference up to which two rates are the same", least=0)
    repeats: int = parameter(5, "", "saturated points kept per number of executors", least=1)
    #: replaced, never modified in place, so that a cached result can be checked by identity
    _points: tuple[ProfilePoint, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check(self, "profile")

    @classmethod
    def of(cls, points: Iterable[ProfilePoint]) -> Profile:
        profile = cls()
        for point in points:
            profile.add(point)
        return profile

    @property
    def points(self) -> tuple[ProfilePoint, ...]:
        """Oldest first."""
        return self._points

    def add(self, point: ProfilePoint) -> None:
        points = list(self._points)
        same = [k for k, old in enumerate(points) if self._same(old, point)]
        if len(same) >= (self.repeats if point.saturated else 1):
            del points[same[0]]
        elif len(points) >= self.limit:
            del points[next((k for k, old in enumerate(points) if not old.saturated), 0)]
        self._points = (*points, point)

    def _same(self, old: ProfilePoint, new: ProfilePoint) -> bool:
        if old.executors != new.executors or old.saturated != new.saturated:
            return False
        return new.saturated or abs(new.rate - old.rate) <= self.near * new.rate

    def normal_until(self) -> float:
        """Excludes saturated points: their latency is the age of the backlog they were measured with."""
        return normal_until(p.latency for p in self._points if not p.saturated)

    def capacities(self) -> dict[int, float]:
        """Records per second by number of executors, where known.

        The median of the saturated rates. Without any, the highest rate with a normal latency, provided that another
        rate had an overload latency; otherwise the measured rates say nothing about the limit.
        """
        normal = self.normal_until()
        by_executors: dict[int, list[ProfilePoint]] = {}
        for point in self._points:
            by_executors.setdefault(point.executors, []).append(point)
        capacities = {executors: _capacity(by_executors[executors], normal) for executors in sorted(by_executors)}
        return {executors: rate for executors, rate in capacities.items() if rate > 0}


def _capacity(points: Sequence[ProfilePoint], normal: float) -> float:
    saturated_rates = [p.rate for p in points if p.saturated]
    normal_rates = [p.rate for p in points if not p.saturated and p.latency <= normal]
    if saturated_rates:
        return median(saturated_rates)
    overloaded = len(points) > len(normal_rates)
    return max(normal_rates, default=0.0) if overloaded else 0.0


@dataclass(slots=True)
class ProfileCapacity:
    """A capacity model: a shape fitted to the capacities of a profile, which saturation in operation extends.

    A saturated query processes at its capacity: every `settle` seconds of saturation with unchanged executors add a
    saturated point. `saturated` defines saturation; `waiting` is its threshold.

    >>> model = ProfileCapacity(Profile.of([ProfilePoint(2, 30.0, 9.0, True), ProfilePoint(4, 50.0, 9.0, True)]))
    >>> model.capacity(3)
    40.0
    """

    profile: Profile = field(default_factory=Profile)
    shape: str = parameter("linear", "", "capacity as a function of executors", choices=tuple(SHAPES))
    settle: float = parameter(30.0, "s", "duration of saturation that adds a point", least=0)
    waiting: float = parameter(2.0, "cycles", "backlog above which a query may be saturated", least=0)
    _since: float | None = None
    _executors: int | None = None
    #: cache: the points that a shape was fitted to, and the shape
    memo: tuple[tuple[ProfilePoint, ...], Shape | None] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check(self, "profile capacity")

    def update(self, obs: Observation) -> None:
        steady = obs.executors == obs.requested == self._executors
        self._executors = obs.executors
        if obs.executors < 1 or not saturated(obs, self.waiting):
            self._since = None
        elif self._since is None or not steady:
            self._since = obs.time
        elif obs.time - self._since >= self.settle:
            self._since = obs.time
            rate, backlog = obs.processing_rate or 0.0, obs.backlog or 0.0
            latency = obs.latency if obs.latency is not None else backlog / rate
            self.profile.add(ProfilePoint(obs.executors, rate, latency, saturated=True))

    def fitted(self) -> Shape | None:
        """The shape fitted to the current profile; None if no capacity is known."""
        if self.memo is None or self.memo[0] is not self.profile.points:
            points = list(self.profile.capacities().items())
            self.memo = self.profile.points, SHAPES[self.shape](points) if points else None
        return self.memo[1]

    def capacity(self, executors: int) -> float | None:
        shape = self.fitted()
        return None if shape is None else shape.at(executors)


def saturated(obs: Observation, waiting: float = 2.0) -> bool:
    """Whether a query is saturated, so that `obs.processing_rate` is its capacity.

    True if the backlog exceeds `waiting` cycles' worth of records (in any case one batch is processed while the next
    accumulates), and either batches run back to back or more records arrive than are processed. The second condition
    covers a limit per trigger, which leaves pauses even in overload. An unknown trigger counts as 5 s.

    >>> saturated(Observation(0, 2, 2, arrival_rate=90, processing_rate=80, backlog=1000, trigger=5, batch_duration=5))
    True
    """
    arrival_rate, processing_rate, backlog = obs.arrival_rate, obs.processing_rate, obs.backlog
    if arrival_rate is None or not processing_rate or backlog is None:
        return False
    if backlog <= waiting * max(arrival_rate, processing_rate) * (obs.trigger or 5.0):
        return False
    # 0.95: planning takes some of the time between two batches
    back_to_back = bool(obs.trigger and obs.batch_duration and obs.batch_duration >= 0.95 * obs.trigger)
    return arrival_rate > processing_rate or back_to_back
