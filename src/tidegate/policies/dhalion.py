"""`dhalion`: scale out the operator that holds the others up; while there is no backpressure, scale in by a fifth.

(Evaluating autoscalers, DEBS'24, 4.1; Floratou et al., PVLDB 2017.) The root of backpressure gets

    ceil(p * (1 + bp / (1 - bp)))                  bp: share of time that its most held-up upstream operator is held up
    ceil(p * (1 + lag growth / consumed rate))     for a source, which has nothing upstream

Equations (1) and (2) are the fractions alone, time held up over time working normally. Used as a multiple of p, that
would shrink an operator that blocks its input less than half the time. The fraction is the capacity that is missing, so
it is added to the existing one: an operator that lets its input through half the time must be twice as large. The
factor is limited to 10.

If there is no backpressure anywhere, an operator whose input queue is almost empty gets
`max(1, floor(p * (1 - scale_down)))`.

Spark has neither backpressure nor queues between stages. There the whole query acts as the source: it is held up when
its lag grows, and its queue is empty when the backlog is no more than the arrivals of one trigger and batches finish
within their trigger.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.bottleneck import SLACK, Lag, consumed, growth, ordinary, resized, roots, sources_lag
from tidegate.policies.entry import DEBS, Entry
from tidegate.policies.operators import Operator, decision, operators, whole
from tidegate.stats import Means


@dataclass(slots=True)
class Dhalion:
    """Scales one operator at a time, as in the paper: of several roots the one nearest the sink, because it also holds
    up the roots upstream of it.

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
    scale_down: float = parameter(0.2, "share", "share removed from an operator with an empty queue", least=0, most=1)
    backpressure_threshold: float = parameter(
        0.1, "share", "share of time held up that counts as backpressure", least=0, most=1
    )
    queue_threshold: float = parameter(
        0.2, "share", "an input queue filled up to this counts as empty", least=0, most=1
    )
    lag_threshold: float = parameter(10_000.0, "records", "a lag below this counts as an empty queue", least=0)
    lag_rate_threshold: float = parameter(
        1000.0, "records/s", "a lag that grows faster counts as backpressure", least=0
    )
    factor_limit: float = parameter(10.0, "", "largest factor for an operator", least=1)
    all_roots: int = parameter(0, "", "1: every root at once, as released", least=0, most=1)
    _means: Means = field(default_factory=Means, repr=False)
    _lag: Lag = field(default_factory=Lag, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy dhalion")

    def observe(self, obs: Observation) -> None:
        figures = {
            operator.name: {"held up": operator.backpressured, "queue": operator.queue} for operator in obs.operators
        }
        self._means.update(obs.time, self.window, figures)
        self._lag.update(obs, self.window)

    def decide(self, obs: Observation) -> Decision:
        return self._per_operator(obs) if obs.isolated else self._query(obs)

    def _per_operator(self, obs: Observation) -> Decision:
        graph = operators(obs)
        shares = {operator.name: self._means.of(operator.name, "held up") for operator in graph}
        if all(share is None for share in shares.values()):
            return hold(obs, "backpressure is not known of any operator yet")
        held_up = {name for name, share in shares.items() if (share or 0.0) > self.backpressure_threshold}
        lag_rates = sources_lag(graph, held_up, growth(self._lag, obs) or 0.0)
        lagging = {name for name, rate in lag_rates.items() if rate > self.lag_rate_threshold}
        if blocking := roots(graph, held_up, lagging):
            factors = {operator.name: self._factor(operator, shares, lag_rates) for operator in graph}
            return self._up(obs, {name: factors[name] for name in (blocking if self.all_roots else blocking[:1])})
        if held_up:
            return hold(obs, f"{', '.join(sorted(held_up))} held up, and what holds them up is not to be seen")
        return self._down(obs, graph)

    def _factor(self, operator: Operator, shares: Mapping[str, float | None], lag_rates: Mapping[str, float]) -> float:
        if operator.source:
            return self._source_factor(lag_rates.get(operator.name, 0.0), consumed(operator))
        worst = min(1 - 1 / self.factor_limit, max(shares.get(name) or 0.0 for name in operator.upstream))
        return 1 + worst / (1 - worst)

    def _source_factor(self, lag_rate: float, consumed_rate: float | None) -> float:
        """1 if the source consumes nothing at all, as after a restart: more workers would not help then."""
        return min(self.factor_limit, 1 + lag_rate / consumed_rate) if consumed_rate else 1.0

    def _up(self, obs: Observation, factors: Mapping[str, float]) -> Decision:
        needs = {operator.name: operator.slots * factors.get(operator.name, 1.0) for operator in operators(obs)}
        reason = "; ".join(
            f"{operator.name} {'holds up what is before it' if operator.upstream else 'falls behind its input'}: "
            f"x{factors[operator.name]:.2f}, {operator.parallelism} -> {whole(needs[operator.name])}"
            for operator in obs.operators
            if operator.name in factors
        )
        return decision(obs, needs, reason, {f"factor {name}": factor for name, factor in factors.items()})

    def _down(self, obs: Observation, graph: Sequence[Operator]) -> Decision:
        slots = {operator.name: operator.slots for operator in graph}
        empty = [operator.name for operator in graph if self._empty(operator)]
        if not empty:
            return hold(obs, "no backpressure, and no input queue known to be empty")
        needs = {name: float(self._less(size)) if name in empty else size for name, size in slots.items()}
        changes = ", ".join(f"{name} {slots[name]:.0f} -> {whole(needs[name])}" for name in empty)
        return decision(obs, needs, f"no backpressure, empty queues: {changes}", {"empty": float(len(empty))})

    def _empty(self, operator: Operator) -> bool:
        lag, queue = self._lag.last, self._means.of(operator.name, "queue")
        if operator.source:
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
        # the figures were measured with the executors that are running, which may be more than were requested
        wish = min(obs.requested, self._less(max(obs.requested, obs.executors)))
        return Decision(wish, f"no lag, and batches end in time: {obs.requested} -> {wish}", evidence)

    def _late(self, obs: Observation, lag: float) -> str:
        """The reason not to scale in now; empty if there is none."""
        if lag >= self.lag_threshold and lag > ordinary(obs):
            return f"a lag of {lag:,.0f} records is more than arrives in a trigger"
        if obs.trigger is None or obs.batch_duration is None:
            return "how long batches take is not known yet"
        if obs.batch_duration > SLACK * obs.trigger:
            return f"batches take {obs.batch_duration:.1f} s, more than the {obs.trigger:.1f} s of a trigger"
        return ""


NAMES = {
    "dhalion": Entry(
        "more at the root of backpressure, fewer where queues are empty", "Dhalion; DEBS'24 4.1", Dhalion, DEBS
    ),
}
