"""`ds2`: computes the parallelism that the arrival rate requires, for all operators at once, from their true rates.

    optimum = X * p / T        desired = max(1, ceil(factor * optimum))        passed on = O * optimum / p

(Evaluating autoscalers, DEBS'24, 4.2, equation (3); Kalavri et al., OSDI'18.) X is the arrival rate at a source, and
below the sources the rate that the upstream operators pass on. T and O are the true processing and output rates, summed
over the p workers (`capacity/truerate.py`). The factor is the paper's over-provisioning of 1.2.

On Spark all stages share the slots. Their needs are added up and rounded once, so that neither the factor nor the
arrivals disappear in the rounding of many small stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.capacity.truerate import TrueRates, finite, optima
from tidegate.core import Decision, Observation, Target, check, hold, parameter
from tidegate.policies.entry import DEBS, Entry
from tidegate.policies.operators import fold, operators, whole
from tidegate.stats import Means


@dataclass(slots=True)
class Ds2:
    """An operator that has input but no known true rate, because it was never busy, keeps its parallelism.

    >>> from tidegate.core import OperatorSample
    >>> source = OperatorSample("source", parallelism=2, rate_in=1000.0, rate_out=1000.0, busy=1.0)
    >>> window = OperatorSample("window", ("source",), parallelism=4, rate_in=1000.0, rate_out=5.0, busy=3.0)
    >>> obs = Observation(0, 6, 6, arrival_rate=1500.0, operators=(source, window), isolated=True)
    >>> policy = Ds2()
    >>> policy.observe(obs)
    >>> policy.decide(obs).reason  # 1.2 * 1.5 and 1.2 * 4.5
    '1,500 records/s x 1.2: source 2 -> 2, window 4 -> 6'
    """

    overprovision: float = parameter(1.2, "", "factor on the un-rounded optimum", above=0)
    interval: float = parameter(15.0, "s", "time between decisions", above=0)
    window: float = parameter(15.0, "s", "span over which rates are averaged", above=0)
    lag_horizon: float = parameter(0.0, "s", "time in which to work off the backlog; 0: ignore it", least=0)
    shared_by: str = parameter(
        "rate", "", "how arrivals are split among several sources", choices=("rate", "even", "all")
    )
    double_ceil: int = parameter(0, "", "1: ceil(ceil(optimum) * factor), as released", least=0, most=1)
    _rates: TrueRates = field(default_factory=TrueRates, repr=False)
    _arrivals: Means = field(default_factory=Means, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy ds2")

    def observe(self, obs: Observation) -> None:
        self._rates.window = self.window
        self._rates.update(obs)
        self._arrivals.update(obs.time, self.window, {"query": {"rate": obs.arrival_rate}})

    def decide(self, obs: Observation) -> Decision:
        rate = self._target_rate(obs)
        if rate is None:
            return hold(obs, "the arrival rate is not known yet")
        if not obs.operators:
            return hold(obs, "no figures of operators yet", target=rate)
        optimum = self._optima(obs, rate)
        if all(slots is None for slots in optimum.values()):
            return hold(obs, "no operator was seen at work yet", target=rate)
        return self._decision(obs, optimum, rate)

    def _target_rate(self, obs: Observation) -> float | None:
        arriving = self._arrivals.of("query", "rate")
        if arriving is None or not self.lag_horizon:
            return arriving
        return arriving + (obs.backlog or 0.0) / self.lag_horizon

    def _optima(self, obs: Observation, target_rate: float) -> dict[str, float | None]:
        if not obs.isolated:
            return self._rates.shared([stage.name for stage in obs.operators], target_rate)
        consumed = {
            operator.name: self._rates.rate_in(operator.name) or 0.0
            for operator in obs.operators
            if not operator.upstream
        }
        return optima(self._rates.rates(obs), _source_rates(consumed, target_rate, self.shared_by))

    def _decision(self, obs: Observation, optimum: Mapping[str, float | None], target_rate: float) -> Decision:
        current = {operator.name: operator.slots for operator in operators(obs)} if None in optimum.values() else {}
        before_factor, needs, evidence = {}, {}, {"target": target_rate, "overprovision": self.overprovision}
        for name, slots in optimum.items():
            if slots is None:
                before_factor[name] = needs[name] = current[name]
            else:
                before_factor[name], needs[name] = slots, self._overprovisioned(obs, slots)
                evidence[f"optimum {name}"] = slots
        shares = {name: whole(need) for name, need in needs.items()}
        rounded_first = self.double_ceil and not obs.isolated
        wish = whole(fold(obs, before_factor) * self.overprovision) if rounded_first else fold(obs, needs)
        change = _change(obs, wish, shares, sum(before_factor.values()))
        reason = f"{target_rate:,.0f} records/s x {self.overprovision:g}: {change}"
        return Decision(Target(wish, shares), reason, evidence)

    def _overprovisioned(self, obs: Observation, slots: float) -> float:
        """The optimum times the factor. With `double_ceil`, isolated operators are rounded up before it as well."""
        before = float(whole(slots)) if self.double_ceil and obs.isolated else slots
        return finite(before * self.overprovision) or before


def _change(obs: Observation, wish: int, shares: Mapping[str, int], slots: float) -> str:
    if not obs.isolated:
        return f"{slots:.2f} slots before the factor, {obs.requested} -> {wish}"
    return ", ".join(f"{operator.name} {operator.parallelism} -> {shares[operator.name]}" for operator in obs.operators)


def _source_rates(rates: Mapping[str, float], target: float, shared_by: str) -> dict[str, float]:
    """The target rate of each source. `all` is for sources that each read the whole topic.

    >>> [_source_rates({"bids": 300.0, "persons": 100.0}, 800.0, how)["bids"] for how in ("rate", "even", "all")]
    [600.0, 400.0, 800.0]
    """
    total = sum(rates.values())
    if shared_by == "all":
        return dict.fromkeys(rates, target)
    if shared_by == "even" or total <= 0:
        return dict.fromkeys(rates, target / max(1, len(rates)))
    return {name: target * (rate / total) for name, rate in rates.items()}


NAMES = {
    "ds2": Entry("arrival rate over the true rate of an operator's instance", "DS2; DEBS'24 4.2", Ds2, DEBS),
}
