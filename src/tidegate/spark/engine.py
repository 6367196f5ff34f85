"""A running Spark query as an engine: observes its progress reports and the driver's status, scales by the actuator."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.executors import Executor
from tidegate.cluster.jvm import Driver
from tidegate.cluster.jvm_shutdown import finish
from tidegate.cluster.quota import Quotas
from tidegate.cluster.status import Stage, Status, of_last_batch
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
from tidegate.spark.actuator import Actuator
from tidegate.spark.listener import ProgressListener
from tidegate.spark.meter import CpuMeter, SlotMeter
from tidegate.spark.ownership import Ownership
from tidegate.spark.reports import ReportLog

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


class SparkEngine:
    """Watches one query until `close`, without affecting the query itself.

    An active engine owns the application's executor total: a second active engine is rejected.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery, watching: Watching = Watching()) -> None:  # noqa: B008, a frozen value
        self._spark, self._query, self._watching = spark, query, watching
        self._run_id = str(query.runId)
        application = str(spark.sparkContext.applicationId)
        name = f"query {query.name or query.id}"
        self._ownership = Ownership(application, name) if watching.active else None
        self.status = Status(spark.sparkContext)
        self.log = ReportLog(base=watching.base)
        self._listener = ProgressListener(self._run_id)
        spark.streams.addListener(self._listener)
        if not query.isActive:
            self._listener.ended.set()
        self.actuator = self._make_actuator() if watching.active else None
        self._cpu = CpuMeter(application, watching.quotas)
        self._slots = SlotMeter()
        self._closed = False
        self._last_job = -1
        self._stages: list[Stage] = []
        self._reruns = 0
        self._present: set[str] = {executor.id for executor in self.status.executors()}
        #: observed metrics by batch, so that a batch that is rerun after a restart counts once
        self.observed: dict[int, dict[str, Any]] = {}

    def _make_actuator(self) -> Actuator:
        driver, requested = Driver(self._spark.sparkContext), self._watching.requested
        if requested is None:
            # while the first ones are still starting there are none, and a total of 0 would send them away
            configured = self._spark.sparkContext.getConf().get("spark.executor.instances", "1")
            requested = len(self.status.executors()) or max(1, int(configured))
        return Actuator(driver, self.status.executors, self._listener.boundary, requested=requested)

    @property
    def levers(self) -> frozenset[Lever]:
        limited = self._watching.batch_limit is not None
        return frozenset({Lever.EXECUTORS, Lever.BATCH_LIMIT} if limited else {Lever.EXECUTORS})

    def observe(self) -> Observation:
        reports = [json.loads(text) for text in self._listener.drain()]
        for report in reports:
            if "addBatch" in (report.get("durationMs") or {}):
                self._watching.on_progress(report)
        batches = [batch for batch in (self.log.add(report) for report in reports) if batch is not None]
        self.observed |= {int(r["batchId"]): r["observedMetrics"] for r in reports if r.get("observedMetrics")}
        self._raise_if_over(batches)
        now = time.time()
        self._note_idle(now)
        executors = self.status.executors()
        if batches:
            self._read_stages()
        requested = self.actuator.requested if self.actuator else len(executors)
        events = (*self._lost(now, executors, requested), *self._checked(now, len(executors)))
        return self._observation(now, (executors, requested), batches, events)

    def _checked(self, now: float, running: int) -> list[Event]:
        return self.actuator.check(now, running) if self.actuator else []

    def scale(self, decision: Decision) -> None:
        target, limit = decision.target, self._watching.batch_limit
        if target.batch_limit is not None and limit is not None:
            limit.set(target.batch_limit)
        if self.actuator is None:
            raise InvalidInput("this engine only watches and cannot scale: it was created with active=False")
        self.actuator.scale(target.executors)

    def resume(self, query: StreamingQuery) -> None:
        """Watch the query that continues from the checkpoint of the previous one. All counts are kept."""
        self._query, self._run_id = query, str(query.runId)
        self._listener.follow(self._run_id)
        if not query.isActive:
            self._listener.ended.set()

    def close(self) -> None:
        """Stop watching. The query continues with its current executors. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self.actuator:
            self.actuator.close()
        if self._ownership:
            self._ownership.release()
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
        jobs = self.status.finished_jobs(self._run_id, self._last_job)
        if not jobs:
            return
        self._last_job = int(jobs[-1]["jobId"])
        stages = self.status.stages(jobs)
        if stages is not None:
            last = of_last_batch(jobs)
            self._stages = [stage for stage in stages if stage.id in last] or self._stages
            self._reruns += sum(stage.reruns for stage in stages)

    def _lost(self, now: float, executors: Sequence[Executor], requested: int) -> list[Event]:
        """Executors that disappeared although more are requested. Spark replaces them by itself."""
        present = {executor.id for executor in executors}
        gone, self._present = sorted(self._present - present), present
        if not gone or len(executors) >= requested:
            return []
        return [Event(now, "ExecutorLost", f"executor {', '.join(gone)} is gone, {len(executors)} left")]

    def _observation(
        self, now: float, scale: tuple[Sequence[Executor], int], batches: Sequence[Batch], events: tuple[Event, ...]
    ) -> Observation:
        log, limit, (executors, requested) = self.log, self._watching.batch_limit, scale
        return Observation(
            time=now,
            executors=len(executors),
            requested=requested,
            arrival_rate=log.arrival_rate,
            processing_rate=log.processing_rate,
            backlog=log.backlog(now),
            latency=log.latency,
            trigger=log.trigger,
            batch_duration=log.duration,
            ceiling=self._ceiling(executors),
            state_rows=log.state_rows,
            state_bytes=log.state_bytes,
            batch_limit=limit.value if limit else None,
            rerun_tasks=self._reruns,
            per_executor=self._samples(now, executors),
            operators=operators(self._stages, log.cycle),
            batches=tuple(batches),
            events=events,
        )

    def _ceiling(self, executors: Sequence[Executor]) -> int | None:
        if not self._stages or not executors:
            return None
        return math.ceil(max(stage.tasks for stage in self._stages) / executors[0].cores)

    def _samples(self, now: float, executors: Sequence[Executor]) -> tuple[ExecutorSample, ...]:
        cpu, busy, cycle = self._cpu.read(now, executors), self._slots.read(now, executors), self.log.cycle
        read: dict[str, int] = {}
        for stage in self._stages:
            for id, records in stage.read_by.items():
                read[id] = read.get(id, 0) + records
        return tuple(
            ExecutorSample(
                id=e.id,
                host=e.host,
                cores=e.cores,
                cpu=cpu.get(e.id),
                busy=busy.get(e.id),
                rate=read.get(e.id, 0) / cycle if read and cycle else None,
                uptime=max(0.0, now - e.added),
                tasks=e.active_tasks,
            )
            for e in executors
        )


def operators(stages: Sequence[Stage], cycle: float | None) -> tuple[OperatorSample, ...]:
    """The stages of the last batch as a chain of operators."""
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
        )
        for k, stage in enumerate(stages)
    )
