"""Where a query is held up: roots of backpressure, and how fast the lag grows. For `dhalion` and `hpa-varga`.

Backpressure travels from an operator that cannot keep up towards the sources. So on an edge l -> r with l held up and
r not, r is the root (Evaluating autoscalers, DEBS'24, 4.1). A source has nothing before it that it could hold up; there
the growth of the lag tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.capacity.truerate import finite
from tidegate.core import Decision, Observation, hold
from tidegate.policies.operators import Operator, whole
from tidegate.stats import Window

#: how many batches a slope is taken over, at least
BATCHES = 3
#: a backlog so far above what arrives in one trigger is still no queue: rates are good to a few percent
SLACK = 1.1


def roots(operators: Sequence[Operator], held_up: Collection[str], lagging: Collection[str]) -> tuple[str, ...]:
    """Operators that hold others up, and sources behind their input that nobody holds up; nearest the sink first.

    What is upstream of another root is held up by it anyway: relieving it first only sends more to the lower one.

    >>> def op(name, *upstream): return Operator(name, upstream, 1.0, None, None, None, None, None, None)
    >>> line = [op("source"), op("map", "source"), op("window", "map"), op("sink", "window")]
    >>> roots(line, held_up={"source", "window"}, lagging={"source"})
    ('sink', 'map')
    >>> roots(line, held_up=(), lagging={"source"})
    ('source',)
    """
    found = [
        one.name
        for one in operators
        if one.name not in held_up and (any(name in held_up for name in one.upstream) or one.name in lagging)
    ]
    depths = _depths(operators)
    return tuple(sorted(found, key=lambda name: -depths[name]))


def _depths(operators: Sequence[Operator]) -> dict[str, int]:
    """Edges of the longest way from a source; in circles, which no query should have, it ends all the same."""
    depths = {one.name: 0 for one in operators}
    for _ in operators:
        for one in operators:
            depths[one.name] = max((depths[name] + 1 for name in one.upstream if name in depths), default=0)
    return depths


def sources_lag(operators: Sequence[Operator], held_up: Collection[str], rate: float) -> dict[str, float]:
    """The growth of the lag, which is known as a sum, as that of each source: by what they take in.

    None of it where a source is held up: then the lag grows because of that.
    """
    sources = [one for one in operators if one.source]
    if any(one.name in held_up for one in sources):
        return {}
    total = sum(consumed(one) or 0.0 for one in sources)
    return {one.name: rate * ((consumed(one) or 0.0) / total) if total > 0 else rate / len(sources) for one in sources}


def consumed(source: Operator) -> float | None:
    """What a source takes in; some engines count only what it puts out."""
    return source.rate_in if source.rate_in is not None else source.rate_out


@dataclass(slots=True)
class Lag:
    """The backlog's course, as least-squares slope.

    In micro-batches a backlog rises while one runs and falls when it ends: a saw whose teeth are no trend. So it is
    looked at when a batch ended, with what came since taken off, or when one is long overdue.

    >>> lag = Lag()
    >>> for t in range(0, 60, 5): lag.update(Observation(t, 1, 1, backlog=200.0 * t), age=60)
    >>> lag.slope, lag.last
    (200.0, 11000.0)
    """

    _samples: Window = field(default_factory=lambda: Window(60.0))
    _batched: bool = False

    def update(self, obs: Observation, age: float) -> None:
        items, span = self._samples.items, cycle(obs)
        if (items and items[-1][0] > obs.time) or (obs.batches and not self._batched):
            items.clear()  # the clock went back, or the saw begins
        self._batched = self._batched or bool(obs.batches)
        self._samples.age = max(age, BATCHES * span)
        if items and items[-1][0] <= obs.time - self._samples.age:
            items.clear()  # silent for too long
        overdue = not items or obs.time - items[-1][0] > 2 * span
        if obs.backlog is not None and (not self._batched or obs.batches or overdue):
            time = min(obs.batches[-1].finished, obs.time) if obs.batches else obs.time
            while items and items[-1][0] >= time:
                items.pop()  # seen while the batch ran that has ended now
            since = (obs.arrival_rate or 0.0) * (obs.time - time)
            self._samples.update(time, max(0.0, obs.backlog - since))

    @property
    def last(self) -> float | None:
        return self._samples.items[-1][1] if self._samples.items else None

    @property
    def slope(self) -> float | None:
        slope = self._samples.slope
        return None if slope is None else finite(slope)


def cycle(obs: Observation) -> float:
    """Seconds from batch to batch; 0 where the engine knows no batches."""
    return 0.0 if obs.isolated else max(obs.trigger or 0.0, obs.batch_duration or 0.0)


def growth(lag: Lag, obs: Observation) -> float | None:
    """Records per second by which the lag grows; by the rates, where it was not seen twice."""
    slope = lag.slope
    if slope is not None or obs.arrival_rate is None or obs.processing_rate is None:
        return slope
    return obs.arrival_rate - obs.processing_rate


def ordinary(obs: Observation) -> float:
    """The backlog that micro-batches have without being behind: what arrives in one cycle."""
    return SLACK * (obs.arrival_rate or 0.0) * cycle(obs)


def resized(obs: Observation, factor: float, reason: str, evidence: Mapping[str, float]) -> Decision:
    """So many times the executors that work now; a hold where the ones on their way answer that already."""
    wish, here, asked = whole(obs.executors * factor), obs.executors, obs.requested
    if here != asked and min(here, asked) <= wish <= max(here, asked):
        return hold(obs, f"{reason}: {wish} would do, and {here} are on their way to {asked}", **evidence)
    return Decision(wish, f"{reason}: {asked} -> {wish}", evidence)
