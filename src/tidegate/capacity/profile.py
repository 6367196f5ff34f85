"""What profiling runs and operation have shown of a job, and the capacity that follows from it."""

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

#: two clusters of latencies are two only if the means are this factor apart: Phoebe's relative distance of 2
SEPARATION = 3.0
#: seconds; log of less would be about clocks
SHORTEST = 0.001


def normal_until(latencies: Iterable[float], separation: float = SEPARATION) -> float:
    """The latency that divides the normal ones from those of overload; infinite where all are of one kind.

    Logarithms are divided into two clusters with the least squares, which is exact in one dimension: of all cuts of
    the sorted values the best. They count as two only if their geometric means are `separation` apart.

    >>> normal_until([1.0, 1.0, 1.0, 16.0]), normal_until([1.0, 1.2, 2.0])
    (4.0, inf)
    """
    logs = np.log(np.maximum(np.sort(np.fromiter(latencies, dtype=float)), SHORTEST))
    if logs.size < 2:
        return math.inf
    below = np.arange(1, logs.size)
    sums = np.cumsum(logs)
    low, high = sums[:-1] / below, (sums[-1] - sums[:-1]) / (logs.size - below)
    # the sum of squares between the clusters, which is the larger the smaller the one within
    cut = int(np.argmax(below * (logs.size - below) * (high - low) ** 2))
    apart = high[cut] - low[cut] >= math.log(separation) - 1e-12
    return float(np.exp((low[cut] + high[cut]) / 2)) if apart else math.inf


@dataclass(slots=True)
class Profile:
    """A bounded number of points: a new one takes the place of an old one with as many executors and about its rate.

    Of saturated points, whose rate is a measurement of capacity, the last `repeats` stay for each number of executors.
    Where there is no more room the oldest unsaturated point goes.

    >>> profile = Profile.of([ProfilePoint(2, 100, 1.0), ProfilePoint(2, 101, 3.0), ProfilePoint(2, 180, 9.0, True)])
    >>> [p.latency for p in profile.points], profile.capacities()
    ([3.0, 9.0], {2: 180})
    """

    limit: int = parameter(500, "", "points that are kept", least=1)
    near: float = parameter(0.02, "share", "rates that differ by no more are one", least=0)
    repeats: int = parameter(5, "", "measurements of capacity that are kept per number of executors", least=1)
    #: never changed in place, so that who has drawn a conclusion can see whether it still holds
    _points: tuple[ProfilePoint, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check(self, "profile")

    @classmethod
    def of(cls, points: Iterable[ProfilePoint]) -> Profile:
        made = cls()
        for point in points:
            made.add(point)
        return made

    @property
    def points(self) -> tuple[ProfilePoint, ...]:
        """Oldest first."""
        return self._points

    def add(self, point: ProfilePoint) -> None:
        kept = list(self._points)
        same = [k for k, old in enumerate(kept) if self._same(old, point)]
        if len(same) >= (self.repeats if point.saturated else 1):
            del kept[same[0]]
        elif len(kept) >= self.limit:
            del kept[next((k for k, old in enumerate(kept) if not old.saturated), 0)]
        self._points = (*kept, point)

    def _same(self, old: ProfilePoint, new: ProfilePoint) -> bool:
        if old.executors != new.executors or old.saturated != new.saturated:
            return False
        return new.saturated or abs(new.rate - old.rate) <= self.near * new.rate

    def normal_until(self) -> float:
        """Saturated points do not count: their latency is the age of whatever backlog they were measured with."""
        return normal_until(p.latency for p in self._points if not p.saturated)

    def capacities(self) -> dict[int, float]:
        """Records per second by executors, where it is known: the median of the saturated rates; without any, the
        highest rate with a normal latency, if there is also one that is not: only then is the limit between them.
        """
        normal = self.normal_until()
        by_executors: dict[int, list[ProfilePoint]] = {}
        for point in self._points:
            by_executors.setdefault(point.executors, []).append(point)
        found = {executors: _capacity(by_executors[executors], normal) for executors in sorted(by_executors)}
        return {executors: rate for executors, rate in found.items() if rate > 0}


def _capacity(points: Sequence[ProfilePoint], normal: float) -> float:
    full = [p.rate for p in points if p.saturated]
    fine = [p.rate for p in points if not p.saturated and p.latency <= normal]
    overloaded = len(points) > len(full) + len(fine)
    return median(full) if full else max(fine, default=0.0) if overloaded else 0.0


@dataclass(slots=True)
class ProfileCapacity:
    """A capacity model from a profile: a shape through its capacities, and what operation adds to them.

    Where a query cannot take all that comes, what it takes is its capacity. Each `settle` seconds of that, with the
    same executors, give a saturated point. It is taken for granted when more than `waiting` cycles' worth of records
    wait (one is being processed and one gathers in any case) and batches follow each other without a pause, or more
    arrives than is processed (a limit per trigger makes pauses in overload).

    >>> model = ProfileCapacity(Profile.of([ProfilePoint(2, 30.0, 9.0, True), ProfilePoint(4, 50.0, 9.0, True)]))
    >>> model.capacity(3)
    40.0
    """

    profile: Profile = field(default_factory=Profile)
    shape: str = parameter("linear", "", "capacity as a function of executors", choices=tuple(SHAPES))
    settle: float = parameter(30.0, "s", "time of saturation that gives one point", least=0)
    waiting: float = parameter(2.0, "cycles", "backlog of an overload, in the records of a cycle", least=0)
    _since: float | None = None
    _executors: int | None = None
    #: the points that a shape was fitted to, and the shape; follows from the profile, so it need not be remembered
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
            rate, waiting = obs.processing_rate or 0.0, obs.backlog or 0.0
            age = obs.latency if obs.latency is not None else waiting / rate
            self.profile.add(ProfilePoint(obs.executors, rate, age, saturated=True))

    def fitted(self) -> Shape | None:
        """The shape through the capacities as they are now."""
        if self.memo is None or self.memo[0] is not self.profile.points:
            points = list(self.profile.capacities().items())
            self.memo = self.profile.points, SHAPES[self.shape](points) if points else None
        return self.memo[1]

    def capacity(self, executors: int) -> float | None:
        shape = self.fitted()
        return None if shape is None else shape.at(executors)


def saturated(obs: Observation, waiting: float = 2.0) -> bool:
    """Whether `obs.processing_rate` is a capacity. Where batches are unknown a cycle is taken to be 5 s.

    >>> saturated(Observation(0, 2, 2, arrival_rate=90, processing_rate=80, backlog=1000, trigger=5, batch_duration=5))
    True
    """
    arriving, taken, backlog = obs.arrival_rate, obs.processing_rate, obs.backlog
    if arriving is None or not taken or backlog is None:
        return False
    if backlog <= waiting * max(arriving, taken) * (obs.trigger or 5.0):
        return False
    # planning takes its time between two batches
    return arriving > taken or bool(obs.trigger and obs.batch_duration and obs.batch_duration >= 0.95 * obs.trigger)
