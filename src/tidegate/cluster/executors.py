"""The executors of an application: their state, which ones to remove, and how to declare a total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Executor:
    id: str
    host: str
    cores: int
    active_tasks: int
    #: task-seconds of finished tasks
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


class Scaling(Protocol):
    """The part of a driver that changes the number of executors."""

    def kill(self, executors: Sequence[str]) -> None: ...
    def request_total(self, executors: int) -> None: ...
    def requested_total(self) -> int | None: ...
    def busy(self) -> bool:
        """Whether a job runs, if only between two of its stages."""
        ...


def declare(driver: Scaling, surplus: Sequence[Executor], total: int) -> None:
    """Kill surplus executors, then declare the total.

    The order matters (measured on Spark 4.3): requesting a total removes no executors, and killing executors lowers the
    total that Spark keeps. So the total is always declared after killing.
    """
    if surplus:
        driver.kill([executor.id for executor in surplus])
    driver.request_total(total)


def victims(
    executors: Sequence[Executor], total: int, held: Mapping[str, int] = MappingProxyType({})
) -> list[Executor]:
    """Victim selection: idle executors first, then those that hold the fewest state partitions (`held`), then the
    youngest, which are the least warm.

    >>> rows = [("0", 0, 1), ("1", 1, 2), ("2", 0, 3)]  # id, running tasks, time added
    >>> a, b, c = (Executor(id, "host", 1, tasks, 0.0, added) for id, tasks, added in rows)
    >>> [e.id for e in victims([a, b, c], total=1)], [e.id for e in victims([a, b, c], total=1, held={"0": 3, "2": 4})]
    (['2', '0'], ['0', '2'])
    """
    order = sorted(executors, key=lambda e: (e.active_tasks, held.get(e.id, 0), -e.added))
    return order[: max(0, len(executors) - total)]
