"""Daedalus' capacity model (3.1): throughput at full CPU, by a regression of throughput on CPU for each executor.

Only executors past their warm-up are learned from. Keys and partitions are uneven, so when the busiest executor is
saturated the others are not. With the mean CPU of the last loop, the line of executor w is evaluated at

    cpu_w = saturation * cpu_w_mean / cpu_max_mean        (paper: proportional; the released code: 1 - (max - mean))

The sum over all executors is the capacity of the current scale-out. The estimate of a scale-out that was seen before is
averaged with the new one; the capacity of other scale-outs is proportional to the number of executors.

On Spark CPU comes in bursts, one per batch, and a batch is reported when it ends. A point therefore covers the time
between two batch ends: CPU time and records, both divided by that time. (The mean of the CPU readings would be off by a
tenth, with three to five readings per batch of four seconds, and errors in x flatten a regression line. Their integral
is accurate, because executors are idle at the end of a batch.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.capacity.line import FadingLine
from tidegate.core import Observation, check, parameter
from tidegate.stats import Mean

#: minimum duration of a point, as a share of a loop
MIN_POINT = 0.125


@dataclass(slots=True)
class Worker:
    """One executor: its regression line, and its CPU time and records since the last point."""

    line: FadingLine
    #: CPU seconds
    used: float = 0.0
    records: float = 0.0
    #: it joined after the current point began, which therefore does not count for it
    late: bool = True
    #: mean CPU in this loop
    loop: Mean = field(default_factory=Mean)


@dataclass(slots=True)
class CpuRegression:
    """Daedalus' `capacity(n)`. Unknown until every executor has run warm and under load for a loop."""

    #: seconds between estimates; set by the policy that owns the model
    loop: float = 60.0
    warmup: float = parameter(120.0, "s", "executors younger than this are not learned from", least=0)
    saturation: float = parameter(1.0, "share", "CPU that counts as full", above=0, most=1)
    additive_skew: int = parameter(0, "", "1: full CPU less the distance to the busiest, as released", least=0, most=1)
    half_life: float = parameter(1800.0, "s", "after which a point counts half; 0: never", least=0)
    _workers: dict[str, Worker] = field(default_factory=dict)
    #: capacity by scale-out, and the latest (scale-out, capacity)
    _seen: dict[int, float] = field(default_factory=dict)
    _last: tuple[int, float] | None = None
    _begun: float | None = None
    _time: float | None = None
    #: end of the batch at which the current point began
    _point: float | None = None

    def __post_init__(self) -> None:
        check(self, "capacity model regression")

    def update(self, obs: Observation) -> None:
        if self._begun is None or not 0 <= obs.time - self._begun < 10 * self.loop:
            self._begin(obs.time)
        self._record_cpu(obs)
        if obs.batches:
            self._batch_point(obs)
        elif obs.batch_duration is None:  # an engine without batches: every observation is a point per executor
            self._sample_points(obs)
        if self._begun is not None and obs.time - self._begun >= self.loop:
            self._estimate(obs)
            self._begin(obs.time)

    def capacity(self, executors: int) -> float | None:
        """The estimate of that scale-out if it was seen, else proportional to the latest one."""
        if executors in self._seen:
            return self._seen[executors]
        return None if self._last is None else executors * self._last[1] / self._last[0]

    def _begin(self, time: float) -> None:
        self._begun = time
        for worker in self._workers.values():
            worker.loop = Mean()

    def _record_cpu(self, obs: Observation) -> None:
        """Add the CPU of every warm executor; drop executors that have left."""
        elapsed = 0.0 if self._time is None else max(0.0, obs.time - self._time)
        self._time = obs.time
        if elapsed > self.loop / 4:
            self._point = None  # a gap in the observations: discard the current point
        present = {sample.id for sample in obs.per_executor}
        self._workers = {id: worker for id, worker in self._workers.items() if id in present}
        for sample in obs.per_executor:
            load = sample.cpu if sample.cpu is not None else sample.busy
            if load is not None and (sample.uptime is None or sample.uptime >= self.warmup):
                worker = self._workers.setdefault(sample.id, Worker(FadingLine(self.half_life)))
                worker.used += load * elapsed
                worker.loop.update(load)

    def _batch_point(self, obs: Observation) -> None:
        last, begun = obs.batches[-1], self._point
        if begun is None or last.finished <= begun:
            self._start(last.finished)
            return
        rates = {sample.id: sample.rate or 0.0 for sample in obs.per_executor}
        records, total = sum(batch.end - batch.begin for batch in obs.batches), sum(rates.values())
        for id, worker in self._workers.items():
            worker.records += records * rates[id] / total if total > 0 else 0.0
        span = last.finished - begun
        if span >= self.loop * MIN_POINT:
            for worker in self._workers.values():
                if not worker.late:
                    worker.line.update(obs.time, min(1.0, worker.used / span), worker.records / span)
            self._start(last.finished)

    def _start(self, time: float) -> None:
        """Begin a new point at the end of a batch."""
        self._point = time
        for worker in self._workers.values():
            worker.used, worker.records, worker.late = 0.0, 0.0, False

    def _sample_points(self, obs: Observation) -> None:
        for sample in obs.per_executor:
            load = sample.cpu if sample.cpu is not None else sample.busy
            if sample.id in self._workers and load is not None and sample.rate is not None:
                self._workers[sample.id].line.update(obs.time, load, sample.rate)

    def _estimate(self, obs: Observation) -> None:
        workers = [self._workers.get(sample.id) for sample in obs.per_executor]
        warm = [worker for worker in workers if worker is not None and worker.loop.count]
        busiest = max((worker.loop.value for worker in warm), default=0.0)
        if obs.executors < 1 or len(warm) < obs.executors or busiest <= 0:
            return
        estimates = [worker.line.at(self._cpu_at_saturation(worker.loop.value, busiest)) for worker in warm]
        capacity = sum(max(0.0, estimate) for estimate in estimates if estimate is not None)
        if None in estimates or capacity <= 0:
            return
        previous = self._seen.get(obs.executors, capacity)
        self._seen[obs.executors] = (previous + capacity) / 2
        self._last = (obs.executors, self._seen[obs.executors])

    def _cpu_at_saturation(self, mean: float, busiest: float) -> float:
        """CPU of an executor when the busiest one is saturated."""
        return self.saturation - (busiest - mean) if self.additive_skew else self.saturation * mean / busiest
