"""`hpa-varga`: the horizontal pod autoscaler on utilisation and on the change of the lag, whichever asks for more.

    f_util = (1 - idle) / target       f_lag = 1 + d(lag)/dt / input rate
    desired = max(1, ceil(current * max(f_util, f_lag)))

(Evaluating autoscalers, DEBS'24, 4.4, equations (5) and (6).) 1 - idle is the share of time in which an operator works
or is held up. The change of the lag is that of the source's queue, so it counts only for the operators that are to
blame for it: the roots of backpressure (`bottleneck.py`), or the sources where nothing is held up. While the lag is
below a threshold it is ignored, so that utilisation alone can shrink what is too large.

On Spark the query is one operator: its utilisation is the busy share of the executors' slots, and the lag that batches
always have, what arrives in one trigger, is below the threshold too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tidegate.capacity.truerate import finite
from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.bottleneck import Lag, consumed, cycle, growth, ordinary, resized, roots, sources_lag
from tidegate.policies.operators import Operator, decision, operators, whole
from tidegate.stats import Means

#: the name under which Spark's executors are averaged
QUERY = "query"


@dataclass(slots=True)
class HpaVarga:
    """An operator of which neither utilisation nor a share in the lag is known keeps its parallelism.

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
        0.0, "records/s", "a source whose lag grows no faster is not to blame, as released; 0: off", least=0
    )
    per_consumed: int = parameter(
        0, "", "1: the lag's change is relative to the rate taken in, as released", least=0, most=1
    )
    backpressure_threshold: float = parameter(
        0.1, "share", "held up for more of the time than this is backpressure", least=0, most=1
    )
    _means: Means = field(default_factory=Means, repr=False)
    _lag: Lag = field(default_factory=Lag, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy hpa-varga")

    def observe(self, obs: Observation) -> None:
        self._lag.update(obs, self.slope_window)
        if obs.isolated:
            figures = {one.name: {"used": _used(one), "held up": one.backpressured} for one in operators(obs)}
        else:
            figures = {QUERY: {"used": _busy(obs)}}
        self._means.update(obs.time, max(self.window, 2 * cycle(obs)), figures)  # two batches at least

    def decide(self, obs: Observation) -> Decision:
        return self._per_operator(obs) if obs.isolated else self._query(obs)

    def _per_operator(self, obs: Observation) -> Decision:
        seen = operators(obs)
        rate = growth(self._lag, obs)
        change = self._change(obs, _taken(seen), self.lag_threshold)
        blamed = self._blamed(seen, rate or 0.0) if change is not None else ()
        used = {one.name: self._means.of(one.name, "used") for one in seen}
        factors = {one.name: self._factor(used[one.name], change if one.name in blamed else None) for one in seen}
        known = {name: factor for name, factor in factors.items() if factor is not None}
        if not known:
            return hold(obs, "no figures of operators yet")
        needs = {one.name: one.slots * known.get(one.name, 1.0) for one in seen}
        why = {name: _why(name, used[name], change if name in blamed else None) for name in known}
        told = [f"{why[one.name]}, {one.slots:.0f} -> {whole(needs[one.name])}" for one in seen if one.name in known]
        evidence = {f"factor {name}": factor for name, factor in known.items()}
        return decision(obs, needs, "; ".join(told), evidence | ({} if rate is None else {"lag rate": rate}))

    def _query(self, obs: Observation) -> Decision:
        used = self._means.of(QUERY, "used")
        change = self._change(obs, obs.processing_rate, max(self.lag_threshold, ordinary(obs)))
        if self.lag_rate_threshold and (growth(self._lag, obs) or 0.0) <= self.lag_rate_threshold:
            change = None
        factor = self._factor(used, change)
        if factor is None:
            return hold(obs, "neither busy slots nor a lag are known yet")
        known = {"utilisation": used, "lag change": change, "lag": self._lag.last, "factor": factor}
        evidence = {name: value for name, value in known.items() if value is not None}
        return resized(obs, factor, _why(QUERY, used, change), evidence)

    def _change(self, obs: Observation, taken: float | None, threshold: float) -> float | None:
        """Equation (6); None where the lag is small, or its course or the rate not known."""
        lag, over = self._lag.last, taken if self.per_consumed else obs.arrival_rate
        if lag is None or not over or lag < threshold:
            return None
        rate = growth(self._lag, obs)
        return None if rate is None else finite(max(0.0, 1 + rate / over))

    def _blamed(self, seen: Sequence[Operator], rate: float) -> Collection[str]:
        shares = {one.name: self._means.of(one.name, "held up") or 0.0 for one in seen}
        held_up = {name for name, share in shares.items() if share > self.backpressure_threshold}
        least = self.lag_rate_threshold
        behind = {name for name, own in sources_lag(seen, held_up, rate).items() if not least or own > least}
        return roots(seen, held_up, behind)

    def _factor(self, used: float | None, change: float | None) -> float | None:
        if used is None or change is None:
            return change if used is None else used / self.target
        return max(used / self.target, change)


def _used(one: Operator) -> float | None:
    """1 - idle: Flink's idle time leaves out the time held up, so that counts as used."""
    if one.busy is None or one.slots <= 0:
        return None
    return min(1.0, one.busy / one.slots + (one.backpressured or 0.0))


def _busy(obs: Observation) -> float | None:
    known = [sample.busy for sample in obs.per_executor if sample.busy is not None]
    return sum(known) / len(known) if known else None


def _taken(seen: Sequence[Operator]) -> float | None:
    known = [rate for rate in (consumed(one) for one in seen if one.source) if rate is not None]
    return sum(known) if known else None


def _why(name: str, used: float | None, change: float | None) -> str:
    utilised = name if used is None else f"{name} {used:.0%} utilised"
    return utilised if change is None else f"{utilised}, relative lag change {change:.2f}"
