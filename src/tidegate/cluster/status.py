"""Executors and stages, from the driver's own status store.

Spark keeps these figures in the driver whether or not its web page is on. They are read in the JVM as one JSON text a
question: no port, no proxy, no login, and a tenth of the REST interface's time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext


@dataclass(frozen=True, slots=True)
class Stage:
    """A finished stage: `tasks` is its width, `reruns` how many task attempts were more than one each."""

    id: int
    tasks: int
    reruns: int
    records_in: int
    records_out: int
    #: task-seconds, and CPU-seconds of the JVM
    run_time: float
    cpu_time: float
    #: executor id -> records read
    read_by: Mapping[str, int]

    @classmethod
    def parse(cls, stage: Mapping[str, Any], by_executor: Mapping[str, Any]) -> Stage:
        tasks, attempts = int(stage["numTasks"]), int(stage["numCompleteTasks"])
        lost = int(stage["numFailedTasks"]) + int(stage["numKilledTasks"]) + max(0, attempts - tasks)
        return cls(
            id=int(stage["stageId"]),
            tasks=tasks,
            reruns=lost + (tasks if int(stage["attemptId"]) > 0 else 0),
            records_in=int(stage["inputRecords"]) + int(stage["shuffleReadRecords"]),
            records_out=int(stage["outputRecords"]) + int(stage["shuffleWriteRecords"]),
            run_time=int(stage["executorRunTime"]) / 1e3,
            cpu_time=int(stage["executorCpuTime"]) / 1e9,
            read_by={id: int(v["inputRecords"]) for id, v in by_executor.items()},
        )


@dataclass(frozen=True, slots=True)
class Executor:
    id: str
    host: str
    cores: int
    active_tasks: int
    #: task-seconds of the tasks that have ended
    task_time: float
    added: float

    @classmethod
    def parse(cls, executor: Mapping[str, Any]) -> Executor:
        return cls(
            id=executor["id"],
            host=str(executor["hostPort"]).rsplit(":", 1)[0],
            cores=int(executor["totalCores"]),
            active_tasks=int(executor["activeTasks"]),
            task_time=int(executor["totalDuration"]) / 1e3,
            added=int(executor["addTime"]) / 1e3,
        )


class Status:
    """Asks the driver of one Spark context. Every call into the JVM costs a millisecond or more on a busy machine:
    few are made.
    """

    def __init__(self, context: SparkContext) -> None:
        jvm: Any = context._jvm
        scala: Any = context._jsc.sc()
        self._store, self._tracker = scala.statusStore(), scala.statusTracker()
        self._mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
        module = getattr(jvm.com.fasterxml.jackson.module.scala, "DefaultScalaModule$")
        self._mapper.registerModule(getattr(module, "MODULE$"))

    def executors(self) -> list[Executor]:
        """The live ones, the driver left out, oldest first."""
        listed = self._read(self._store.executorList(True))
        live = [Executor.parse(e) for e in listed if e["id"] != "driver" and e["isActive"]]
        return sorted(live, key=lambda e: (e.added, e.id))

    def finished_jobs(self, group: str, after: int) -> list[Mapping[str, Any]]:
        """A query's jobs with ids above `after` that have ended, oldest first; a query's jobs are grouped by its run
        id.
        """
        ended = []
        for id in sorted(id for id in self._read(self._tracker.getJobIdsForGroup(group)) if id > after):
            job = self._read(self._store.job(id))
            if job["status"] == "RUNNING":
                break
            ended.append(job)
        return ended

    def stages(self, jobs: Sequence[Mapping[str, Any]]) -> list[Stage]:
        """The stages of jobs that really ran, in their order."""
        ids = sorted({int(id) for job in jobs for id in job["stageIds"]})
        return [stage for stage in map(self._stage, ids) if stage is not None]

    def _stage(self, id: int) -> Stage | None:
        stage = self._read(self._store.lastStageAttempt(id))
        if stage["status"] != "COMPLETE":
            return None
        return Stage.parse(stage, self._read(self._store.executorSummary(id, int(stage["attemptId"]))))

    def _read(self, value: Any) -> Any:
        return json.loads(self._mapper.writeValueAsString(value))
