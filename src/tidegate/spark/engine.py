"""A running Spark query as an engine: observations from its reports and the driver's status, scaling through the
actuator.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.jvm_shutdown import finish
from tidegate.cluster.quota import Quotas
from tidegate.cluster.status import Executor, Stage, Status
from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    Observation,
    OperatorSample,
    QueryEnded,
    QueryFailed,
)
from tidegate.spark.actuator import Actuator
from tidegate.spark.listener import ProgressListener
from tidegate.spark.meter import CpuMeter, SlotMeter
from tidegate.spark.progress import ProgressLog


class SparkEngine:
    """Watches one query from when it is made until `close`; the query itself is never touched.

    `base` is the source position from which records are counted (see `ProgressLog`); `requested` how many executors the
    cluster was asked for, where that is not the number there are.
    """

    def __init__(
        self,
        spark: SparkSession,
        query: StreamingQuery,
        *,
        quotas: Quotas | None = None,
        base: float | None = None,
        requested: int | None = None,
    ) -> None:
        self._spark, self._query = spark, query
        #: Spark scales by itself: what there is is what was asked for, and who is gone was not lost
        self.native = False
        #: told the report of every batch that ran
        self.hear: Callable[[Mapping[str, Any]], None] = lambda report: None
        self._run_id = str(query.runId)
        self.status = Status(spark.sparkContext)
        self.log = ProgressLog(base=base)
        self._listener = ProgressListener(self._run_id)
        spark.streams.addListener(self._listener)
        if not query.isActive:
            self._listener.ended.set()
        self.actuator = Actuator(
            spark.sparkContext, self.status.executors, self._listener.boundary, requested=requested
        )
        self._cpu = CpuMeter(str(spark.sparkContext.applicationId), quotas)
        self._slots = SlotMeter()
        self._last_job = -1
        self._stages: list[Stage] = []
        self._reruns = 0
        self._known: set[str] = {executor.id for executor in self.status.executors()}
        #: what the query observed of itself, by batch: one that ran again after a restart counts once
        self.observed: dict[int, dict[str, Any]] = {}

    def observe(self) -> Observation:
        reports = [json.loads(text) for text in self._listener.drain()]
        for report in reports:
            if "addBatch" in (report.get("durationMs") or {}):
                self.hear(report)
        batches = [batch for batch in (self.log.add(report) for report in reports) if batch is not None]
        self.observed |= {int(r["batchId"]): r["observedMetrics"] for r in reports if r.get("observedMetrics")}
        self._raise_if_over(batches)
        now = time.time()
        self._note_idle(now)
        executors = self.status.executors()
        if self.native:
            self.actuator.requested = len(executors)
        if batches:
            self._read_stages()
        events = (*self._lost(now, executors), *self.actuator.check(now, len(executors)))
        return self._observation(now, executors, batches, events)

    def scale(self, decision: Decision) -> None:
        self.actuator.scale(decision.executors)

    def resume(self, query: StreamingQuery) -> None:
        """Watch the query that goes on from the checkpoint of the one before; all that was counted counts."""
        self._query, self._run_id = query, str(query.runId)
        self._listener.follow(self._run_id)
        if not query.isActive:
            self._listener.ended.set()

    def close(self) -> None:
        """Stop watching. The query goes on with the executors it has."""
        self.actuator.close()
        finish("removing the listener", lambda: self._spark.streams.removeListener(self._listener), patience=10)

    def _raise_if_over(self, batches: Sequence[Batch]) -> None:
        """Once the query is over; the batches that came with its last reports are seen first."""
        if batches or not self._listener.ended.is_set():
            return
        error = self._query.exception()
        if error is not None:
            raise QueryFailed(f"the query failed: {str(error).strip().splitlines()[0]}")
        raise QueryEnded("the query was stopped")

    def _note_idle(self, now: float) -> None:
        """Ask whether the query waits for data, but only where the next report is overdue: asking costs time."""
        last, cycle = self.log.batch, self._cycle
        if self._listener.ended.is_set() or (last is not None and now < last.finished + (cycle or 0.0)):
            return
        status = self._query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            self.log.idle(now)

    def _read_stages(self) -> None:
        try:
            jobs = self.status.finished_jobs(self._run_id, self._last_job)
        except Py4JJavaError:  # Spark forgets old jobs and stages; what it forgot cannot be told
            return
        if jobs:
            self._last_job = int(jobs[-1]["jobId"])
            self._stages = self.status.stages(jobs)
            self._reruns += sum(stage.reruns for stage in self._stages)

    def _lost(self, now: float, executors: Sequence[Executor]) -> list[Event]:
        """Executors that went although more were asked for: Spark replaces them by itself."""
        present = {executor.id for executor in executors}
        gone, self._known = sorted(self._known - present), present
        if not gone or len(executors) >= self.actuator.requested:
            return []
        return [Event(now, "ExecutorLost", f"executor {', '.join(gone)} is gone, {len(executors)} left")]

    def _observation(
        self, now: float, executors: Sequence[Executor], batches: Sequence[Batch], events: tuple[Event, ...]
    ) -> Observation:
        log = self.log
        return Observation(
            time=now,
            executors=len(executors),
            requested=self.actuator.requested,
            arrival_rate=log.arrival_rate,
            processing_rate=log.processing_rate,
            backlog=log.backlog(now),
            latency=log.latency,
            trigger=log.trigger,
            batch_duration=log.duration,
            ceiling=self._ceiling(executors),
            state_rows=log.state_rows,
            state_bytes=log.state_bytes,
            rerun_tasks=self._reruns,
            per_executor=self._samples(now, executors),
            operators=operators(self._stages, self._cycle),
            batches=tuple(batches),
            events=events,
        )

    @property
    def _cycle(self) -> float | None:
        """Seconds from batch to batch, over which a batch's work is spread."""
        known = [span for span in (self.log.trigger, self.log.duration) if span]
        return max(known) if known else None

    def _ceiling(self, executors: Sequence[Executor]) -> int | None:
        if not self._stages or not executors:
            return None
        return math.ceil(max(stage.tasks for stage in self._stages) / executors[0].cores)

    def _samples(self, now: float, executors: Sequence[Executor]) -> tuple[ExecutorSample, ...]:
        cpu, busy, cycle = self._cpu.read(now, executors), self._slots.read(now, executors), self._cycle
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
    """The stages of the last batch as operators in a row, each fed by the one before."""
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
