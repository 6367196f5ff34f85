"""Simulates the engines of the papers: operators have their own workers, and every rescale restarts the query.

Records flow as in `flow.py`, in steps of one second. A rescale stops the query for some seconds, during which the
backlog grows and nothing is read. Until the restart, the old workers are observed and paid for; then the new ones take
over. A second rescale during the outage replaces the first and restarts the outage. With a savepoint, everything in
buffers is processed before the query stops. Without one (Flink's reactive mode, Kafka Streams) it resumes from the last
checkpoint. A failure is detected after some time, and the query then restarts from its last checkpoint and repeats the
work done since. Records count as done when they are processed for the first time.

A stopped query reports no metrics of its operators: figures only cover the seconds in which it ran.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    Lever,
    Observation,
    OperatorSample,
    QueryEnded,
)
from tidegate.score.trace import Finished, Offered
from tidegate.sim.flow import Flow, Mark
from tidegate.sim.graph import Graph, Operator
from tidegate.sim.meter import Meter, Work
from tidegate.sim.operatorsettings import OperatorSettings

__all__ = ["OperatorEngine", "OperatorSettings"]

LEVERS = frozenset({Lever.EXECUTORS, Lever.OPERATORS})


@dataclass(slots=True)
class Since:
    """Counters since the last observation, whose step and position are stored: the steps in which the query ran and in
    which its workers were starting up (`hot`), and the records replayed, skipped and taken in.
    """

    step: int = 0
    position: float = 0.0
    ran: int = 0
    hot: int = 0
    replayed: float = 0.0
    skipped: float = 0.0
    taken: list[float] = field(default_factory=list)


@dataclass(slots=True)
class OperatorEngine:
    """Engine and clock in one. The query ends `drain` seconds after its workload."""

    graph: Graph
    workload: Offered
    parallelism: Mapping[str, int]
    settings: OperatorSettings = field(default_factory=OperatorSettings)
    failures: tuple[float, ...] = ()
    seed: int = 0
    drain: float = 0.0
    time: float = 0.0
    #: records that were processed again after failures, and records that were dropped unread
    replayed: float = 0.0
    lost: float = 0.0
    flow: Flow = field(init=False)
    _now: dict[str, int] = field(init=False)
    _requested: dict[str, int] = field(init=False)
    #: total arrivals by each step, and how many of the last records are retained if they are not read
    _arrived: list[float] = field(init=False)
    _retained: list[float] = field(init=False)
    #: when the current load ends
    _ends: float = field(init=False)
    _step: int = 0
    #: the step at which the query runs again, and the step at which its workers have started up
    _runs: int = 0
    _cool: int = 0
    #: the step from which there are metrics of operators again
    _visible_from: int = 0
    _began: float = 0.0
    _position: float = 0.0
    _mark: Mark = field(init=False)
    #: position after each step, and the records dropped in a step
    _trail: list[float] = field(default_factory=list)
    _gaps: dict[int, float] = field(default_factory=dict)
    _skipped: float = 0.0
    _pending: list[float] = field(init=False)
    _events: list[Event] = field(default_factory=list)
    _since: Since = field(default_factory=Since)
    _latency: float | None = None
    _last: Observation | None = None
    #: number of batches reported so far, and the records in them; replayed records are in none
    _batch: int = 0
    _reported: float = 0.0
    _meter: Meter = field(init=False)
    _pace: Random = field(init=False)
    #: speed of each operator since the last start, relative to its nominal speed
    _luck: list[float] = field(init=False)
    _deal: Random = field(init=False)

    def __post_init__(self) -> None:
        own = self.settings
        self._now = self._requested = self.graph.checked(self.parallelism)
        self.flow = Flow(self.graph, own.buffer, own.step)
        self._deal = Random(self.seed + 2)
        self._assign()
        steps = np.arange(math.ceil((self.workload.duration + self.drain) / own.step) + 2) * own.step
        self._arrived = np.maximum.accumulate(self.workload.integrals(steps)).tolist()
        self._ends = self.workload.duration
        self._retain_unread()
        self._pending = sorted(self.failures)
        self._meter, self._pace = Meter.of(own, self.seed), Random(self.seed + 1)
        self._mark = self.flow.mark(0.0)
        self._since.taken = list(self.flow.taken)

    # the clock

    def now(self) -> float:
        return self.time

    def sleep_until(self, time: float) -> None:
        """Simulate until then, in whole steps."""
        last = math.floor(time / self.settings.step + 1e-9)
        while self._step < last:
            self._fail()
            until = min([last, *(self._steps(at) for at in self._pending[:1])])
            if self._step < self._runs:
                self._stand(min(until, self._runs))
            else:
                self._start()
                self._run(min(until, self._next_checkpoint()))
        self.time = max(self.time, time)
        self._fail()

    # the engine

    @property
    def levers(self) -> frozenset[Lever]:
        return LEVERS

    def scale(self, decision: Decision) -> None:
        workers = self._shares(decision)
        if workers == self._requested:
            return
        up = sum(workers.values()) > sum(self._now.values())
        if self._step >= self._runs:
            self._stop()
        self._requested = workers
        self._visible_from = self._step + self._steps(self.settings.asleep)
        self._pause(self.settings.outage_up if up else self.settings.outage_down)

    def _shares(self, decision: Decision) -> dict[str, int]:
        if decision.per_operator:
            return self.graph.checked({**self._requested, **decision.per_operator})
        return self.graph.best(max(1, decision.executors))

    def offer(self, load: Offered) -> None:
        """Replace the load from now on; the new one starts from its beginning."""
        step, now = self.settings.step, self._step
        steps = np.arange(1, math.ceil((load.duration + self.drain) / step) + 2) * step
        base = self._arrivals_by(now)
        more = (base + np.maximum.accumulate(load.integrals(np.minimum(steps, load.duration)))).tolist()
        self._reach(now)
        self._arrived = [*self._arrived[: now + 1], *more]
        self._retain_unread()
        self._ends = self.time + load.duration

    def observe(self) -> Observation:
        if self.time > self._ends + self.drain:
            raise QueryEnded("the workload is over")
        events, self._events = tuple(self._events), []
        if self._last is not None and self._step == self._since.step:
            requested, now = sum(self._requested.values()), self.time
            return replace(self._last, time=now, requested=requested, batches=(), events=events)
        self._last = self._observation(events)
        self._since = Since(self._step, self._position, taken=list(self.flow.taken))
        self.flow.held, self.flow.filled = ([0.0] * len(self.flow.held) for _ in range(2))
        return self._last

    def finished(self) -> Finished:
        """The records finished in each step. Dropped records are not included."""
        ends = np.maximum.accumulate(np.array([0.0, *self._trail]))
        gaps = np.zeros(len(self._trail))
        gaps[list(self._gaps)] = list(self._gaps.values())
        begins, ends = ends[:-1], ends[1:] - gaps  # dropped records follow those that were just read
        times = np.arange(1.0, len(gaps) + 1) * self.settings.step + self.settings.floor + self.settings.window
        done = ends > begins
        return Finished(times[done], begins[done], ends[done])

    # simulation

    def _retain_unread(self) -> None:
        retention = self.settings.retention
        old = len(self._arrived) if retention is None else self._steps(retention)
        self._retained = [now - self._arrived[max(0, k - old)] for k, now in enumerate(self._arrived)]

    def _steps(self, time: float) -> int:
        return math.ceil(time / self.settings.step - 1e-9)

    def _arrivals_by(self, step: int) -> float:
        """Total arrivals by a step."""
        return self._arrived[min(step, len(self._arrived) - 1)]

    def _next_checkpoint(self) -> int:
        """The step of the next checkpoint; far away if no checkpoint will be needed."""
        if not self._pending and self.settings.savepoint:
            return self._step + 1_000_000
        every = max(1, self._steps(self.settings.checkpoint))
        if self._step % every == 0:
            self._mark = self.flow.mark(self._arrivals_by(self._step))
        return (self._step // every + 1) * every

    def _run(self, until: int) -> None:
        flow, arrived, trail, noise = self.flow, self._arrived, self._trail, self.settings.work_noise
        retention, run, through = self.settings.retention, self.flow.run, self.flow.through
        self._since.ran += until - self._step
        self._since.hot += max(0, min(until, self._cool) - self._step)
        self._reach(until)
        for step in range(self._step, until):
            come = arrived[step + 1]
            run(come - arrived[step], max(0.0, self._pace.gauss(1, noise)) if noise else 1.0)
            trail.append(come if flow.calm else min(through(), come))
            if retention is not None and not flow.calm:
                self._drop(step)
        self._moved(until)

    def _reach(self, step: int) -> None:
        """Extend the arrivals to a step after the end of the workload, when nothing more arrives."""
        missing = step + 1 - len(self._arrived)
        self._arrived.extend(self._arrived[-1:] * missing)
        self._retained.extend([self._arrived[-1]] * missing)

    def _moved(self, until: int) -> None:
        """Update the position, and the latency of the record that was finished last."""
        last, end = self._trail[-1], until
        while end > self._step + 1 and self._trail[end - 2] == last:
            end -= 1  # nothing was finished in this step
        if last > self._position:
            self._latency = end * self.settings.step - self._when(last) + self.settings.floor + self.settings.window
        self._step, self._position = until, last

    def _when(self, record: float) -> float:
        """The time at which a record arrived, interpolated between steps."""
        arrived = self._arrived
        k = min(bisect_left(arrived, record), len(arrived) - 1)
        if k == 0 or arrived[k] == arrived[k - 1]:
            return k * self.settings.step
        return (k - (arrived[k] - min(record, arrived[k])) / (arrived[k] - arrived[k - 1])) * self.settings.step

    def _stand(self, until: int) -> None:
        self._since.hot += max(0, min(until, self._cool) - self._step)
        self._reach(until)
        for step in range(self._step, until):
            self.flow.stand(self._arrivals_by(step + 1) - self._arrivals_by(step))
            self._trail.append(self._position)
            if self.settings.retention is not None:
                self._drop(step)
            self._position = self._trail[-1]
        self._step = until

    def _drop(self, step: int) -> None:
        """Drop records that were not read in time, and advance the position past them."""
        dropped = self.flow.drop(self._retained[step + 1])
        if dropped:
            self.lost += dropped
            gap = self.flow.skipped - self._skipped
            self._skipped += gap
            self._gaps[step] = gap
            self._since.skipped += gap
            self._trail[step] = min(self._trail[step] + gap, self._arrived[step + 1])

    def _stop(self) -> None:
        """Stop the query for a rescale."""
        arrived = self._arrivals_by(self._step)
        if self.settings.savepoint:
            self.flow.drain()
            self._mark = self.flow.mark(arrived)
            self._position = min(self.flow.through(), arrived)
        else:
            self._restore(arrived)

    def _restore(self, arrived: float) -> None:
        """Return to the last checkpoint."""
        before = self.flow.through()
        self.flow.restore(self._mark, arrived)
        repeated = max(0.0, before - self.flow.through())
        self._position = min(self.flow.through(), arrived)
        self.replayed, self._since.replayed = self.replayed + repeated, self._since.replayed + repeated
        self._forget()

    def _pause(self, seconds: float) -> None:
        self._runs = self._step + self._steps(seconds)
        self._cool = self._runs + self._steps(self.settings.busy_restart_time) if self.settings.busy_restart else 0

    def _start(self) -> None:
        """Restart after an outage with the requested workers, without metrics from before."""
        if self._step == self._runs and self._step:
            self._began = self._step * self.settings.step
            self._now = self._requested
            self._assign()
            self._forget()

    def _assign(self) -> None:
        """Assign keys and machines to the workers, at random for each start."""
        self._luck = [_lucky(self._deal, operator.spread) for operator in self.graph.operators]
        self.flow.resize(self._now, self._luck)

    def _forget(self) -> None:
        self.flow.through()
        self._since.ran, self._since.taken = 0, list(self.flow.taken)
        self.flow.held, self.flow.filled = ([0.0] * len(self.flow.held) for _ in range(2))

    def _fail(self) -> None:
        while self._pending and self._steps(self._pending[0]) <= self._step:
            time = self._pending.pop(0)
            self._restore(self._arrivals_by(self._step))
            self._events.append(Event(time, "ExecutorLost", f"a worker of {self.graph.name} was made to fail"))
            runs = self._runs
            self._pause(self.settings.detection + self.settings.restart)
            self._runs = max(self._runs, runs)

    # observation

    def _observation(self, events: tuple[Event, ...]) -> Observation:
        self.flow.through()
        seconds = (self._step - self._since.step) * self.settings.step
        samples = self._samples()
        return Observation(
            time=self.time,
            executors=sum(self._now.values()),
            requested=sum(self._requested.values()),
            arrival_rate=self._rate(self._arrivals_by(self._step) - self._arrivals_by(self._since.step), seconds),
            processing_rate=self._rate(self._done(), seconds),
            backlog=None if self._step < self._visible_from else sum(self.flow.waiting),
            latency=self._latency,
            ceiling=self.graph.ceiling,
            per_executor=self._workers(samples),
            operators=samples,
            isolated=True,
            batches=self._batches(),
            events=events,
        )

    def _done(self) -> float:
        """Records processed since the last observation, including repeated ones."""
        since = self._since
        return max(0.0, self._position - since.position - since.skipped + since.replayed)

    def _rate(self, amount: float, seconds: float) -> float | None:
        return amount / seconds * next(self._meter.errors) if seconds else None

    def _batches(self) -> tuple[Batch, ...]:
        begin, end = self._reported, self._position
        if end <= begin:
            return ()
        self._batch, self._reported = self._batch + 1, end
        planned, now = self._since.step * self.settings.step, self._step * self.settings.step
        rows = math.ceil(self._done())
        return (Batch(self._batch - 1, planned, now, begin, end, self._arrivals_by(self._since.step), rows),)

    def _samples(self) -> tuple[OperatorSample, ...]:
        steps = self._step - self._since.step
        hot = min(1.0, self._since.hot / steps) if steps else 0.0
        return tuple(
            self._meter.operator(operator, self._now[operator.name], self._work(k, operator), hot)
            for k, operator in enumerate(self.graph.operators)
        )

    def _work(self, k: int, operator: Operator) -> Work | None:
        """The work of an operator in the steps in which it ran; None while it is stopped or has no metrics."""
        since, flow = self._since, self.flow
        if not since.ran or self._step < max(self._runs, self._visible_from):
            return None
        room = flow.rooms[k] * since.ran
        queue = (min(1.0, flow.filled[k] / room) if room else 0.0) if operator.upstream else None
        rate = (flow.taken[k] - since.taken[k]) / since.ran / self.settings.step
        return Work(rate, flow.held[k] / since.ran, queue, self._luck[k])

    def _workers(self, samples: tuple[OperatorSample, ...]) -> tuple[ExecutorSample, ...]:
        uptime = max(0.0, self._step * self.settings.step - self._began) if self._step >= self._runs else 0.0
        pairs = zip(self.graph.operators, samples, strict=True)
        return tuple(worker for operator, sample in pairs for worker in self._meter.workers(operator, sample, uptime))


def _lucky(draws: Random, spread: float) -> float:
    """A random factor around 1, at least 0.1."""
    return max(0.1, draws.gauss(1, spread)) if spread else 1.0
