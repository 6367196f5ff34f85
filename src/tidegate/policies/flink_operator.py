"""`flink-operator`: the autoscaler of the Flink Kubernetes operator.

    true rate   = rate / busy share; under a lag the observed rate, where the other is over 15 % above it
    target rate = max(0, rate + d lag / dt)
    capacity(u) = lag / catch_up + target rate * restart / catch_up + target rate / u
    factor      = capacity(target utilisation) / true rate, within [1 - 0.6, 1 + 100000]
    wanted      = ceil(factor * current)

(flink-kubernetes-operator 1.x, ScalingMetricEvaluator and JobVertexScaler; rates are means over the metrics window.) It
acts only where a true rate is below capacity(u + 0.3), taken without restart, or above capacity(u - 0.3); while more
than five minutes of input wait, only where it is below capacity(1). Fewer are taken only after they were wished
throughout the scale-down interval, and then the most of those wishes.

Where operators are isolated this goes vertex by vertex, targets of the downstream ones by output ratios. On Spark the
query is the one vertex, and its busy share that of its executors' slots. Two things differ there. The target rate is
the source's arrival rate, where the engine knows it: the same quantity, without the sawtooth that the lag of
micro-batches has. And a lag counts as one only beyond a cycle of the query (trigger and batch), which always waits.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.operators import decision, operators, whole
from tidegate.policies.vertices import AGGREGATES, Part, Vertex, summed, target_rate, vertices

#: parts of the metrics window that are summed up: a decision costs so many additions, however often was observed
PARTS = 60


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A vertex over the metrics window."""

    workers: int
    rate: float
    rate_out: float
    true_rate: float
    target_rate: float
    #: records waiting, as input of this vertex
    lag: float

    @property
    def backlog(self) -> float:
        """Seconds of input that wait."""
        return 0.0 if self.lag <= 0 else self.lag / self.rate if self.rate > 0 else math.inf


@dataclass(slots=True)
class Fewer:
    """Since when fewer are wished, and the wishes that were the largest of all from then on."""

    since: float
    peaks: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, time: float, wished: int, age: float) -> None:
        while self.peaks and self.peaks[-1][1] <= wished:
            self.peaks.pop()
        self.peaks.append((time, wished))
        while len(self.peaks) > 1 and self.peaks[0][0] <= time - age:
            self.peaks.popleft()


@dataclass(slots=True)
class FlinkOperator:
    """Nothing is decided before `stabilization_interval` and `metrics_window` have passed since the start, and since
    each change of the number of executors, which drops all figures: 20 minutes with Flink's defaults. Runs shorter
    than a few hours need shorter durations. `catch_up_duration` 0 leaves the lag out, `scalability_observations` 0 the
    scalability coefficient (Flink: off; 3 where it is on).

    >>> FlinkOperator().capacity(target_rate=700, lag=18_000, utilisation=0.7)  # 18000/1800 + 700*300/1800 + 700/0.7
    1126.6666666666667
    """

    interval: float = parameter(10.0, "s", "time between decisions", above=0)
    metrics_window: float = parameter(900.0, "s", "time over which figures are averaged", above=0)
    stabilization_interval: float = parameter(300.0, "s", "time after a rescale that is left out", least=0)
    target: float = parameter(0.7, "share", "utilisation to aim at", above=0, most=1)
    boundary: float = parameter(0.3, "share", "distance from the target that is left alone", least=0, most=1)
    catch_up_duration: float = parameter(1800.0, "s", "time in which a lag is to be worked off; 0: never", least=0)
    restart_time: float = parameter(300.0, "s", "time that a rescale stops the job", least=0)
    backlog_threshold: float = parameter(300.0, "s", "input waiting from which on nothing is given back", least=0)
    scale_down_interval: float = parameter(3600.0, "s", "time for which fewer must have been wished", least=0)
    scale_up_max_factor: float = parameter(100_000.0, "", "most to add at once, as a multiple", least=0)
    scale_down_max_factor: float = parameter(0.6, "share", "most to give back at once", least=0, most=1)
    busy_aggregator: str = parameter(
        "max", "", "busy share of the query from its executors'", choices=tuple(AGGREGATES)
    )
    lag_threshold: float = parameter(30.0, "s", "input waiting from which on the rate is the true rate", least=0)
    switch_threshold: float = parameter(0.15, "share", "how far the busy time may exceed the observed rate", least=0)
    min_observations: int = parameter(2, "", "observations under a lag before they count", least=1)
    scalability_observations: int = parameter(0, "", "rescales before the coefficient counts; 0: off", least=0)
    scalability_minimum: float = parameter(0.5, "share", "least scalability coefficient", above=0, most=1)
    _time: float | None = field(default=None, repr=False)
    _sizes: tuple[int, ...] = field(default=(), repr=False)
    _changed: float = field(default=0.0, repr=False)
    _parts: dict[str, deque[Part]] = field(default_factory=dict, repr=False)
    _fewer: dict[str, Fewer] = field(default_factory=dict, repr=False)
    #: (workers, true rate) before the last rescales
    _history: dict[str, deque[tuple[int, float]]] = field(default_factory=dict, repr=False)
    #: the last observation and what followed from it; needs no memory
    memo: tuple[Observation, dict[str, Evaluation]] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, "policy flink-operator")

    def observe(self, obs: Observation) -> None:
        if obs.time == self._time:
            return
        seen = vertices(obs, self.busy_aggregator)
        sizes = (obs.requested, obs.executors, *[v.workers for v in seen])
        if self._time is None or sizes != self._sizes or not 0 < obs.time - self._time <= self.metrics_window:
            self._restart(obs.time, {v.name for v in seen})
        self._time, self._sizes = obs.time, sizes
        if obs.time >= self._changed + self.stabilization_interval:
            for v in seen:
                self._collect(obs.time, v)
            found = self._evaluate(obs.time, seen) if self._full(obs.time) else {}
            self.memo = obs, found
            self._delay(obs.time, found)

    def _restart(self, time: float, names: set[str]) -> None:
        """Forget the figures of another number of executors; their true rates tell how the query scales."""
        old = {name: kept for name, kept in self._history.items() if name in names}
        if self._time is not None and self.scalability_observations and self._full(self._time):
            for name, parts in self._parts.items():
                rate = self._true_rate(summed(parts)) if parts else math.inf
                if name in names and math.isfinite(rate):
                    old.setdefault(name, deque()).append((parts[-1].workers, rate))
        most = max(3, self.scalability_observations)
        self._history = {name: deque(list(kept)[-most:]) for name, kept in old.items()}
        self._parts, self._fewer, self._changed = {}, {}, time

    def _collect(self, time: float, v: Vertex) -> None:
        parts = self._parts.setdefault(v.name, deque())
        while parts and parts[0].time <= time - self.metrics_window:
            parts.popleft()
        if v.rate is None or v.busy is None:
            return
        if not parts or time >= parts[-1].time + self.metrics_window / PARTS:
            parts.append(Part(time, v.workers, v.lag))
        parts[-1].add(v, self.lag_threshold)

    def _delay(self, time: float, found: Mapping[str, Evaluation]) -> None:
        self._fewer = {name: kept for name, kept in self._fewer.items() if name in found}  # the rest was interrupted
        for name, one in found.items():
            wanted = self._wanted(name, one)
            if wanted >= one.workers:
                self._fewer.pop(name, None)
            else:
                self._fewer.setdefault(name, Fewer(time)).add(time, wanted, self.scale_down_interval)

    def _full(self, time: float) -> bool:
        return time >= self._changed + self.stabilization_interval + self.metrics_window

    def decide(self, obs: Observation) -> Decision:
        if not self._full(obs.time):
            left = self._changed + self.stabilization_interval + self.metrics_window - obs.time
            return hold(obs, f"the metrics window is full in {left:.0f} s", wait=left)
        # what was just observed was evaluated then
        just = self.memo is not None and self.memo[0] is obs
        found = self.memo[1] if just and self.memo else self._evaluate(obs.time, vertices(obs, self.busy_aggregator))
        if not found:
            return hold(obs, "rate or busy time is not known")
        wishes = {name: self._settled(obs.time, name, one) for name, one in found.items()}
        changed = {name: one for name, one in found.items() if wishes[name] != one.workers}
        late = any(one.backlog > self.backlog_threshold for one in found.values())
        told, evidence = self._told(obs, found, late)
        if not changed:
            return hold(obs, f"{told}{self._waited(obs.time)}", **evidence)
        if not any(self._outside(one, late) for one in changed.values()):
            return hold(obs, f"{told}, which is within bounds", **evidence)
        if not obs.isolated:
            (wish,) = wishes.values()
            return Decision(wish, f"{told}: {obs.requested} -> {wish}", evidence)
        needs = {one.name: float(wishes.get(one.name, whole(one.slots))) for one in operators(obs)}
        return decision(obs, needs, f"{told}: {', '.join(sorted(changed))} change", evidence)

    def _evaluate(self, time: float, seen: Iterable[Vertex]) -> dict[str, Evaluation]:
        """Upstream first, as the engine gives them; what was not seen is left out."""
        found: dict[str, Evaluation] = {}
        for v in seen:
            if v.workers > 0 and (parts := self._parts.get(v.name)):
                found[v.name] = self._evaluation(time, v, summed(parts), found)
        return found

    def _evaluation(self, time: float, v: Vertex, window: Part, found: Mapping[str, Evaluation]) -> Evaluation:
        rate, rate_out = window.rate / window.count, window.rate_out / window.count
        inputs = [found[name] for name in v.upstream if name in found]
        if inputs:
            alone = len(v.upstream) == 1
            ratios = [_ratio(rate if alone else one.rate_out, one.rate) for one in inputs]
            target = sum(one.target_rate * ratio for one, ratio in zip(inputs, ratios, strict=True))
            lag = sum(one.lag * ratio for one, ratio in zip(inputs, ratios, strict=True))
        else:
            target, lag = target_rate(time, v, window), v.lag or 0.0
        return Evaluation(v.workers, rate, rate_out, self._true_rate(window), target, lag)

    def _true_rate(self, window: Part) -> float:
        """Without input no bound is known: infinite, as in Flink."""
        if window.rate <= 0 or window.busy <= 0:
            return math.inf
        true = window.rate / window.busy
        if window.lagging >= self.min_observations:
            observed = window.observed / window.lagging
            true = observed if true > observed * (1 + self.switch_threshold) else true
        return true or math.inf

    def capacity(self, target_rate: float, lag: float, utilisation: float, *, restart: bool = True) -> float:
        """The rate that must be possible to keep up at a utilisation, with the lag gone in time."""
        utilisation = min(1.0, round(utilisation, 9))
        if utilisation <= 0:
            return math.inf
        late = lag + (target_rate * self.restart_time if restart else 0.0)
        return (late / self.catch_up_duration if self.catch_up_duration else 0.0) + target_rate / utilisation

    def _wanted(self, name: str, one: Evaluation) -> int:
        factor = self.capacity(one.target_rate, one.lag, self.target) / one.true_rate / self._scalability(name)
        low, high = 1 - self.scale_down_max_factor, 1 + self.scale_up_max_factor
        # not a number: neither is known, so neither more nor fewer
        return one.workers if math.isnan(factor) else whole(min(max(factor, low), high) * one.workers)

    def _scalability(self, name: str) -> float:
        """Least squares of true rate = coefficient * rate per worker at the smallest size * workers."""
        seen = self._history.get(name, ())
        if not self.scalability_observations or len(seen) < self.scalability_observations:
            return 1.0
        least, rate = min(seen)
        squares = sum(workers**2 for workers, _ in seen) * rate / max(1, least)
        fitted = sum(workers * rate for workers, rate in seen) / squares if squares > 0 else 1.0
        return min(max(fitted, self.scalability_minimum), 1.0)

    def _settled(self, time: float, name: str, one: Evaluation) -> int:
        wanted, fewer = self._wanted(name, one), self._fewer.get(name)
        if wanted >= one.workers:
            return wanted
        if fewer is None or time < fewer.since + self.scale_down_interval:
            return one.workers
        return max(wished for _, wished in fewer.peaks)

    def _outside(self, one: Evaluation, late: bool) -> bool:
        low, high = (0.0, 1.0) if late else (self.target - self.boundary, self.target + self.boundary)
        least = self.capacity(one.target_rate, one.lag, high, restart=False)
        return one.true_rate < least or one.true_rate > self.capacity(one.target_rate, one.lag, low)

    def _told(self, obs: Observation, found: Mapping[str, Evaluation], late: bool) -> tuple[str, dict[str, float]]:
        """The vertex that is nearest to its true rate, in words and numbers."""
        name, one = max(found.items(), key=lambda item: item[1].target_rate / item[1].true_rate)
        load = one.target_rate / one.true_rate
        evidence = {"target_rate": one.target_rate, "lag": one.lag, "utilisation": load, "true_rate": one.true_rate}
        known = f"{one.target_rate:.0f} of {one.true_rate:.0f} records/s, {load:.0%}"
        told = f"{name}: {known}" if obs.isolated else known if math.isfinite(one.true_rate) else "no input"
        if late:
            told += f", {one.backlog:.0f} s behind"
        return told, {key: value for key, value in evidence.items() if math.isfinite(value)}

    def _waited(self, time: float) -> str:
        since = min((one.since for one in self._fewer.values()), default=None)
        return "" if since is None else f", fewer wished for {time - since:.0f} of {self.scale_down_interval:g} s"


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else 0.0
