"""Executors and stages, from the driver's own status store, which Spark keeps whether or not its web page is on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext

from tidegate.cluster.executors import Executor
from tidegate.cluster.jvm import Driver, JvmError, forgotten


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


class Status:
    """Asks the driver of one Spark context; few calls are made, as each costs time."""

    def __init__(self, context: SparkContext) -> None:
        self._driver = Driver(context)

    def executors(self) -> list[Executor]:
        """The live ones, the driver left out, oldest first."""
        live = [Executor.parse(e) for e in self._driver.executors() if e["id"] != "driver" and e["isActive"]]
        return sorted(live, key=lambda e: (e.added, e.id))

    def finished_jobs(self, group: str, after: int) -> list[Mapping[str, Any]] | None:
        """A query's jobs with ids above `after` that have ended, oldest first; a query's jobs are grouped by its run
        id. None where Spark has forgotten them: it keeps only so many.
        """
        ended: list[Mapping[str, Any]] = []
        try:
            for id in sorted(id for id in self._driver.job_ids(group) if id > after):
                job = self._driver.job(id)
                if job["status"] == "RUNNING":
                    break
                ended.append(job)
        except JvmError as error:
            if forgotten(error):
                return None
            raise
        return ended

    def stages(self, jobs: Sequence[Mapping[str, Any]]) -> list[Stage] | None:
        """The stages of jobs that really ran, in their order; None where Spark has forgotten one."""
        ids = sorted({int(id) for job in jobs for id in job["stageIds"]})
        try:
            return [stage for stage in map(self._stage, ids) if stage is not None]
        except JvmError as error:
            if forgotten(error):
                return None
            raise

    def _stage(self, id: int) -> Stage | None:
        stage = self._driver.stage(id)
        if stage["status"] != "COMPLETE":
            return None
        return Stage.parse(stage, self._driver.stage_by_executor(id, int(stage["attemptId"])))
