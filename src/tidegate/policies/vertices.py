"""The vertices that the Flink operator's rule scales: each operator if operators are isolated, else the whole query.

The figures of a vertex are summed per part of a window, so that a mean over 15 minutes takes only a few additions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidegate.core import Observation
from tidegate.policies.operators import cores, operators, whole

AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "max": max,
    "avg": lambda shares: sum(shares) / len(shares),
    "min": min,
}


@dataclass(frozen=True, slots=True)
class Vertex:
    """A unit of scaling and its figures from one observation. Only a source has a lag."""

    name: str
    upstream: tuple[str, ...]
    workers: int
    rate: float | None
    busy: float | None
    rate_out: float | None = None
    arrival: float | None = None
    lag: float | None = None
    #: seconds of input that are waiting even if the query keeps up
    cycle: float = 0.0
    backpressured: float = 0.0


@dataclass(slots=True)
class Part:
    """Sums over one part of the metrics window. `lag` is that of the first observation."""

    time: float
    workers: int
    lag: float | None
    count: int = 0
    rate: float = 0.0
    rate_out: float = 0.0
    busy: float = 0.0
    arrivals: int = 0
    arrival: float = 0.0
    #: number of observations under a lag, and the sum of their rates
    lagging: int = 0
    observed: float = 0.0

    def add(self, vertex: Vertex, threshold: float) -> None:
        """Add an observation. `threshold` is the lag in seconds from which its rate counts as a true rate."""
        rate, lag = vertex.rate or 0.0, vertex.lag
        self.count += 1
        self.rate += rate
        self.busy += vertex.busy or 0.0
        self.rate_out += vertex.rate_out or 0.0
        if vertex.arrival is not None:
            self.arrivals, self.arrival = self.arrivals + 1, self.arrival + vertex.arrival
        if lag is not None and rate > 0 and not vertex.upstream and lag >= rate * (threshold + vertex.cycle):
            self.lagging, self.observed = self.lagging + 1, self.observed + rate / (1 - vertex.backpressured)


def summed(parts: Sequence[Part]) -> Part:
    """The sum of all parts, with the start of the first. A single pass, because it runs on every observation."""
    count, arrivals, lagging = 0, 0, 0
    rate = rate_out = busy = arrival = observed = 0.0
    for part in parts:
        count += part.count
        rate += part.rate
        rate_out += part.rate_out
        busy += part.busy
        arrivals += part.arrivals
        arrival += part.arrival
        lagging += part.lagging
        observed += part.observed
    first = parts[0]
    sums = (count, rate, rate_out, busy, arrivals, arrival, lagging, observed)
    return Part(first.time, first.workers, first.lag, *sums)


def vertices(obs: Observation, aggregator: str) -> tuple[Vertex, ...]:
    """The vertices of an observation: its operators if they are isolated, else the query."""
    if obs.isolated:
        return _isolated(obs)
    busy = _busy(obs, AGGREGATES[aggregator])
    cycle = (obs.trigger or 0.0) + (obs.batch_duration or 0.0)
    return (Vertex("query", (), obs.executors, obs.processing_rate, busy, None, obs.arrival_rate, obs.backlog, cycle),)


def _isolated(obs: Observation) -> tuple[Vertex, ...]:
    """The lag is split among the sources in proportion to their rates."""
    graph = operators(obs)
    sources = [operator for operator in graph if operator.source]
    total = sum(source.rate_in or 0.0 for source in sources)
    result = []
    for operator in graph:
        slots, rate = operator.slots, operator.rate_in
        share = 0.0 if not operator.source else (rate or 0.0) / total if total > 0 else 1 / len(sources)
        busy = None if operator.busy is None else operator.busy / slots if slots > 0 else None
        lag = None if obs.backlog is None else obs.backlog * share
        held_up = min(max(operator.backpressured or 0.0, 0.0), 0.99)
        figures = (rate, busy, operator.rate_out, None, lag, 0.0, held_up)
        result.append(Vertex(operator.name, operator.upstream, whole(slots), *figures))
    return tuple(result)


def _busy(obs: Observation, aggregate: Callable[[Sequence[float]], float]) -> float | None:
    """The busy share of the slots, from the executors' own figures or else from the task time of all stages."""
    shares = [executor.busy for executor in obs.per_executor if executor.busy is not None]
    if shares:
        return aggregate(shares)
    busy = [stage.busy for stage in obs.operators if stage.busy is not None]
    slots = obs.executors * cores(obs)
    return min(1.0, sum(busy) / slots) if busy and slots > 0 else None


def target_rate(time: float, vertex: Vertex, window: Part) -> float:
    """The mean arrival rate if the engine reports it, else the processing rate plus the growth of the lag."""
    if window.arrivals:
        return max(0.0, window.arrival / window.arrivals)
    rate = window.rate / window.count
    if vertex.lag is None or window.lag is None or time <= window.time:
        return max(0.0, rate)
    return max(0.0, rate + (vertex.lag - window.lag) / (time - window.time))
