"""Finds where a query is held up: the roots of backpressure, and how fast the lag grows. Used by `dhalion` and
`hpa-varga`.

Backpressure propagates from an operator that cannot keep up towards the sources. On an edge l -> r where l is held up
and r is not, r is therefore the root (Evaluating autoscalers, DEBS'24, 4.1). A source has no upstream operator that
could be held up, so for a source the growth of the lag is used instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.capacity.truerate import finite
from tidegate.core import Decision, Observation, hold
from tidegate.policies.operators import Operator, whole
from tidegate.stats import Window

#: smallest number of batches over which a slope is computed
BATCHES = 3
#: a backlog up to this multiple of the arrivals of one trigger does not count as a queue: rates are only accurate to a
#: few percent
SLACK = 1.1


def roots(operators: Sequence[Operator], held_up: Collection[str], lagging: Collection[str]) -> tuple[str, ...]:
    """Operators that hold others up, and lagging sources that are not held up themselves; nearest the sink first.

    An operator upstream of another root is held up by that root anyway. Relieving it first would only send more
    records to the root below it.

    >>> def op(name, *upstream): return Operator(name, upstream, 1.0, None, None, None, None, None, None)
    >>> line = [op("source"), op("map", "source"), op("window", "map"), op("sink", "window")]
    >>> roots(line, held_up={"source", "window"}, lagging={"source"})
    ('sink', 'map')
    >>> roots(line, held_up=(), lagging={"source"})
    ('source',)
    """
    names = [
        operator.name
        for operator in operators
        if operator.name not in held_up
        and (any(name in held_up for name in operator.upstream) or operator.name in lagging)
    ]
    depths = _depths(operators)
    return tuple(sorted(names, key=lambda name: -depths[name]))


def _depths(operators: Sequence[Operator]) -> dict[str, int]:
    """Number of edges on the longest path from a source. Terminates even if the graph has a cycle, which no query
    should have.
    """
    depths = {operator.name: 0 for operator in operators}
    for _ in operators:
        for operator in operators:
            depths[operator.name] = max((depths[name] + 1 for name in operator.upstream if name in depths), default=0)
    return depths


def sources_lag(operators: Sequence[Operator], held_up: Collection[str], rate: float) -> dict[str, float]:
    """Splits the growth of the lag, which is only known as a total, among the sources in proportion to their input.

    Empty if a source is held up: the lag then grows because of that.
    """
    sources = [operator for operator in operators if operator.source]
    if any(source.name in held_up for source in sources):
        return {}
    total = sum(consumed(source) or 0.0 for source in sources)
    return {
        source.name: rate * ((consumed(source) or 0.0) / total) if total > 0 else rate / len(sources)
        for source in sources
    }


def consumed(source: Operator) -> float | None:
    """Input rate of a source. Some engines only count its output, which is then used instead."""
    return source.rate_in if source.rate_in is not None else source.rate_out


@dataclass(slots=True)
class Lag:
    """Tracks the backlog over time and fits a least-squares slope to it.

    With micro-batches the backlog rises while a batch runs and drops when it ends, a sawtooth that is not a trend. It
    is therefore sampled when a batch has ended, minus what has arrived since, or when a batch is long overdue.

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
            items.clear()  # the clock went back, or the first batch has ended and the sawtooth begins
        self._batched = self._batched or bool(obs.batches)
        self._samples.age = max(age, BATCHES * span)
        if items and items[-1][0] <= obs.time - self._samples.age:
            items.clear()  # no sample for too long
        overdue = not items or obs.time - items[-1][0] > 2 * span
        if obs.backlog is not None and (not self._batched or obs.batches or overdue):
            time = min(obs.batches[-1].finished, obs.time) if obs.batches else obs.time
            while items and items[-1][0] >= time:
                items.pop()  # taken while the batch that has now ended was still running
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
    """Seconds from one batch to the next; 0 for engines without batches."""
    return 0.0 if obs.isolated else max(obs.trigger or 0.0, obs.batch_duration or 0.0)


def growth(lag: Lag, obs: Observation) -> float | None:
    """Growth of the lag in records per second. Falls back to arrival minus processing rate before the second sample."""
    slope = lag.slope
    if slope is not None or obs.arrival_rate is None or obs.processing_rate is None:
        return slope
    return obs.arrival_rate - obs.processing_rate


def ordinary(obs: Observation) -> float:
    """The backlog that a query in micro-batches has even when it keeps up: the arrivals of one cycle."""
    return SLACK * (obs.arrival_rate or 0.0) * cycle(obs)


def resized(obs: Observation, factor: float, reason: str, evidence: Mapping[str, float]) -> Decision:
    """Multiplies the number of running executors by `factor`; holds if the executors on their way already cover it."""
    wish, running, requested = whole(obs.executors * factor), obs.executors, obs.requested
    if running != requested and min(running, requested) <= wish <= max(running, requested):
        return hold(obs, f"{reason}: {wish} would do, and {running} are on their way to {requested}", **evidence)
    return Decision(wish, f"{reason}: {requested} -> {wish}", evidence)
