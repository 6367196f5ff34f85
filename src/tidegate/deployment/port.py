"""What every deployment can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tidegate.core import Clock, Engine, ExecutorShape
from tidegate.score.recorder import TraceRecorder
from tidegate.score.trace import RunTrace
from tidegate.workloads import Shape


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """What a job is started on: executors at the start, how large each is, and its partitions (0: the job's own)."""

    executors: int = 1
    executor: ExecutorShape = field(default_factory=ExecutorShape)
    partitions: int = 0


class Deployment(Protocol):
    """A job that runs. `engine` and `clock` are what the driver needs; after `redeploy` they are new ones."""

    @property
    def engine(self) -> Engine: ...
    @property
    def clock(self) -> Clock: ...

    def offer(self, load: Shape) -> None:
        """Offer this load from now on, from its beginning, in the place of what was offered until now."""

    def redeploy(self, shape: ClusterShape) -> None:
        """Start again in another shape. Records go on where they were; state goes with the partitions' number."""

    def trace(self, recorder: TraceRecorder) -> RunTrace:
        """What a recorder of its ticks saw, with what was offered."""

    def close(self) -> None: ...
