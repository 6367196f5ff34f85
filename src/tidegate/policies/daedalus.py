"""`daedalus`: capacity by regression, load by forecast, and a scale-out that can recover in time (ICPE'24).

Algorithm 1 of the paper, asked once a loop. With C_i the capacity of i executors (3.1, `capacity.regression`), W the
mean load of the last loop, F the forecast of the next 15 minutes (3.3) and RT_i the predicted recovery time (3.4):

    rescaled less than `grace` ago: stay
    rescaled less than `settled` ago, and C_current > W and > max F until the next loop: stay
    for i = 1 .. maximum with C_i > W:
        skip i if RT_i > target, or C_i < max F until RT_i
        stay if i is the current number
        skip i if it is smaller and C_i < lag
        take i if C_i > max F
    else the maximum

The forecast is ARIMA's while its last one was good (weighted absolute percentage error below `wape_limit` over the last
loop), else a straight line through the last loop. After `retrain_after` loops of bad forecasts in a row the model is
trained again, a slice with every observation, so that no tick waits for it.

After each rescale the real recovery is measured (3.5, `capacity.watch`), and the downtime of that direction grows by a
second if it took longer than predicted, and shrinks by one if not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tidegate.capacity.recovery import by_spare_capacity
from tidegate.capacity.regression import CpuRegression
from tidegate.capacity.watch import RecoveryWatch
from tidegate.core import Decision, Forecast, Limits, Observation, check, hold, parameter, part
from tidegate.policies.forecast_fallback import Judged
from tidegate.policies.lag import behind


@dataclass(frozen=True, slots=True)
class Known:
    """What a decision goes by: mean load of the last loop, its forecast, and how many records are behind."""

    load: float
    ahead: Forecast
    lag: float


@dataclass(slots=True)
class Downtime:
    """Seconds that a rescale stops the query for, by direction, as far as is known."""

    up: float
    down: float

    def of(self, current: int, wished: int) -> float:
        return self.down if wished < current else self.up

    def learn(self, *, down: bool, longer: bool) -> None:
        change = 1.0 if longer else -1.0
        if down:
            self.down = max(0.0, self.down + change)
        else:
            self.up = max(0.0, self.up + change)


@dataclass(slots=True)
class Rescale:
    """The last one: when, whether it went down, and how long it was predicted to take."""

    time: float
    down: bool
    predicted: float | None
    judged: bool = False


@dataclass(slots=True)
class Daedalus:
    """Needs CPU and throughput of each executor; holds until the capacity of the current number is known."""

    limits: Limits = field(default_factory=lambda: Limits(1, 1))
    interval: float = parameter(60.0, "s", "time from loop to loop", above=0)
    target_recovery: float = parameter(600.0, "s", "recovery may take this long", above=0)
    horizon: float = parameter(900.0, "s", "how far ahead the forecast goes", above=0)
    checkpoint: float = parameter(10.0, "s", "work that is done again after a stop", least=0)
    downtime_up: float = parameter(30.0, "s", "of a rescale to more, before one was measured", least=0)
    downtime_down: float = parameter(15.0, "s", "of a rescale to fewer, before one was measured", least=0)
    grace: float = parameter(180.0, "s", "after a rescale nothing is changed", least=0)
    settled: float = parameter(600.0, "s", "after a rescale only what must be is changed", least=0)
    current_lag: int = parameter(0, "", "1: compare the lag with today's capacity, as released", least=0, most=1)
    capacity: CpuRegression = part(CpuRegression)
    forecast: Judged = part(Judged)
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
            known = self._known(obs)
            predicted = None if known is None else self._recovery(known, before, obs.requested)
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
        """Seconds that the last rescale was predicted to take to recover from."""
        return None if self._rescale is None else self._rescale.predicted

    def decide(self, obs: Observation) -> Decision:
        known, capacity = self._known(obs), self.capacity.capacity(obs.requested)
        if known is None:
            return hold(obs, "no arrivals seen yet")
        if capacity is None:
            return hold(obs, "the capacity of an executor is not known yet: none was warm and at work for a loop")
        load, ahead = known.load, known.ahead
        evidence = {"load": load, "capacity": capacity, "forecast": ahead.max(), **self.forecast.evidence()}
        since = math.inf if self._rescale is None else obs.time - self._rescale.time
        if 0 <= since < self.grace:
            return hold(obs, f"rescaled {since:.0f} s ago, {self.grace:g} s are left to it", **evidence)
        if 0 <= since < self.settled and capacity > load and capacity > ahead.max(self.interval):
            return hold(obs, f"rescaled {since:.0f} s ago, and it is enough until the next loop", **evidence)
        return self._choose(obs, known, evidence)

    def _known(self, obs: Observation) -> Known | None:
        load, ahead = self.forecast.recent(self.interval), self.forecast.ahead(self.horizon)
        return None if load is None or ahead is None else Known(load, ahead, behind(obs) or 0.0)

    def _recovery(self, known: Known, current: int, wished: int) -> float | None:
        """Seconds that a rescale to `wished` would take to recover from; None where its capacity is not known."""
        capacity = self.capacity.capacity(wished)
        if capacity is None:
            return None
        waiting = self.checkpoint * known.load + known.lag
        return by_spare_capacity(capacity, known.ahead, waiting, self._downtime.of(current, wished))

    def _choose(self, obs: Observation, known: Known, evidence: dict[str, float]) -> Decision:
        """Algorithm 1, the loop over scale-outs."""
        peak = known.ahead.max()
        arriving, expected = _short(known.load), _short(peak)
        for wished in range(self.limits.minimum, self.limits.maximum + 1):
            capacity, recovery = self.capacity.capacity(wished), self._recovery(known, obs.requested, wished)
            if capacity is None or recovery is None or capacity <= known.load or recovery > self.target_recovery:
                continue
            if capacity < known.ahead.max(recovery):
                continue
            told = f"{wished} can do {_short(capacity)}/s and recover in {recovery:.0f} s"
            if wished == obs.requested:
                return hold(obs, f"{told}, {arriving}/s arrive", **evidence, recovery=recovery)
            if wished < obs.requested and self._lagging(obs, known.lag, capacity):
                continue
            if capacity > peak:
                reason = f"{told}; {arriving}/s arrive, {expected}/s expected"
                return Decision(wished, reason, {**evidence, "recovery": recovery})
        reason = f"no number recovers in {self.target_recovery:g} s: {arriving}/s arrive, {expected}/s expected"
        return Decision(self.limits.maximum, reason, evidence)

    def _lagging(self, obs: Observation, lag: float, capacity: float) -> bool:
        """Whether more waits than a second's work: the query is still catching up, and fewer would be too early."""
        compared = self.capacity.capacity(obs.requested) if self.current_lag else capacity
        return lag > (compared or 0.0)


def _short(rate: float) -> str:
    """
    >>> _short(950.0), _short(12_345.0), _short(2_500_000.0)
    ('950', '12.3k', '2.5M')
    """
    size, unit = (1e6, "M") if rate >= 1e6 else (1e3, "k") if rate >= 1e3 else (1.0, "")
    return f"{rate / size:.3g}{unit}"
