"""The interface of deployments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tidegate.core import Clock, Engine, ExecutorShape
from tidegate.planner.estimator.phases import Supply
from tidegate.score.recorder import TraceRecorder
from tidegate.score.trace import RunTrace
from tidegate.workloads import Shape


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """The cluster of a job: initial executors, their size, and partitions (0: keep the job's own)."""

    executors: int = 1
    executor: ExecutorShape = field(default_factory=ExecutorShape)
    partitions: int = 0


class Deployment(Protocol):
    """A running job. `engine` and `clock` are for the control loop; `redeploy` replaces them."""

    @property
    def engine(self) -> Engine: ...
    @property
    def clock(self) -> Clock: ...

    def offer(self, load: Shape) -> None:
        """Offer a load, from its beginning, instead of the current one."""

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        """What the source made available between two times in which `rate` was offered. None if it always has what is
        offered.
        """

    def redeploy(self, shape: ClusterShape) -> None:
        """Restart in another shape. Records continue where they were; changing the partitions loses the state."""

    def trace(self, recorder: TraceRecorder) -> RunTrace:
        """The trace of a recorder that received the ticks, with the offered load."""

    def close(self) -> None: ...
