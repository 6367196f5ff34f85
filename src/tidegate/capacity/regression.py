"""Daedalus' capacity model: how much an executor would process if its CPU were full, by regression (3.1).

For each executor a line of its throughput on its CPU, drawn through all that was seen while it was warm. Keys and
partitions are uneven, so when the busiest executor is full the others are not: with the means of the last loop,
executor w is asked at

    cpu_w = saturation * cpu_w_mean / cpu_max_mean        (paper: proportional; the released code: 1 - (max - mean))

The sum over executors is the capacity now. A scale-out that was seen keeps the mean of what it showed before and now;
any other is taken to be proportional to the number of executors.

On Spark CPU comes in bursts, one a batch, and a batch is known only when it is over. So a point is what happened from
the end of one batch to that of another: CPU time and records, both over the time between the two ends. (The mean of
the CPU's readings would be wrong by a tenth: three to five readings fall into a batch every four seconds, and an error
in CPU makes the line too flat. Their sum is right, since executors are idle when a batch has ended.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.capacity.line import FadingLine
from tidegate.core import Observation, check, parameter
from tidegate.stats import Mean

#: share of a loop that a point covers at least
POINT = 0.125


@dataclass(slots=True)
class Worker:
    """What is known of one executor: its line, and since the last point its CPU, and its share of the records."""

    line: FadingLine
    #: CPU readings times the seconds since the one before
    used: float = 0.0
    records: float = 0.0
    #: whether it came after the point began: then that one says nothing about it
    late: bool = True
    #: CPU over this loop
    loop: Mean = field(default_factory=Mean)


@dataclass(slots=True)
class CpuRegression:
    """`capacity(n)` of Daedalus. Unknown until every executor was seen warm and at work for a loop."""

    #: how often the capacity is estimated anew, s: whoever owns the model has an interval of its own
    loop: float = 60.0
    warmup: float = parameter(120.0, "s", "executors younger than this are not learned from", least=0)
    saturation: float = parameter(1.0, "share", "CPU that counts as full", above=0, most=1)
    additive_skew: int = parameter(0, "", "1: full CPU less the distance to the busiest, as released", least=0, most=1)
    half_life: float = parameter(1800.0, "s", "after which a point counts half; 0: never", least=0)
    _workers: dict[str, Worker] = field(default_factory=dict)
    #: what scale-outs showed, and the last one with its capacity
    _seen: dict[int, float] = field(default_factory=dict)
    _last: tuple[int, float] | None = None
    _begun: float | None = None
    _time: float | None = None
    #: end of the batch with which this point began
    _point: float | None = None

    def __post_init__(self) -> None:
        check(self, "capacity model regression")

    def update(self, obs: Observation) -> None:
        if self._begun is None or not 0 <= obs.time - self._begun < 10 * self.loop:
            self._begin(obs.time)
        self._keep(obs)
        if obs.batches:
            self._batch_point(obs)
        elif obs.batch_duration is None:  # an engine without batches: every observation is a point
            self._plain_point(obs)
        if self._begun is not None and obs.time - self._begun >= self.loop:
            self._estimate(obs)
            self._begin(obs.time)

    def capacity(self, executors: int) -> float | None:
        """What was seen of that number, else as much for each as now."""
        if executors in self._seen:
            return self._seen[executors]
        return None if self._last is None else executors * self._last[1] / self._last[0]

    def _begin(self, time: float) -> None:
        self._begun = time
        for worker in self._workers.values():
            worker.loop = Mean()

    def _keep(self, obs: Observation) -> None:
        """CPU of every executor that is warm; those that are gone are forgotten."""
        passed = 0.0 if self._time is None else max(0.0, obs.time - self._time)
        self._time = obs.time
        if passed > self.loop / 4:
            self._point = None  # nobody looked: what happened meanwhile belongs to no point
        present = {sample.id for sample in obs.per_executor}
        self._workers = {id: worker for id, worker in self._workers.items() if id in present}
        for sample in obs.per_executor:
            load = sample.cpu if sample.cpu is not None else sample.busy
            if load is not None and (sample.uptime is None or sample.uptime >= self.warmup):
                worker = self._workers.setdefault(sample.id, Worker(FadingLine(self.half_life)))
                worker.used += load * passed
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
        if span >= self.loop * POINT:
            for worker in self._workers.values():
                if not worker.late:
                    worker.line.update(obs.time, min(1.0, worker.used / span), worker.records / span)
            self._start(last.finished)

    def _start(self, time: float) -> None:
        """A new point begins with the end of a batch."""
        self._point = time
        for worker in self._workers.values():
            worker.used, worker.records, worker.late = 0.0, 0.0, False

    def _plain_point(self, obs: Observation) -> None:
        for sample in obs.per_executor:
            load = sample.cpu if sample.cpu is not None else sample.busy
            if sample.id in self._workers and load is not None and sample.rate is not None:
                self._workers[sample.id].line.update(obs.time, load, sample.rate)

    def _estimate(self, obs: Observation) -> None:
        workers = [self._workers.get(sample.id) for sample in obs.per_executor]
        known = [worker for worker in workers if worker is not None and worker.loop.count]
        busiest = max((worker.loop.value for worker in known), default=0.0)
        if obs.executors < 1 or len(known) < obs.executors or busiest <= 0:
            return
        estimates = [worker.line.at(self._share(worker.loop.value, busiest)) for worker in known]
        found = sum(max(0.0, estimate) for estimate in estimates if estimate is not None)
        if None in estimates or found <= 0:
            return
        before = self._seen.get(obs.executors, found)
        self._seen[obs.executors] = (before + found) / 2
        self._last = (obs.executors, self._seen[obs.executors])

    def _share(self, mean: float, busiest: float) -> float:
        """CPU of an executor at the moment when the busiest one is full."""
        return self.saturation - (busiest - mean) if self.additive_skew else self.saturation * mean / busiest
