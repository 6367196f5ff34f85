"""A running Spark query as an engine: observes its progress reports and the driver's status, scales by the actuator."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.executors import Executor
from tidegate.cluster.jvm import Driver
from tidegate.cluster.jvm_shutdown import finish
from tidegate.cluster.quota import Quotas
from tidegate.cluster.state_stores import StateStores
from tidegate.cluster.status import Stage, Status, of_last_batch, until_batch
from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    InvalidInput,
    Lever,
    Observation,
    OperatorSample,
    QueryEnded,
    QueryFailed,
)
from tidegate.spark.actuator import Actuator, Keeper, Stateless
from tidegate.spark.listener import ProgressListener
from tidegate.spark.meter import CpuMeter, SlotMeter
from tidegate.spark.pool import Membership
from tidegate.spark.report import parsed
from tidegate.spark.reports import ReportLog
from tidegate.spark.skew import SkewMeter, widest
from tidegate.spark.spreading import StateSpreader
from tidegate.spark.stalls import StallMeter

#: batches from one look at how records are distributed over partitions to the next
LOOK = 10
NO_SHARES: Mapping[int, tuple[float, ...]] = {}

#: called with the progress report of every batch that ran
OnProgress = Callable[[Mapping[str, Any]], None]


class BatchLimit(Protocol):
    """The maximum number of records per batch, for sources that can change it."""

    @property
    def value(self) -> int: ...
    def set(self, records: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Watching:
    """How a query is watched.

    `base` is the source position from which records are counted (see `ReportLog`), `requested` the number of executors
    requested from the cluster, if it differs from the number present.
    """

    #: whether to scale; if not, another component does, and the executors present count as requested
    active: bool = True
    quotas: Quotas | None = None
    base: float | None = None
    requested: int | None = None
    on_progress: OnProgress = field(default=lambda report: None)
    batch_limit: BatchLimit | None = None
    #: the most executors that the application may have, for the sum over several queries
    maximum: int | None = None
    #: what to do if somebody else changes the application's total: `correct` or `respect`
    foreign: str = "correct"
    #: keep the observed metrics of every batch, to verify a run by them; they grow with it
    keep_observed: bool = False
    #: how many seconds longer a batch may take because state moves to executors that hold too little of it; None
    #: leaves state where Spark has it
    move_budget: float | None = 5.0


class SparkEngine:
    """Watches one query until `close`, without affecting the query itself.

    An active engine has a share of the application's executors (see `pool`): it observes and requests its share, and
    the requests of all queries of the application are added up. A second active engine for a query is rejected.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery, watching: Watching = Watching()) -> None:  # noqa: B008, a frozen value
        self._spark, self._query, self._watching = spark, query, watching
        self._run_id = str(query.runId)
        self.status = Status(spark.sparkContext)
        self.log = ReportLog(base=watching.base)
        application = str(spark.sparkContext.applicationId)
        self._spreader = self._make_spreader(query)
        try:
            self._membership = self._join(application) if watching.active else None
        except InvalidInput:
            if self._spreader:
                self._spreader.close()
            raise
        parts = (self._membership, self._spreader)
        self._listener = ProgressListener(self._run_id, *(part.boundary for part in parts if part is not None))
        spark.streams.addListener(self._listener)
        if not query.isActive:
            self._listener.ended.set()
        self._cpu = CpuMeter(application, watching.quotas)
        self._slots = SlotMeter()
        self._stalls = StallMeter()
        self._skew = SkewMeter()
        self._closed = False
        self._last_job = -1
        self._stages: list[Stage] = []
        #: how records are distributed over partitions, by stage, and batches since that was last looked at
        self._shares, self._unseen = NO_SHARES, LOOK
        self._reruns = 0
        self._present: set[str] = {executor.id for executor in self.status.executors()}
        #: batches and events that no observation has shown yet
        self._batches: list[Batch] = []
        self._events: list[Event] = []
        #: observed metrics by batch, so that a batch that is rerun after a restart counts once
        self.observed: dict[int, dict[str, Any]] = {}

    @property
    def actuator(self) -> Actuator | None:
        return self._membership.actuator if self._membership else None

    def _join(self, application: str) -> Membership:
        query, watching = self._query, self._watching
        return Membership(
            application,
            str(query.id),
            query.name or str(query.id),
            self._make_actuator,
            maximum=watching.maximum,
            alive=lambda: self._query.isActive,
            keeper=self._spreader or Stateless(),
            foreign=watching.foreign,
        )

    def _make_spreader(self, query: StreamingQuery) -> StateSpreader | None:
        seconds = self._watching.move_budget
        if seconds is None or not self._watching.active:
            return None
        return StateSpreader(StateStores(self._spark, query), self.status.executors, seconds)

    def _make_actuator(self, boundary: threading.Event, keeper: Keeper) -> Actuator:
        driver, requested = Driver(self._spark.sparkContext), self._watching.requested
        if requested is None:
            # while the first ones are still starting there are none, and a total of 0 would send them away
            configured = self._spark.sparkContext.getConf().get("spark.executor.instances", "1")
            requested = len(self.status.executors()) or max(1, int(configured))
        return Actuator(driver, self.status.executors, boundary, keeper=keeper, requested=requested)

    @property
    def levers(self) -> frozenset[Lever]:
        limited = self._watching.batch_limit is not None
        return frozenset({Lever.EXECUTORS, Lever.BATCH_LIMIT} if limited else {Lever.EXECUTORS})

    def observe(self) -> Observation:
        self._take_reports()
        self._raise_if_over(self._batches)
        now = time.time()
        self._note_idle(now)
        executors = self.status.executors()
        self._shares = NO_SHARES
        if self._batches:
            self._read_stages()
        running, member = len(executors), self._membership
        self._events += self._lost(now, executors, member.requested + member.others if member else running)
        self._events += member.check(now, running) if member else []
        self._look_at_state(now, executors)
        obs = self._observation(now, executors)
        # only now, as a call that fails before leaves them for the next observation
        self._batches, self._events = [], []
        return obs

    def _take_reports(self) -> None:
        received = time.time()
        for text in self._listener.drain():
            report = parsed(text)
            batch = self.log.add(report, received)
            if report is None or batch is None:
                continue
            self._batches.append(batch)
            metrics = report.get("observedMetrics")
            if self._watching.keep_observed and isinstance(metrics, Mapping) and metrics:
                self.observed[batch.id] = dict(metrics)
            self._hand_on(report)
        if problems := self.log.take_problems():
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            self._events.append(Event(received, "ReportUnreadable", problems[-1] + more))

    def _hand_on(self, report: Mapping[str, Any]) -> None:
        try:
            self._watching.on_progress(report)
        except Exception as error:
            self._events.append(Event(time.time(), "ProgressHandlerFailed", f"{type(error).__name__}: {error}"))

    def scale(self, decision: Decision) -> None:
        target, limit = decision.target, self._watching.batch_limit
        if target.batch_limit is not None and limit is not None:
            limit.set(target.batch_limit)
        if self._membership is None:
            raise InvalidInput("this engine only watches and cannot scale: it was created with active=False")
        self._membership.scale(target.executors, decision.reason)

    def resume(self, query: StreamingQuery) -> None:
        """Watch the query that continues from the checkpoint of the previous one. All counts are kept."""
        self._query, self._run_id = query, str(query.runId)
        self._listener.follow(self._run_id)
        if self._spreader:
            self._spreader.follow(StateStores(self._spark, query))
        if not query.isActive:
            self._listener.ended.set()

    def close(self) -> None:
        """Stop watching. The query continues with its current executors. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._membership:
            self._membership.leave()
        if self._spreader:
            self._spreader.close()
        finish("removing the listener", lambda: self._spark.streams.removeListener(self._listener), patience=10)

    def _raise_if_over(self, batches: Sequence[Batch]) -> None:
        """Raise once the query is over, but only after the batches of its last reports have been observed."""
        if batches or not self._listener.ended.is_set():
            return
        error = self._query.exception()
        if error is not None:
            raise QueryFailed(f"the query failed: {str(error).strip().splitlines()[0]}")
        raise QueryEnded("the query was stopped")

    def _note_idle(self, now: float) -> None:
        """Check whether the query waits for data; only if the next report is overdue, as the call takes time."""
        last, cycle = self.log.batch, self.log.cycle
        if self._listener.ended.is_set() or (last is not None and now < last.finished + (cycle or 0.0)):
            return
        status = self._query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            self.log.idle = now

    def _read_stages(self) -> None:
        ended = self.status.finished_jobs(self._run_id, self._last_job) or []
        jobs = until_batch(ended, self._batches[-1].id)
        if not jobs:
            return
        self._last_job = int(jobs[-1]["jobId"])
        stages = self.status.stages(jobs)
        if stages is not None:
            last = of_last_batch(jobs)
            self._stages = [stage for stage in stages if stage.id in last] or self._stages
            self._shares = self._look_at_partitions()
            self._reruns += sum(stage.reruns for stage in stages)

    def _look_at_partitions(self) -> Mapping[int, tuple[float, ...]]:
        """By stage, how records are distributed over its partitions. Only every few batches, as a look takes time."""
        self._unseen += 1
        if not self.log.state_rows or self._unseen < LOOK or not self._stages:
            return {}
        self._unseen = 0
        stage = max(self._stages, key=lambda stage: sum(stage.shuffled_by.values()))
        return {stage.id: self.status.shares(stage)}

    def _look_at_state(self, now: float, executors: Sequence[Executor]) -> None:
        if self._spreader is None:
            return
        self._spreader.note(self.log.state_size, self.log.load_rate)
        self._spreader.look(executors)
        self._events += self._spreader.take_events()
        partitions = self._spreader.partitions
        if self._spreader.uneven([executor.id for executor in executors]):
            self._skew.forget()
        elif self._batches and partitions:
            records = widest([stage.shuffled_by for stage in self._stages])
            cores = max((executor.cores for executor in executors), default=1)
            self._events += self._skew.read(now, records, partitions, cores)

    def _lost(self, now: float, executors: Sequence[Executor], requested: int) -> list[Event]:
        """Executors that disappeared although more are requested. Spark replaces them by itself."""
        present = {executor.id for executor in executors}
        gone, self._present = sorted(self._present - present), present
        if not gone or len(executors) >= requested:
            return []
        return [Event(now, "ExecutorLost", f"executor {', '.join(gone)} is gone, {len(executors)} left")]

    def _observation(self, now: float, executors: Sequence[Executor]) -> Observation:
        log, limit, member = self.log, self._watching.batch_limit, self._membership
        running = len(executors)
        present = member.present(running) if member else running
        samples = self._samples(now, executors)
        return Observation(
            time=now,
            executors=present,
            requested=member.requested if member else running,
            arrival_rate=log.arrival_rate,
            processing_rate=log.processing_rate,
            backlog=log.backlog(now),
            latency=log.latency,
            trigger=log.trigger,
            batch_duration=log.duration,
            pause=log.pause,
            ceiling=self._ceiling(executors),
            state_rows=log.state_rows,
            state_bytes=log.state_bytes,
            batch_limit=limit.value if limit else None,
            rerun_tasks=self._reruns,
            per_executor=samples if present == running else shared(samples, present),
            operators=operators(self._stages, log.cycle, self._shares),
            batches=tuple(self._batches),
            events=tuple(self._events),
            others=member.others if member else 0,
            held=member.held(now) if member else "",
            uneven=self._spreader.uneven([executor.id for executor in executors]) if self._spreader else "",
        )

    def _ceiling(self, executors: Sequence[Executor]) -> int | None:
        if not self._stages or not executors or executors[0].cores < 1:
            return None
        widest_stage = math.ceil(max(stage.tasks for stage in self._stages) / executors[0].cores)
        return widest_stage if self._skew.ceiling is None else min(widest_stage, self._skew.ceiling)

    def _samples(self, now: float, executors: Sequence[Executor]) -> tuple[ExecutorSample, ...]:
        cpu, busy, cycle = self._cpu.read(now, executors), self._slots.read(now, executors), self.log.cycle
        stalled, events = self._stalls.read(now, executors, cpu, self._cpu.stopped())
        self._events += events
        held = self._spreader.partitions if self._spreader else {}
        read: dict[str, int] = {}
        for stage in self._stages:
            for id, records in stage.read_by.items():
                read[id] = read.get(id, 0) + records
        return tuple(
            ExecutorSample(
                id=e.id,
                host=e.host,
                cores=e.cores,
                # nobody must take the rest of an executor that does not work for spare capacity
                cpu=None if e.id in stalled else cpu.get(e.id),
                busy=None if e.id in stalled else busy.get(e.id),
                rate=read.get(e.id, 0) / cycle if read and cycle else None,
                uptime=max(0.0, now - e.added),
                tasks=e.active_tasks,
                stores=held.get(e.id, 0) if held else None,
                stalled=e.id in stalled,
            )
            for e in executors
        )


def shared(samples: Sequence[ExecutorSample], count: int) -> tuple[ExecutorSample, ...]:
    """A query's part of executors that it shares with other queries: as many samples as its share counts, which
    together read what the query reads. CPU and busy share are those of the executors, whoever uses them.

    >>> a, b = (ExecutorSample(id, cpu=0.8, rate=100.0) for id in "ab")
    >>> [(sample.id, sample.rate) for sample in shared([a, b], 1)]
    [('a', 200.0)]
    """
    part = samples[:count]
    whole, read = (sum(sample.rate or 0.0 for sample in group) for group in (samples, part))
    if not part or not read:
        return tuple(part)
    return tuple(replace(s, rate=None if s.rate is None else s.rate * whole / read) for s in part)


def operators(
    stages: Sequence[Stage], cycle: float | None, shares: Mapping[int, tuple[float, ...]] = NO_SHARES
) -> tuple[OperatorSample, ...]:
    """The stages of the last batch as a chain of operators; `shares` by id of the stage."""
    if not cycle:
        return ()
    return tuple(
        OperatorSample(
            name=f"stage {k}",
            upstream=(f"stage {k - 1}",) if k else (),
            parallelism=stage.tasks,
            rate_in=stage.records_in / cycle,
            rate_out=stage.records_out / cycle,
            busy=stage.run_time / cycle,
            cpu=stage.cpu_time / cycle,
            shares=shares.get(stage.id, ()),
        )
        for k, stage in enumerate(stages)
    )
