"""What the Flink operator's rule scales as one: an operator where they are isolated, else the whole query.

Figures of a vertex are summed up in parts of a window, so that a mean over a quarter of an hour costs a few additions.
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
    """What is scaled as one, and what was seen of it. Only a source has a lag."""

    name: str
    upstream: tuple[str, ...]
    workers: int
    rate: float | None
    busy: float | None
    rate_out: float | None = None
    arrival: float | None = None
    lag: float | None = None
    #: seconds of input that wait without being late
    cycle: float = 0.0
    backpressured: float = 0.0


@dataclass(slots=True)
class Part:
    """Sums over one part of the metrics window; `lag` is that of its first observation."""

    time: float
    workers: int
    lag: float | None
    count: int = 0
    rate: float = 0.0
    rate_out: float = 0.0
    busy: float = 0.0
    arrivals: int = 0
    arrival: float = 0.0
    #: observations under a lag, and the rates of those
    lagging: int = 0
    observed: float = 0.0

    def add(self, v: Vertex, threshold: float) -> None:
        """One observation; `threshold` is the lag, s, from which on its rate is a true rate."""
        rate = v.rate or 0.0
        self.count += 1
        self.rate, self.busy, self.rate_out = (
            self.rate + rate,
            self.busy + (v.busy or 0.0),
            self.rate_out + (v.rate_out or 0.0),
        )
        if v.arrival is not None:
            self.arrivals, self.arrival = self.arrivals + 1, self.arrival + v.arrival
        if v.lag is not None and rate > 0 and not v.upstream and v.lag >= rate * (threshold + v.cycle):
            self.lagging, self.observed = self.lagging + 1, self.observed + rate / (1 - v.backpressured)


def summed(parts: Sequence[Part]) -> Part:
    """All of them as one, which began with the first; in one pass, since every observation asks for it."""
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
    """Those of an observation: its operators where they are isolated, else the query."""
    if obs.isolated:
        return _isolated(obs)
    busy = _busy(obs, AGGREGATES[aggregator])
    cycle = (obs.trigger or 0.0) + (obs.batch_duration or 0.0)
    return (Vertex("query", (), obs.executors, obs.processing_rate, busy, None, obs.arrival_rate, obs.backlog, cycle),)


def _isolated(obs: Observation) -> tuple[Vertex, ...]:
    """A lag is shared out among the sources by their rates."""
    found, sources = operators(obs), [one for one in operators(obs) if one.source]
    rates = sum(one.rate_in or 0.0 for one in sources)
    made = []
    for one in found:
        share = 0.0 if not one.source else (one.rate_in or 0.0) / rates if rates > 0 else 1 / len(sources)
        busy = None if one.busy is None else one.busy / one.slots if one.slots > 0 else None
        lag = None if obs.backlog is None else obs.backlog * share
        held = min(max(one.backpressured or 0.0, 0.0), 0.99)
        seen = (one.rate_in, busy, one.rate_out, None, lag, 0.0, held)
        made.append(Vertex(one.name, one.upstream, whole(one.slots), *seen))
    return tuple(made)


def _busy(obs: Observation, aggregate: Callable[[Sequence[float]], float]) -> float | None:
    """The busy share of the slots: the executors' own figures, else that of all from the time of the stages."""
    shares = [sample.busy for sample in obs.per_executor if sample.busy is not None]
    if shares:
        return aggregate(shares)
    spent = [stage.busy for stage in obs.operators if stage.busy is not None]
    slots = obs.executors * cores(obs)
    return min(1.0, sum(spent) / slots) if spent and slots > 0 else None


def target_rate(time: float, v: Vertex, window: Part) -> float:
    if window.arrivals:
        return max(0.0, window.arrival / window.arrivals)
    rate = window.rate / window.count
    if v.lag is None or window.lag is None or time <= window.time:
        return max(0.0, rate)
    return max(0.0, rate + (v.lag - window.lag) / (time - window.time))
