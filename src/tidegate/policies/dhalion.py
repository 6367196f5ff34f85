"""`dhalion`: relieve the operator that holds the others up; while nothing is held up, take away a fifth.

(Evaluating autoscalers, DEBS'24, 4.1; Floratou et al., PVLDB 2017.) The root of backpressure gets

    ceil(p * (1 + bp / (1 - bp)))                  bp: share of time in which the worst operator before it is held up
    ceil(p * (1 + lag growth / consumed rate))     for a source, which nobody holds up

Equations (1) and (2) are the fractions alone: time held up over time working normally. As the multiple of p that would
shrink an operator that is in the way for less than half the time. It is the part that is missing, so it is added to
what is there: one that lets its input through half the time must be twice as large. Bounded at 10 times.

Without backpressure anywhere an operator whose input queue is almost empty gets `max(1, floor(p * (1 - scale_down)))`.

Spark has no backpressure and no queues between stages. There the query as a whole is the source: it is held up when its
lag grows, and its queue is empty when the backlog is what arrives in one trigger and batches end within theirs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.bottleneck import SLACK, Lag, consumed, growth, ordinary, resized, roots, sources_lag
from tidegate.policies.operators import Operator, decision, operators, whole
from tidegate.stats import Means


@dataclass(slots=True)
class Dhalion:
    """Scales one operator at a time, as the paper says: of several roots the one nearest the sink, since those above it
    are held up by it too.

    >>> from tidegate.core import OperatorSample
    >>> source = OperatorSample("source", parallelism=2, rate_in=1000.0, backpressured=0.6)
    >>> window = OperatorSample("window", ("source",), parallelism=4, backpressured=0.0)
    >>> obs = Observation(0, 6, 6, operators=(source, window), isolated=True)
    >>> policy = Dhalion()
    >>> policy.observe(obs)
    >>> policy.decide(obs).reason  # 1 + 0.6 / 0.4
    'window holds up what is before it: x2.50, 4 -> 10'
    """

    interval: float = parameter(15.0, "s", "time between decisions", above=0)
    window: float = parameter(15.0, "s", "monitoring window", above=0)
    scale_down: float = parameter(0.2, "share", "what an operator with an empty queue gives up", least=0, most=1)
    backpressure_threshold: float = parameter(
        0.1, "share", "held up for more of the time than this is backpressure", least=0, most=1
    )
    queue_threshold: float = parameter(0.2, "share", "an input queue filled up to this is empty", least=0, most=1)
    lag_threshold: float = parameter(10_000.0, "records", "a lag below this is an empty queue", least=0)
    lag_rate_threshold: float = parameter(1000.0, "records/s", "a lag that grows faster is backpressure", least=0)
    factor_limit: float = parameter(10.0, "", "most that an operator is multiplied by", least=1)
    all_roots: int = parameter(0, "", "1: every root at once, as released", least=0, most=1)
    _means: Means = field(default_factory=Means, repr=False)
    _lag: Lag = field(default_factory=Lag, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy dhalion")

    def observe(self, obs: Observation) -> None:
        figures = {one.name: {"held up": one.backpressured, "queue": one.queue} for one in obs.operators}
        self._means.update(obs.time, self.window, figures)
        self._lag.update(obs, self.window)

    def decide(self, obs: Observation) -> Decision:
        return self._per_operator(obs) if obs.isolated else self._query(obs)

    def _per_operator(self, obs: Observation) -> Decision:
        seen = operators(obs)
        shares = {one.name: self._means.of(one.name, "held up") for one in seen}
        if all(share is None for share in shares.values()):
            return hold(obs, "backpressure is not known of any operator yet")
        held_up = {name for name, share in shares.items() if (share or 0.0) > self.backpressure_threshold}
        growing = sources_lag(seen, held_up, growth(self._lag, obs) or 0.0)
        lagging = {name for name, rate in growing.items() if rate > self.lag_rate_threshold}
        if found := roots(seen, held_up, lagging):
            factors = {one.name: self._factor(one, shares, growing) for one in seen}
            return self._up(obs, {name: factors[name] for name in (found if self.all_roots else found[:1])})
        if held_up:
            return hold(obs, f"{', '.join(sorted(held_up))} held up, and what holds them up is not to be seen")
        return self._down(obs, seen)

    def _factor(self, one: Operator, shares: Mapping[str, float | None], growing: Mapping[str, float]) -> float:
        if one.source:
            return self._source_factor(growing.get(one.name, 0.0), consumed(one))
        worst = min(1 - 1 / self.factor_limit, max(shares.get(name) or 0.0 for name in one.upstream))
        return 1 + worst / (1 - worst)

    def _source_factor(self, rate: float, taken: float | None) -> float:
        """One where nothing is taken at all, as after a restart: then more of the same is no remedy."""
        return min(self.factor_limit, 1 + rate / taken) if taken else 1.0

    def _up(self, obs: Observation, factors: Mapping[str, float]) -> Decision:
        needs = {one.name: one.slots * factors.get(one.name, 1.0) for one in operators(obs)}
        told = "; ".join(
            f"{one.name} {'holds up what is before it' if one.upstream else 'falls behind its input'}: "
            f"x{factors[one.name]:.2f}, {one.parallelism} -> {whole(needs[one.name])}"
            for one in obs.operators
            if one.name in factors
        )
        return decision(obs, needs, told, {f"factor {name}": factor for name, factor in factors.items()})

    def _down(self, obs: Observation, seen: Sequence[Operator]) -> Decision:
        empty = [one.name for one in seen if self._empty(one)]
        if not empty:
            return hold(obs, "no backpressure, and no input queue known to be empty")
        needs = {one.name: float(self._less(one.slots)) if one.name in empty else one.slots for one in seen}
        told = ", ".join(f"{one.name} {one.slots:.0f} -> {whole(needs[one.name])}" for one in seen if one.name in empty)
        return decision(obs, needs, f"no backpressure, empty queues: {told}", {"empty": float(len(empty))})

    def _empty(self, one: Operator) -> bool:
        lag, queue = self._lag.last, self._means.of(one.name, "queue")
        if one.source:
            return lag is not None and lag < self.lag_threshold
        return queue is not None and queue <= self.queue_threshold

    def _less(self, size: float) -> int:
        return max(1, math.floor(round(size * (1 - self.scale_down), 9)))

    def _query(self, obs: Observation) -> Decision:
        lag, rate = self._lag.last, growth(self._lag, obs)
        if lag is None or rate is None:
            return hold(obs, "the course of the backlog is not known yet")
        evidence = {"lag": lag, "lag rate": rate}
        if rate > self.lag_rate_threshold and not obs.processing_rate:
            return hold(obs, f"the lag grows by {rate:,.0f} records/s, but nothing is processed at all", **evidence)
        if rate > self.lag_rate_threshold:
            factor = self._source_factor(rate, obs.processing_rate)
            return resized(obs, factor, f"the lag grows by {rate:,.0f} records/s: x{factor:.2f}", evidence)
        if late := self._late(obs, lag):
            return hold(obs, late, **evidence)
        wish = min(obs.requested, self._less(max(obs.requested, obs.executors)))  # what was seen is with those there
        return Decision(wish, f"no lag, and batches end in time: {obs.requested} -> {wish}", evidence)

    def _late(self, obs: Observation, lag: float) -> str:
        """Why this is no time to shrink; empty if it is."""
        if lag >= self.lag_threshold and lag > ordinary(obs):
            return f"a lag of {lag:,.0f} records is more than arrives in a trigger"
        if obs.trigger is None or obs.batch_duration is None:
            return "how long batches take is not known yet"
        if obs.batch_duration > SLACK * obs.trigger:
            return f"batches take {obs.batch_duration:.1f} s, more than the {obs.trigger:.1f} s of a trigger"
        return ""
