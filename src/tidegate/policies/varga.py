"""`hpa-varga`: the horizontal pod autoscaler on two metrics, utilisation and the change of the lag; the larger result
counts.

    f_util = (1 - idle) / target       f_lag = 1 + d(lag)/dt / input rate
    desired = max(1, ceil(current * max(f_util, f_lag)))

(Evaluating autoscalers, DEBS'24, 4.4, equations (5) and (6).) 1 - idle is the share of time in which an operator is
working or held up. The change of the lag is measured at the source's queue, so it only counts for the operators that
cause it: the roots of backpressure (`bottleneck.py`), or the sources if nothing is held up. A lag below a threshold is
ignored, so that utilisation alone can scale in an operator that is too large.

On Spark the query is a single operator. Its utilisation is the busy share of the executors' slots, and the lag that
micro-batches always have, the arrivals of one trigger, is ignored as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.capacity.truerate import finite
from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.bottleneck import Lag, consumed, cycle, growth, ordinary, resized, roots, sources_lag
from tidegate.policies.entry import Entry
from tidegate.policies.operators import Operator, decision, operators, whole
from tidegate.stats import Means

#: name under which the mean over Spark's executors is kept
QUERY = "query"


@dataclass(slots=True)
class HpaVarga:
    """An operator keeps its parallelism if neither its utilisation nor its part in the lag is known.

    >>> from tidegate.core import OperatorSample
    >>> window = OperatorSample("window", parallelism=4, busy=2.8, backpressured=0.2)  # (0.7 + 0.2) / 0.7 * 4 = 5.14
    >>> obs = Observation(0, 4, 4, operators=(window,), isolated=True)
    >>> policy = HpaVarga()
    >>> policy.observe(obs)
    >>> policy.decide(obs).reason
    'window 90% utilised, 4 -> 6'
    """

    target: float = parameter(0.7, "share", "utilisation to aim at", above=0, most=1)
    interval: float = parameter(15.0, "s", "time between decisions", above=0)
    window: float = parameter(15.0, "s", "span over which utilisation is averaged", above=0)
    slope_window: float = parameter(60.0, "s", "span of the least-squares line through the lag", above=0)
    lag_threshold: float = parameter(10_000.0, "records", "a lag below this is ignored", least=0)
    lag_rate_threshold: float = parameter(
        0.0, "records/s", "a source whose lag grows no faster is not the cause, as released; 0: off", least=0
    )
    per_consumed: int = parameter(
        0, "", "1: relate the change of the lag to the consumed rate, as released", least=0, most=1
    )
    backpressure_threshold: float = parameter(
        0.1, "share", "share of time held up that counts as backpressure", least=0, most=1
    )
    _means: Means = field(default_factory=Means, repr=False)
    _lag: Lag = field(default_factory=Lag, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy hpa-varga")

    def observe(self, obs: Observation) -> None:
        self._lag.update(obs, self.slope_window)
        if obs.isolated:
            figures = {
                operator.name: {"used": _used(operator), "held up": operator.backpressured}
                for operator in operators(obs)
            }
        else:
            figures = {QUERY: {"used": _busy(obs)}}
        self._means.update(obs.time, max(self.window, 2 * cycle(obs)), figures)  # at least two batches

    def decide(self, obs: Observation) -> Decision:
        return self._per_operator(obs) if obs.isolated else self._query(obs)

    def _per_operator(self, obs: Observation) -> Decision:
        graph = operators(obs)
        slots = {operator.name: operator.slots for operator in graph}
        rate = growth(self._lag, obs)
        change = self._change(obs, _consumed(graph), self.lag_threshold)
        lag_changes = dict.fromkeys(self._causes(graph, rate or 0.0) if change is not None else (), change)
        used = {name: self._means.of(name, "used") for name in slots}
        factors = self._factors(used, lag_changes)
        if not factors:
            return hold(obs, "no figures of operators yet")
        needs = {name: size * factors.get(name, 1.0) for name, size in slots.items()}
        why = {name: _why(name, used[name], lag_changes.get(name)) for name in factors}
        reasons = [f"{why[name]}, {slots[name]:.0f} -> {whole(needs[name])}" for name in factors]
        evidence = {f"factor {name}": factor for name, factor in factors.items()}
        return decision(obs, needs, "; ".join(reasons), evidence | ({} if rate is None else {"lag rate": rate}))

    def _factors(self, used: Mapping[str, float | None], lag_changes: Mapping[str, float | None]) -> dict[str, float]:
        """The factor of each operator that has one."""
        factors = {name: self._factor(share, lag_changes.get(name)) for name, share in used.items()}
        return {name: factor for name, factor in factors.items() if factor is not None}

    def _query(self, obs: Observation) -> Decision:
        used = self._means.of(QUERY, "used")
        change = self._change(obs, obs.processing_rate, max(self.lag_threshold, ordinary(obs)))
        if self.lag_rate_threshold and (growth(self._lag, obs) or 0.0) <= self.lag_rate_threshold:
            change = None
        factor = self._factor(used, change)
        if factor is None:
            return hold(obs, "neither busy slots nor a lag are known yet")
        figures = {"utilisation": used, "lag change": change, "lag": self._lag.last, "factor": factor}
        evidence = {name: value for name, value in figures.items() if value is not None}
        return resized(obs, factor, _why(QUERY, used, change), evidence)

    def _change(self, obs: Observation, consumed_rate: float | None, threshold: float) -> float | None:
        """Equation (6); None if the lag is small, or if its growth or the input rate is unknown."""
        lag, input_rate = self._lag.last, consumed_rate if self.per_consumed else obs.arrival_rate
        if lag is None or not input_rate or lag < threshold:
            return None
        rate = growth(self._lag, obs)
        return None if rate is None else finite(max(0.0, 1 + rate / input_rate))

    def _causes(self, graph: Sequence[Operator], rate: float) -> Collection[str]:
        """Names of the operators that cause the lag."""
        shares = {operator.name: self._means.of(operator.name, "held up") or 0.0 for operator in graph}
        held_up = {name for name, share in shares.items() if share > self.backpressure_threshold}
        least = self.lag_rate_threshold
        lag_rates = sources_lag(graph, held_up, rate)
        lagging = {name for name, lag_rate in lag_rates.items() if not least or lag_rate > least}
        return roots(graph, held_up, lagging)

    def _factor(self, used: float | None, change: float | None) -> float | None:
        if used is None or change is None:
            return change if used is None else used / self.target
        return max(used / self.target, change)


def _used(operator: Operator) -> float | None:
    """1 - idle. Flink's idle time excludes the time held up, so that time counts as used."""
    if operator.busy is None or operator.slots <= 0:
        return None
    return min(1.0, operator.busy / operator.slots + (operator.backpressured or 0.0))


def _busy(obs: Observation) -> float | None:
    shares = [executor.busy for executor in obs.per_executor if executor.busy is not None]
    return sum(shares) / len(shares) if shares else None


def _consumed(graph: Sequence[Operator]) -> float | None:
    rates = [rate for rate in (consumed(operator) for operator in graph if operator.source) if rate is not None]
    return sum(rates) if rates else None


def _why(name: str, used: float | None, change: float | None) -> str:
    utilised = name if used is None else f"{name} {used:.0%} utilised"
    return utilised if change is None else f"{utilised}, relative lag change {change:.2f}"


NAMES = {
    "hpa-varga": Entry(
        "Kubernetes' rule on utilisation and growth of the lag",
        "Varga et al.; DEBS'24 4.4",
        HpaVarga,
        {"down-window": 300.0, "step-up": 15},
    ),
}
