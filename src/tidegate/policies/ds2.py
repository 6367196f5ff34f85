"""`ds2`: the parallelism that the arrivals need, for all operators in one step, from their true rates.

    optimum = X * p / T        desired = max(1, ceil(factor * optimum))        passed on = O * optimum / p

(Evaluating autoscalers, DEBS'24, 4.2, equation (3); Kalavri et al., OSDI'18.) X is what arrives at the sources and,
below them, what the operators upstream pass on; T and O are the true processing and output rates, summed over the p
workers (`capacity/truerate.py`). The factor is the paper's over-provisioning, 1.2.

On Spark all stages share the slots: what they need is added up and rounded once, so that factor and arrivals are not
lost in the rounding of many small stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.capacity.truerate import TrueRates, finite, optima
from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.operators import fold, operators, whole
from tidegate.stats import Means


@dataclass(slots=True)
class Ds2:
    """An operator with input whose true rate is not known (it was never busy) keeps what it has.

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
    lag_horizon: float = parameter(0.0, "s", "time in which to work off the backlog; 0: it is ignored", least=0)
    shared_by: str = parameter(
        "rate", "", "what each of several sources gets of the arrivals", choices=("rate", "even", "all")
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
        target = self._target(obs)
        if target is None:
            return hold(obs, "the arrival rate is not known yet")
        if not obs.operators:
            return hold(obs, "no figures of operators yet", target=target)
        found = self._optima(obs, target)
        if all(need is None for need in found.values()):
            return hold(obs, "no operator was seen at work yet", target=target)
        return self._decision(obs, found, target)

    def _target(self, obs: Observation) -> float | None:
        arriving = self._arrivals.of("query", "rate")
        if arriving is None or not self.lag_horizon:
            return arriving
        return arriving + (obs.backlog or 0.0) / self.lag_horizon

    def _optima(self, obs: Observation, target: float) -> dict[str, float | None]:
        if not obs.isolated:
            return self._rates.shared([one.name for one in obs.operators], target)
        taken_in = {one.name: self._rates.rate_in(one.name) or 0.0 for one in obs.operators if not one.upstream}
        return optima(self._rates.rates(obs), _sources(taken_in, target, self.shared_by))

    def _decision(self, obs: Observation, found: Mapping[str, float | None], target: float) -> Decision:
        kept = {one.name: one.slots for one in operators(obs)} if None in found.values() else {}
        plain, needs, evidence = {}, {}, {"target": target, "overprovision": self.overprovision}
        for name, need in found.items():
            if need is None:
                plain[name] = needs[name] = kept[name]
            else:
                plain[name], needs[name] = need, self._roomy(obs, need)
                evidence[f"optimum {name}"] = need
        shares = {name: whole(need) for name, need in needs.items()}
        rounded_first = self.double_ceil and not obs.isolated
        wish = whole(fold(obs, plain) * self.overprovision) if rounded_first else fold(obs, needs)
        told = _wished(obs, wish, shares, sum(plain.values()))
        return Decision(wish, f"{target:,.0f} records/s x {self.overprovision:g}: {told}", evidence, shares)

    def _roomy(self, obs: Observation, need: float) -> float:
        """With room to spare; rounded before it where that is asked for and each operator is rounded by itself."""
        before = float(whole(need)) if self.double_ceil and obs.isolated else need
        return finite(before * self.overprovision) or before


def _wished(obs: Observation, wish: int, shares: Mapping[str, int], slots: float) -> str:
    if not obs.isolated:
        return f"{slots:.2f} slots before the factor, {obs.requested} -> {wish}"
    return ", ".join(f"{one.name} {one.parallelism} -> {shares[one.name]}" for one in obs.operators)


def _sources(rates: Mapping[str, float], target: float, shared_by: str) -> dict[str, float]:
    """What each source is to take in. `all` is for sources that read one topic, each for itself.

    >>> [_sources({"bids": 300.0, "persons": 100.0}, 800.0, how)["bids"] for how in ("rate", "even", "all")]
    [600.0, 400.0, 800.0]
    """
    total = sum(rates.values())
    if shared_by == "all":
        return dict.fromkeys(rates, target)
    if shared_by == "even" or total <= 0:
        return dict.fromkeys(rates, target / max(1, len(rates)))
    return {name: target * (rate / total) for name, rate in rates.items()}
