"""`daedalus`: capacity by regression, load by forecast, and a scale-out that recovers in time (ICPE'24).

Algorithm 1 of the paper, run once per loop. C_i is the capacity of i executors (3.1, `capacity.regression`), W the mean
load over the last loop, F the forecast for the next 15 minutes (3.3), and RT_i the predicted recovery time (3.4):

    rescaled less than `grace` ago: stay
    rescaled less than `settled` ago, and C_current > W and > max F until the next loop: stay
    for i = 1 .. maximum with C_i > W:
        skip i if RT_i > target, or C_i < max F until RT_i
        stay if i is the current number
        skip i if it is smaller and C_i < lag
        take i if C_i > max F
    else the maximum

The ARIMA forecast is used as long as the previous one was good, that is, its weighted absolute percentage error over
the last loop was below `wape_limit`. Otherwise the forecast is a straight line through the last loop. After
`retrain_after` bad loops in a row the model is retrained, in small slices with each observation, so that no tick waits
for it.

The actual recovery is measured after each rescale (3.5, `capacity.watch`). If it took longer than predicted, the
assumed downtime for that direction increases by one second, otherwise it decreases by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tidegate.capacity.recovery import by_spare_capacity
from tidegate.capacity.regression import CpuRegression
from tidegate.capacity.watch import RecoveryWatch
from tidegate.core import Decision, Forecast, Limits, Observation, check, hold, parameter, part
from tidegate.policies.entry import Entry
from tidegate.policies.forecast_fallback import ForecastWithFallback
from tidegate.policies.lag import behind


@dataclass(frozen=True, slots=True)
class Demand:
    """What the query has to handle: the mean load of the last loop, the forecast, and the records it is behind."""

    load: float
    forecast: Forecast
    lag: float


@dataclass(slots=True)
class Downtime:
    """Current estimate of how many seconds a rescale stops the query, by direction."""

    up: float
    down: float

    def of(self, current: int, executors: int) -> float:
        return self.down if executors < current else self.up

    def learn(self, *, down: bool, longer: bool) -> None:
        change = 1.0 if longer else -1.0
        if down:
            self.down = max(0.0, self.down + change)
        else:
            self.up = max(0.0, self.up + change)


@dataclass(slots=True)
class Rescale:
    """The last rescale: when it happened, whether it was a scale-in, and the predicted recovery time.

    `judged` is set once the measured recovery has been compared with the prediction.
    """

    time: float
    down: bool
    predicted: float | None
    judged: bool = False


@dataclass(slots=True)
class Daedalus:
    """Needs the CPU and throughput of each executor. Holds until the capacity of the current scale-out is known."""

    limits: Limits = field(default_factory=lambda: Limits(1, 1))
    interval: float = parameter(60.0, "s", "time between two loops", above=0)
    target_recovery: float = parameter(600.0, "s", "longest acceptable recovery time", above=0)
    horizon: float = parameter(900.0, "s", "how far ahead the forecast goes", above=0)
    checkpoint: float = parameter(10.0, "s", "work that is repeated after a stop", least=0)
    downtime_up: float = parameter(30.0, "s", "assumed downtime of a scale-out before one is measured", least=0)
    downtime_down: float = parameter(15.0, "s", "assumed downtime of a scale-in before one is measured", least=0)
    grace: float = parameter(180.0, "s", "time after a rescale without any change", least=0)
    settled: float = parameter(600.0, "s", "time after a rescale with necessary changes only", least=0)
    current_lag: int = parameter(0, "", "1: compare the lag with the current capacity, as released", least=0, most=1)
    capacity: CpuRegression = part(CpuRegression)
    forecast: ForecastWithFallback = part(ForecastWithFallback)
    watch: RecoveryWatch = field(default_factory=RecoveryWatch)
    _downtime: Downtime = field(init=False)
    _requested: int | None = None
    _rescale: Rescale | None = None

    def __post_init__(self) -> None:
        check(self, "policy daedalus")
        self.capacity.loop = self.forecast.loop = self.interval
        self._downtime = Downtime(self.downtime_up, self.downtime_down)

    def observe(self, obs: Observation) -> None:
        self._note_rescale(obs)
        self.capacity.update(obs)
        self.forecast.observe(obs.time, obs.arrival_rate)
        self.watch.update(obs)
        self._judge_rescale()

    def _note_rescale(self, obs: Observation) -> None:
        before, self._requested = self._requested, obs.requested
        if before is not None and obs.requested != before:
            demand = self._demand(obs)
            predicted = None if demand is None else self._recovery(demand, before, obs.requested)
            self._rescale = Rescale(obs.time, obs.requested < before, predicted)
            self.watch.begin(obs.time)

    def _judge_rescale(self) -> None:
        last, took = self._rescale, self.watch.measured
        if last is None or last.judged or self.watch.running or took is None:
            return
        last.judged = True
        if last.predicted is not None:
            self._downtime.learn(down=last.down, longer=took > last.predicted)

    @property
    def predicted(self) -> float | None:
        """Predicted recovery time of the last rescale, in seconds."""
        return None if self._rescale is None else self._rescale.predicted

    def decide(self, obs: Observation) -> Decision:
        demand, capacity = self._demand(obs), self.capacity.capacity(obs.requested)
        if demand is None:
            return hold(obs, "no arrivals seen yet")
        if capacity is None:
            return hold(obs, "the capacity of an executor is not known yet: none was warm and at work for a loop")
        load, forecast = demand.load, demand.forecast
        evidence = {"load": load, "capacity": capacity, "forecast": forecast.max(), **self.forecast.evidence()}
        since = math.inf if self._rescale is None else obs.time - self._rescale.time
        if 0 <= since < self.grace:
            return hold(obs, f"rescaled {since:.0f} s ago, {self.grace:g} s are left to it", **evidence)
        if 0 <= since < self.settled and capacity > load and capacity > forecast.max(self.interval):
            return hold(obs, f"rescaled {since:.0f} s ago, and it is enough until the next loop", **evidence)
        return self._choose(obs, demand, evidence)

    def _demand(self, obs: Observation) -> Demand | None:
        load, forecast = self.forecast.recent(self.interval), self.forecast.ahead(self.horizon)
        return None if load is None or forecast is None else Demand(load, forecast, behind(obs) or 0.0)

    def _recovery(self, demand: Demand, current: int, executors: int) -> float | None:
        """Seconds until the query has recovered from a rescale to `executors`; None if their capacity is not known."""
        capacity = self.capacity.capacity(executors)
        if capacity is None:
            return None
        waiting = self.checkpoint * demand.load + demand.lag
        return by_spare_capacity(capacity, demand.forecast, waiting, self._downtime.of(current, executors))

    def _choose(self, obs: Observation, demand: Demand, evidence: dict[str, float]) -> Decision:
        """The loop over scale-outs in Algorithm 1."""
        peak = demand.forecast.max()
        arriving, expected = _short(demand.load), _short(peak)
        for executors in range(self.limits.minimum, self.limits.maximum + 1):
            capacity, recovery = self.capacity.capacity(executors), self._recovery(demand, obs.requested, executors)
            if capacity is None or recovery is None or capacity <= demand.load or recovery > self.target_recovery:
                continue
            if capacity < demand.forecast.max(recovery):
                continue
            ability = f"{executors} can do {_short(capacity)}/s and recover in {recovery:.0f} s"
            if executors == obs.requested:
                return hold(obs, f"{ability}, {arriving}/s arrive", **evidence, recovery=recovery)
            if executors < obs.requested and self._lagging(obs, demand.lag, capacity):
                continue
            if capacity > peak:
                reason = f"{ability}; {arriving}/s arrive, {expected}/s expected"
                return Decision(executors, reason, {**evidence, "recovery": recovery})
        reason = f"no number recovers in {self.target_recovery:g} s: {arriving}/s arrive, {expected}/s expected"
        return Decision(self.limits.maximum, reason, evidence)

    def _lagging(self, obs: Observation, lag: float, capacity: float) -> bool:
        """Whether the lag exceeds one second of work. The query is then still catching up, too early to scale in."""
        threshold = self.capacity.capacity(obs.requested) if self.current_lag else capacity
        return lag > (threshold or 0.0)


def _short(rate: float) -> str:
    """
    >>> _short(950.0), _short(12_345.0), _short(2_500_000.0)
    ('950', '12.3k', '2.5M')
    """
    size, unit = (1e6, "M") if rate >= 1e6 else (1e3, "k") if rate >= 1e3 else (1.0, "")
    return f"{rate / size:.3g}{unit}"


NAMES = {
    "daedalus": Entry("capacity by CPU regression, ARIMA forecast, recovery in time", "ICPE'24", Daedalus),
}
