"""A small simulated engine for tests: micro-batches as Spark runs them, on a clock of its own, the same in every run.

A batch takes `overhead + records * cost / slots`, in waves of tasks; it starts on the grid of the trigger, or at once
where the last one took longer, and takes `most` records at most. Executors come some seconds after they were asked for,
and the first batch of each is slow. Executors that go do so between two batches. What Tidegate's Spark engine reads out
of progress reports (arrivals, rates, backlog, latency) is read here by the same code, out of reports of the same form.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from tidegate.core import Batch, Decision, ExecutorSample, Observation, OperatorSample, QueryEnded, Workload
from tidegate.spark.progress import ProgressLog

#: of a second of a task, the CPU's part; and what an idle executor uses
CPU, IDLE_CPU = 0.95, 0.02
#: of a batch's work, the part of the first stage; the second reads half as many records from as many tasks
FIRST = 0.7
#: seconds over which an executor's busy share is taken, like the Spark engine's
BUSY = 15


@dataclass(slots=True)
class Worker:
    id: str
    added: float
    #: how much slower than the others its tasks are
    pace: float
    cold: bool = True
    #: when the tasks of its last batch began and ended, how many records they read, and all task time before them
    began: float = 0.0
    ended: float = 0.0
    records: float = 0.0
    spent: float = 0.0
    #: task time at the last observations
    past: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=BUSY + 1))

    def run(self, begin: float, end: float, records: float) -> None:
        self.spent += self.ended - self.began
        self.began, self.ended, self.records, self.cold = begin, end, records, False

    def used(self, now: float) -> float:
        return self.spent + min(max(now - self.began, 0.0), self.ended - self.began)

    def sample(self, now: float, cycle: float | None) -> ExecutorSample:
        used = self.used(now)
        last, first = (self.past[-1], self.past[0]) if self.past else ((now, used), (now, used))
        self.past.append((now, used))
        share = (used - last[1]) / (now - last[0]) if now > last[0] else None
        busy = (used - first[1]) / (now - first[0]) if now > first[0] else None
        cpu = None if share is None else min(1.0, IDLE_CPU + CPU * share)
        rate = self.records / cycle if cycle else None
        tasks = int(self.began <= now < self.ended)
        return ExecutorSample(self.id, cpu=cpu, busy=busy, rate=rate, uptime=now - self.added, tasks=tasks)


@dataclass(slots=True)
class Simulated:
    """Engine and clock in one. `cost` is the slot-seconds of a record; the query ends `drain` seconds after its
    workload. Executors have one slot each.
    """

    workload: Workload
    executors: int = 1
    cost: float = 1e-4
    trigger: float = 10.0
    overhead: float = 0.5
    most: float = math.inf
    tasks: int = 48
    startup: float = 8.0
    warmup: float = 3.0
    noise: float = 0.03
    drain: float = 300.0
    seed: int = 1
    time: float = 0.0
    requested: int = field(init=False)
    _workers: list[Worker] = field(default_factory=list)
    _coming: deque[float] = field(default_factory=deque)
    _log: ProgressLog = field(default_factory=lambda: ProgressLog(base=0.0))
    _stages: tuple[OperatorSample, ...] = ()
    _fresh: list[Batch] = field(default_factory=list)
    #: the report of the batch that runs, and when it will be done; else when the next may start
    _running: Mapping[str, Any] | None = None
    _event: float = 0.0
    #: arrival rate, processing rate and latency, which change with a report only
    _figures: tuple[float | None, float | None, float | None] = (None, None, None)
    _made: int = 0
    _done: int = 0
    _batch: int = 0
    _draws: Random = field(init=False)

    def __post_init__(self) -> None:
        self._draws, self.requested = Random(self.seed), self.executors
        for _ in range(self.executors):
            self._arrive(0.0)

    # the clock

    def now(self) -> float:
        return self.time

    def sleep_until(self, time: float) -> None:
        """All that happens until then, in the order in which it happens."""
        while True:
            coming = self._coming[0] if self._coming else math.inf
            if min(coming, self._event) > time:
                break
            if coming <= self._event:
                self._arrive(self._coming.popleft())
            elif self._running is not None:
                self._finish()
            else:
                self._start(self._event)
        self.time = time

    # the engine

    def scale(self, decision: Decision) -> None:
        wanted = decision.executors
        missing = wanted - len(self._workers) - len(self._coming)
        for _ in range(-missing):
            if self._coming:
                self._coming.pop()
        self._coming.extend(self.time + self.startup for _ in range(missing))
        self.requested = wanted
        if self._running is None:
            self._leave()

    def observe(self) -> Observation:
        now, log = self.time, self._log
        if now > self.workload.duration + self.drain:
            raise QueryEnded("the workload is over")
        fresh, self._fresh = tuple(self._fresh), []
        (arrival, processing, latency), cycle = self._figures, self._cycle
        return Observation(
            time=now,
            executors=len(self._workers),
            requested=self.requested,
            arrival_rate=arrival,
            processing_rate=processing,
            backlog=log.backlog(now),
            latency=latency,
            trigger=log.trigger,
            batch_duration=log.duration,
            ceiling=self.tasks if self._stages else None,
            per_executor=tuple(worker.sample(now, cycle) for worker in self._workers),
            operators=self._stages,
            batches=fresh,
        )

    # what happens

    def _arrive(self, time: float) -> None:
        self._made += 1
        self._workers.append(Worker(str(self._made), time, 1 + self._draws.uniform(0, self.noise)))

    def _leave(self) -> None:
        """The youngest first."""
        del self._workers[max(1, self.requested) :]

    def _start(self, time: float) -> None:
        arrived = self.workload.total(time)
        begin, end = self._done, int(min(arrived, self._done + self.most))
        if end == begin or not self._workers:  # nothing to do at this trigger
            self._log.idle(time)
            self._note()
            self._event = self._next(time)
            return
        spent = self._run(time, end - begin)
        self._event = time + spent
        self._running = _report(self._batch, time, spent, (begin, end, arrived))
        self._batch, self._done = self._batch + 1, end

    def _run(self, time: float, records: int) -> float:
        """Hand the tasks out, and how long that takes: a slot runs whole tasks, and the slowest one holds up all."""
        cold = self.warmup if any(worker.cold for worker in self._workers) else 0.0
        work = records * self.cost * (1 + self._draws.gauss(0, self.noise) if self.noise else 1.0)
        longest, count = 0.0, len(self._workers)
        for k, worker in enumerate(self._workers):
            mine = self.tasks // count + (k < self.tasks % count)
            took = max(0.0, work) * mine / self.tasks * worker.pace + (cold if worker.cold else 0.0)
            worker.run(time + self.overhead / 2, time + self.overhead / 2 + took, records * mine / self.tasks)
            longest = max(longest, took)
        return self.overhead + longest

    def _finish(self) -> None:
        assert self._running is not None
        batch = self._log.add(self._running)
        assert batch is not None
        self._fresh.append(batch)
        self._running = None
        self._note()
        self._stages = self._operators(batch.end - batch.begin)
        self._leave()
        self._event = max(self._event, self._next(batch.planned))  # late: at once

    def _note(self) -> None:
        self._figures = (self._log.arrival_rate, self._log.processing_rate, self._log.latency)

    def _next(self, time: float) -> float:
        """The trigger after a time, on the grid that Spark keeps; without a trigger soon."""
        return (math.floor(time / self.trigger + 1e-9) + 1) * self.trigger if self.trigger else time + 0.1

    @property
    def _cycle(self) -> float | None:
        known = [span for span in (self._log.trigger, self._log.duration) if span]
        return max(known) if known else None

    def _operators(self, records: float) -> tuple[OperatorSample, ...]:
        cycle = self._cycle
        if not cycle:
            return ()
        spent = sum(worker.ended - worker.began for worker in self._workers) / cycle
        rate = records / cycle
        first = OperatorSample("stage 0", (), self.tasks, rate, rate / 2, FIRST * spent, FIRST * spent * CPU)
        rest = 1 - FIRST
        second = OperatorSample("stage 1", ("stage 0",), self.tasks, rate / 2, 0.0, rest * spent, rest * spent * CPU)
        return first, second


def _report(id: int, planned: float, spent: float, records: tuple[int, int, int]) -> dict[str, Any]:
    """As Spark tells of a batch; it keeps milliseconds."""
    begin, end, latest = records
    source = {"startOffset": begin, "endOffset": end, "latestOffset": latest}
    return {
        "batchId": id,
        "timestamp": datetime.fromtimestamp(planned, UTC).isoformat(),
        "durationMs": {"addBatch": 1000 * spent, "triggerExecution": 1000 * spent},
        "numInputRows": end - begin,
        "sources": [source],
    }
