"""Executors and stages from the driver's status store, which Spark keeps even if its web UI is off."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark import SparkContext

from tidegate.cluster.executors import Executor
from tidegate.cluster.jvm import Driver, JvmError, forgotten

#: tasks of a stage that are looked at one by one
MOST_TASKS = 256


@dataclass(frozen=True, slots=True)
class Stage:
    """A finished stage: `tasks` is its number of tasks, `reruns` the number of additional task attempts."""

    id: int
    tasks: int
    reruns: int
    records_in: int
    records_out: int
    #: task-seconds, and JVM CPU-seconds
    run_time: float
    cpu_time: float
    #: executor id -> records read
    read_by: Mapping[str, int]
    #: executor id -> records read from a shuffle
    shuffled_by: Mapping[str, int] = field(default_factory=dict)
    attempt: int = 0

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
            shuffled_by={id: int(v["shuffleReadRecords"]) for id, v in by_executor.items()},
            attempt=int(stage["attemptId"]),
        )


def shares_of(tasks: Sequence[Mapping[str, Any]], count: int) -> tuple[float, ...]:
    """
    >>> def task(index, records, status="SUCCESS"):
    ...     return {"index": index, "status": status, "taskMetrics": {"shuffleReadMetrics": {"recordsRead": records}}}
    >>> shares_of([task(1, 30), task(0, 10), task(0, 10, "FAILED")], 2)
    (0.25, 0.75)
    >>> shares_of([task(1, 30)], 2)  # Spark no longer keeps all of them
    ()
    """
    read: dict[int, int] = {}
    for task in tasks:
        metrics = task.get("taskMetrics")
        if task["status"] == "SUCCESS" and metrics:
            read[int(task["index"])] = int(metrics["shuffleReadMetrics"]["recordsRead"])
    whole = sum(read.values())
    if len(read) != count or not whole:
        return ()
    return tuple(round(read[index] / whole, 5) for index in sorted(read))


def until_batch(jobs: Sequence[Mapping[str, Any]], batch: int) -> list[Mapping[str, Any]]:
    """Those of a micro-batch and of earlier ones. A job that broadcasts a table has ended long before the others of its
    batch, so that the last jobs to have ended may be of a batch that is still running.

    >>> jobs = [{"jobId": id, "description": f"q<br/>batch = {batch}"} for id, batch in ((1, 4), (2, 4), (3, 5))]
    >>> [job["jobId"] for job in until_batch(jobs, 4)]
    [1, 2]
    """
    return [job for job in jobs if (number := _batch_of(job)) is None or number <= batch]


def _batch_of(job: Mapping[str, Any]) -> int | None:
    said = re.search(r"batch = (\d+)", str(job.get("description") or ""))
    return int(said.group(1)) if said else None


def of_last_batch(jobs: Sequence[Mapping[str, Any]]) -> set[int]:
    """Ids of the stages of the last micro-batch among jobs, oldest first. Spark describes a job by its query and batch.

    >>> sorted(of_last_batch([{"description": f"q<br/>batch = {b}", "stageIds": [b, b + 1]} for b in (3, 5, 5)]))
    [5, 6]
    """
    last = jobs[-1].get("description") if jobs else None
    batch = [job for job in jobs if job.get("description") == last] if last else jobs[-1:]
    return {int(id) for job in batch for id in job["stageIds"]}


class Status:
    """The status of one Spark context. Makes as few calls to the driver as possible, since each takes time."""

    def __init__(self, context: SparkContext) -> None:
        self._driver = Driver(context)

    def executors(self) -> list[Executor]:
        """Live executors without the driver, oldest first."""
        live = [Executor.parse(e) for e in self._driver.executors() if e["id"] != "driver" and e["isActive"]]
        return sorted(live, key=lambda e: (e.added, e.id))

    def finished_jobs(self, group: str, after: int) -> list[Mapping[str, Any]] | None:
        """Finished jobs of a query with ids above `after`, oldest first; `group` is the query's run id. None if Spark
        no longer keeps them, as it retains a limited number.
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
        """The stages of jobs that were not skipped, in order; None if Spark no longer keeps one of them."""
        ids = sorted({int(id) for job in jobs for id in job["stageIds"]})
        try:
            return [stage for stage in map(self._stage, ids) if stage is not None]
        except JvmError as error:
            if forgotten(error):
                return None
            raise

    def shares(self, stage: Stage) -> tuple[float, ...]:
        """What each task of a stage read from a shuffle, as a share of the whole, in the order of partitions. Empty if
        it read nothing, if Spark no longer keeps its tasks, or if they are more than a look may cost.
        """
        if not sum(stage.shuffled_by.values()) or stage.tasks > MOST_TASKS:
            return ()
        try:
            tasks = self._driver.tasks(stage.id, stage.attempt, 2 * MOST_TASKS)
        except JvmError as error:
            if forgotten(error):
                return ()
            raise
        return shares_of(tasks, stage.tasks)

    def _stage(self, id: int) -> Stage | None:
        stage = self._driver.stage(id)
        if stage["status"] != "COMPLETE":
            return None
        return Stage.parse(stage, self._driver.stage_by_executor(id, int(stage["attemptId"])))
