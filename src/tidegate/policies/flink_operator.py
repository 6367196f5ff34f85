"""`flink-operator`: the autoscaler of the Flink Kubernetes operator.

    true rate   = rate / busy share; under a lag the observed rate, if the former exceeds it by more than 15 %
    target rate = max(0, rate + d lag / dt)
    capacity(u) = lag / catch_up + target rate * restart / catch_up + target rate / u
    factor      = capacity(target utilisation) / true rate, within [1 - 0.6, 1 + 100000]
    wanted      = ceil(factor * current)

(flink-kubernetes-operator 1.x, ScalingMetricEvaluator and JobVertexScaler; rates are means over the metrics window.) It
acts only if a true rate is below capacity(u + 0.3), computed without the restart term, or above capacity(u - 0.3).
While more than five minutes of input are waiting, it acts only if a true rate is below capacity(1). It scales in only
after a smaller parallelism was computed throughout the scale-down interval, and then to the largest of those values.

If operators are isolated, the rule is applied vertex by vertex, and the target rates of downstream vertices follow from
output ratios. On Spark the query is a single vertex whose busy share is that of its executors' slots. Two things differ
there. The target rate is the arrival rate of the source if the engine knows it: the same quantity, without the sawtooth
of a lag in micro-batches. And only the lag beyond one cycle of the query (trigger and batch) counts, because that much
input is always waiting.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.entry import Entry
from tidegate.policies.operators import decision, operators, whole
from tidegate.policies.vertices import AGGREGATES, Part, Vertex, summed, target_rate, vertices

#: number of parts into which the metrics window is divided. Figures are summed per part, so the cost of a decision does
#: not depend on the number of observations
PARTS = 60


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of a vertex over the metrics window."""

    workers: int
    rate: float
    rate_out: float
    true_rate: float
    target_rate: float
    #: waiting records, counted as input of this vertex
    lag: float

    @property
    def backlog(self) -> float:
        """Seconds of input that are waiting."""
        return 0.0 if self.lag <= 0 else self.lag / self.rate if self.rate > 0 else math.inf


@dataclass(slots=True)
class DelayedScaleDown:
    """When a scale-in was first computed, and the sliding maximum of the parallelism computed since then."""

    since: float
    #: times and values, falling from the oldest to the newest
    peaks: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, time: float, workers: int, age: float) -> None:
        while self.peaks and self.peaks[-1][1] <= workers:
            self.peaks.pop()
        self.peaks.append((time, workers))
        while len(self.peaks) > 1 and self.peaks[0][0] <= time - age:
            self.peaks.popleft()


@dataclass(slots=True)
class FlinkOperator:
    """Makes no decision until `stabilization_interval` and `metrics_window` have passed since the start or since the
    last change of the number of executors, which discards all figures. With Flink's defaults that is 20 minutes, so
    runs of less than a few hours need shorter durations. `catch_up_duration` 0 ignores the lag, and
    `scalability_observations` 0 ignores the scalability coefficient (Flink: off by default, 3 if enabled).

    >>> FlinkOperator().capacity(target_rate=700, lag=18_000, utilisation=0.7)  # 18000/1800 + 700*300/1800 + 700/0.7
    1126.6666666666667
    """

    interval: float = parameter(10.0, "s", "time between decisions", above=0)
    metrics_window: float = parameter(900.0, "s", "time over which figures are averaged", above=0)
    stabilization_interval: float = parameter(300.0, "s", "time after a rescale whose figures are ignored", least=0)
    target: float = parameter(0.7, "share", "utilisation to aim at", above=0, most=1)
    boundary: float = parameter(0.3, "share", "distance from the target without a change", least=0, most=1)
    catch_up_duration: float = parameter(1800.0, "s", "time in which to work off a lag; 0: ignore it", least=0)
    restart_time: float = parameter(300.0, "s", "time that a rescale stops the job", least=0)
    backlog_threshold: float = parameter(300.0, "s", "waiting input above which there is no scale-in", least=0)
    scale_down_interval: float = parameter(3600.0, "s", "time for which fewer must have been computed", least=0)
    scale_up_max_factor: float = parameter(100_000.0, "", "largest increase at once, as a multiple", least=0)
    scale_down_max_factor: float = parameter(0.6, "share", "largest decrease at once", least=0, most=1)
    busy_aggregator: str = parameter("max", "", "how executors' busy shares are combined", choices=tuple(AGGREGATES))
    lag_threshold: float = parameter(30.0, "s", "waiting input from which the rate is the true rate", least=0)
    switch_threshold: float = parameter(0.15, "share", "by how much the rate from busy time may exceed it", least=0)
    min_observations: int = parameter(2, "", "observations under a lag before they count", least=1)
    scalability_observations: int = parameter(0, "", "rescales before the coefficient counts; 0: off", least=0)
    scalability_minimum: float = parameter(0.5, "share", "least scalability coefficient", above=0, most=1)
    _time: float | None = field(default=None, repr=False)
    _sizes: tuple[int, ...] = field(default=(), repr=False)
    _changed: float = field(default=0.0, repr=False)
    _parts: dict[str, deque[Part]] = field(default_factory=dict, repr=False)
    _fewer: dict[str, DelayedScaleDown] = field(default_factory=dict, repr=False)
    #: (workers, true rate) before the last rescales
    _history: dict[str, deque[tuple[int, float]]] = field(default_factory=dict, repr=False)
    #: the last observation and its evaluations: a cache, which is not stored with the memory
    memo: tuple[Observation, dict[str, Evaluation]] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, "policy flink-operator")

    def observe(self, obs: Observation) -> None:
        if obs.time == self._time:
            return
        graph = vertices(obs, self.busy_aggregator)
        sizes = (obs.requested, obs.executors, *[vertex.workers for vertex in graph])
        if self._time is None or sizes != self._sizes or not 0 < obs.time - self._time <= self.metrics_window:
            self._restart(obs.time, {vertex.name for vertex in graph})
        self._time, self._sizes = obs.time, sizes
        if obs.time >= self._changed + self.stabilization_interval:
            for vertex in graph:
                self._collect(obs.time, vertex)
            evaluations = self._evaluate(obs.time, graph) if self._full(obs.time) else {}
            self.memo = obs, evaluations
            self._delay(obs.time, evaluations)

    def _restart(self, time: float, names: set[str]) -> None:
        """Discard the figures measured with another number of executors, but keep their true rates: they show how the
        query scales.
        """
        history = {name: points for name, points in self._history.items() if name in names}
        if self._time is not None and self.scalability_observations and self._full(self._time):
            for name, parts in self._parts.items():
                rate = self._true_rate(summed(parts)) if parts else math.inf
                if name in names and math.isfinite(rate):
                    history.setdefault(name, deque()).append((parts[-1].workers, rate))
        most = max(3, self.scalability_observations)
        self._history = {name: deque(list(points)[-most:]) for name, points in history.items()}
        self._parts, self._fewer, self._changed = {}, {}, time

    def _collect(self, time: float, vertex: Vertex) -> None:
        parts = self._parts.setdefault(vertex.name, deque())
        while parts and parts[0].time <= time - self.metrics_window:
            parts.popleft()
        if vertex.rate is None or vertex.busy is None:
            return
        if not parts or time >= parts[-1].time + self.metrics_window / PARTS:
            parts.append(Part(time, vertex.workers, vertex.lag))
        parts[-1].add(vertex, self.lag_threshold)

    def _delay(self, time: float, evaluations: Mapping[str, Evaluation]) -> None:
        # a vertex without an evaluation starts its wait anew
        self._fewer = {name: delay for name, delay in self._fewer.items() if name in evaluations}
        for name, evaluation in evaluations.items():
            workers = self._desired(name, evaluation)
            if workers >= evaluation.workers:
                self._fewer.pop(name, None)
            else:
                delay = self._fewer.setdefault(name, DelayedScaleDown(time))
                delay.add(time, workers, self.scale_down_interval)

    def _full(self, time: float) -> bool:
        return time >= self._changed + self.stabilization_interval + self.metrics_window

    def decide(self, obs: Observation) -> Decision:
        if not self._full(obs.time):
            left = self._changed + self.stabilization_interval + self.metrics_window - obs.time
            return hold(obs, f"the metrics window is full in {left:.0f} s", wait=left)
        # an observation that was just passed to `observe` is already evaluated
        evaluations = self.memo[1] if self.memo is not None and self.memo[0] is obs else None
        if evaluations is None:
            evaluations = self._evaluate(obs.time, vertices(obs, self.busy_aggregator))
        return self._decision(obs, evaluations) if evaluations else hold(obs, "rate or busy time is not known")

    def _decision(self, obs: Observation, evaluations: Mapping[str, Evaluation]) -> Decision:
        wishes = {name: self._delayed(obs.time, name, evaluation) for name, evaluation in evaluations.items()}
        changed = {name: evaluation for name, evaluation in evaluations.items() if wishes[name] != evaluation.workers}
        late = any(evaluation.backlog > self.backlog_threshold for evaluation in evaluations.values())
        summary, evidence = self._summary(obs, evaluations, late)
        if not changed:
            return hold(obs, f"{summary}{self._waited(obs.time)}", **evidence)
        if not any(self._outside(evaluation, late) for evaluation in changed.values()):
            return hold(obs, f"{summary}, which is within bounds", **evidence)
        if not obs.isolated:
            (wish,) = wishes.values()
            return Decision(wish, f"{summary}: {obs.requested} -> {wish}", evidence)
        needs = {operator.name: float(wishes.get(operator.name, whole(operator.slots))) for operator in operators(obs)}
        return decision(obs, needs, f"{summary}: {', '.join(sorted(changed))} change", evidence)

    def _evaluate(self, time: float, graph: Iterable[Vertex]) -> dict[str, Evaluation]:
        """Evaluates upstream vertices first, the order in which the engine reports them. Vertices without figures are
        left out.
        """
        evaluations: dict[str, Evaluation] = {}
        for vertex in graph:
            if vertex.workers > 0 and (parts := self._parts.get(vertex.name)):
                evaluations[vertex.name] = self._evaluation(time, vertex, summed(parts), evaluations)
        return evaluations

    def _evaluation(
        self, time: float, vertex: Vertex, window: Part, evaluations: Mapping[str, Evaluation]
    ) -> Evaluation:
        rate, rate_out = window.rate / window.count, window.rate_out / window.count
        inputs = [evaluations[name] for name in vertex.upstream if name in evaluations]
        if inputs:
            alone = len(vertex.upstream) == 1
            ratios = [_ratio(rate if alone else source.rate_out, source.rate) for source in inputs]
            target = sum(source.target_rate * ratio for source, ratio in zip(inputs, ratios, strict=True))
            lag = sum(source.lag * ratio for source, ratio in zip(inputs, ratios, strict=True))
        else:
            target, lag = target_rate(time, vertex, window), vertex.lag or 0.0
        return Evaluation(vertex.workers, rate, rate_out, self._true_rate(window), target, lag)

    def _true_rate(self, window: Part) -> float:
        """Infinite without input, as in Flink: nothing then limits the rate that could be reached."""
        if window.rate <= 0 or window.busy <= 0:
            return math.inf
        true = window.rate / window.busy
        if window.lagging >= self.min_observations:
            observed = window.observed / window.lagging
            true = observed if true > observed * (1 + self.switch_threshold) else true
        return true or math.inf

    def capacity(self, target_rate: float, lag: float, utilisation: float, *, restart: bool = True) -> float:
        """The rate that the query must be able to process to keep up at a utilisation and catch up in time."""
        utilisation = min(1.0, round(utilisation, 9))
        if utilisation <= 0:
            return math.inf
        late = lag + (target_rate * self.restart_time if restart else 0.0)
        return (late / self.catch_up_duration if self.catch_up_duration else 0.0) + target_rate / utilisation

    def _desired(self, name: str, vertex: Evaluation) -> int:
        factor = self.capacity(vertex.target_rate, vertex.lag, self.target) / vertex.true_rate / self._scalability(name)
        low, high = 1 - self.scale_down_max_factor, 1 + self.scale_up_max_factor
        # NaN if both rates are unbounded: keep the parallelism
        return vertex.workers if math.isnan(factor) else whole(min(max(factor, low), high) * vertex.workers)

    def _scalability(self, name: str) -> float:
        """Least-squares fit of true rate = coefficient * rate per worker at the smallest size * workers."""
        points = self._history.get(name, ())
        if not self.scalability_observations or len(points) < self.scalability_observations:
            return 1.0
        least, rate = min(points)
        squares = sum(workers**2 for workers, _ in points) * rate / max(1, least)
        coefficient = sum(workers * rate for workers, rate in points) / squares if squares > 0 else 1.0
        return min(max(coefficient, self.scalability_minimum), 1.0)

    def _delayed(self, time: float, name: str, vertex: Evaluation) -> int:
        """The desired parallelism, with a scale-in held back until its interval has passed."""
        desired, delay = self._desired(name, vertex), self._fewer.get(name)
        if desired >= vertex.workers:
            return desired
        if delay is None or time < delay.since + self.scale_down_interval:
            return vertex.workers
        return max(workers for _, workers in delay.peaks)

    def _outside(self, vertex: Evaluation, late: bool) -> bool:
        """Whether the true rate is outside the utilisation band."""
        low, high = (0.0, 1.0) if late else (self.target - self.boundary, self.target + self.boundary)
        least = self.capacity(vertex.target_rate, vertex.lag, high, restart=False)
        return vertex.true_rate < least or vertex.true_rate > self.capacity(vertex.target_rate, vertex.lag, low)

    def _summary(
        self, obs: Observation, evaluations: Mapping[str, Evaluation], late: bool
    ) -> tuple[str, dict[str, float]]:
        """The most utilised vertex, as text and as evidence."""
        name, vertex = max(evaluations.items(), key=lambda item: item[1].target_rate / item[1].true_rate)
        target, true = vertex.target_rate, vertex.true_rate
        evidence = {"target_rate": target, "lag": vertex.lag, "utilisation": target / true, "true_rate": true}
        load = f"{target:.0f} of {true:.0f} records/s, {target / true:.0%}"
        text = f"{name}: {load}" if obs.isolated else load if math.isfinite(true) else "no input"
        if late:
            text += f", {vertex.backlog:.0f} s behind"
        return text, {key: value for key, value in evidence.items() if math.isfinite(value)}

    def _waited(self, time: float) -> str:
        since = min((delay.since for delay in self._fewer.values()), default=None)
        return "" if since is None else f", fewer wished for {time - since:.0f} of {self.scale_down_interval:g} s"


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else 0.0


NAMES = {
    "flink-operator": Entry(
        "true processing rate, catch-up, restart time, utilisation band", "Flink Kubernetes operator", FlinkOperator
    ),
}
