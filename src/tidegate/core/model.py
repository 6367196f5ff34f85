"""The values that pass between the stages of the loop. Times are seconds, rates records per second, sizes bytes.

`None` means unknown, and only that: a reader must decide what to do without the number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.core.errors import InvalidLimits
from tidegate.core.fast_init import fast_init


@fast_init
@dataclass(frozen=True, slots=True)
class ExecutorSample:
    """One executor as it was seen at one moment."""

    id: str
    host: str | None = None
    cores: int = 1
    #: share of the CPU time it may use that its whole process tree used, Python workers included
    cpu: float | None = None
    #: share of its task slots' time spent in tasks
    busy: float | None = None
    #: records read by its tasks
    rate: float | None = None
    uptime: float | None = None
    #: running now
    tasks: int | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class OperatorSample:
    """One operator: on Spark a stage of the query, whose tasks share the executors' slots with all other stages."""

    name: str
    upstream: tuple[str, ...] = ()
    parallelism: int = 1
    rate_in: float | None = None
    rate_out: float | None = None
    #: task-seconds spent per second, summed over its tasks: how many slots it kept busy
    busy: float | None = None
    #: CPU-seconds per second of the JVM; Python workers are not in it
    cpu: float | None = None
    #: share of time held up by a full output, and how full its input queue is; Spark's stages have neither
    backpressured: float | None = None
    queue: float | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class Batch:
    """A finished micro-batch: records `[begin, end)` of the source, in the order in which they arrived."""

    id: int
    #: when its records were chosen, and when its results were committed
    planned: float
    finished: float
    begin: float
    end: float
    #: how many records had arrived in all when it was planned
    arrived: float | None = None
    #: rows that tasks read; more than `end - begin` where tasks ran twice
    rows: int = 0
    #: when its records were created, where they say so themselves: evenly spaced quantiles, from first to last
    times: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the run that is neither a number nor a decision."""

    time: float
    #: CamelCase, e.g. `ScaleTimeout`, `ExecutorLost`
    kind: str
    message: str


@fast_init
@dataclass(frozen=True, slots=True)
class Observation:
    """What an engine could see of one query at one moment."""

    time: float
    #: registered and usable
    executors: int
    #: what the engine was last asked for
    requested: int
    arrival_rate: float | None = None
    processing_rate: float | None = None
    #: records that arrived and are in no finished batch
    backlog: float | None = None
    #: age of the oldest record of the last finished batch when it finished
    latency: float | None = None
    #: time between the starts of the last two batches
    trigger: float | None = None
    batch_duration: float | None = None
    #: the largest number of executors that the partitions of the query can keep busy
    ceiling: int | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    #: tasks that ran again, since the start
    rerun_tasks: int = 0
    per_executor: tuple[ExecutorSample, ...] = ()
    operators: tuple[OperatorSample, ...] = ()
    #: whether each operator has workers of its own, as many as its parallelism; on Spark all share the executors
    isolated: bool = False
    #: finished since the last observation
    batches: tuple[Batch, ...] = ()
    events: tuple[Event, ...] = ()


@fast_init
@dataclass(frozen=True, slots=True)
class Decision:
    """A wished total of executors, and why."""

    executors: int
    reason: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    #: from policies that think per operator: the workers of each, for engines that isolate operators
    per_operator: Mapping[str, int] | None = None


def hold(obs: Observation, reason: str, **evidence: float) -> Decision:
    """The decision to stay with what was asked for.

    >>> hold(Observation(time=0, executors=2, requested=3), "no CPU figures")
    Decision(executors=3, reason='hold: no CPU figures', evidence={}, per_operator=None)
    """
    return Decision(obs.requested, f"hold: {reason}", evidence)


@fast_init
@dataclass(frozen=True, slots=True)
class Step:
    """A decision and who made it: the policy first, then each guard that changed it."""

    by: str
    decision: Decision


@fast_init
@dataclass(frozen=True, slots=True)
class Tick:
    """One turn of the loop. `steps` is empty where no decision was due; the last step is what was decided."""

    observation: Observation
    steps: tuple[Step, ...] = ()
    #: whether the engine was told
    acted: bool = False

    @property
    def decision(self) -> Decision | None:
        return self.steps[-1].decision if self.steps else None


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the most executors that may ever be asked for.

    >>> Limits(1, 8).clamp(12)
    8
    """

    minimum: int
    maximum: int

    def __post_init__(self) -> None:
        if not 0 < self.minimum <= self.maximum:
            raise InvalidLimits(f"need 0 < minimum <= maximum executors, got {self.minimum}, {self.maximum}")

    def clamp(self, executors: int) -> int:
        return min(max(executors, self.minimum), self.maximum)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of a rate: `mean[k]` over step k + 1 from now, and for each level in `quantiles` the rate that
    it stays below with that probability.

    >>> rising = Forecast(step=15, mean=(10.0, 20.0, 30.0), quantiles={0.9: (12.0, 25.0, 40.0)})
    >>> rising.max(), rising.max(until=20), rising.max(level=0.9), rising.at(15), rising.seconds
    (30.0, 20.0, 40.0, 15.0, 45)
    """

    step: float
    mean: tuple[float, ...]
    quantiles: Mapping[float, tuple[float, ...]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return self.step * len(self.mean)

    def max(self, until: float = math.inf, level: float | None = None) -> float:
        """Of the steps that begin before `until` seconds from now; at least the first."""
        values = self.mean if level is None else self.quantiles[level]
        steps = len(values) if until == math.inf else max(1, math.ceil(until / self.step))
        return max(values[:steps])

    def at(self, time: float) -> float:
        """The mean at a moment from now, by straight lines between the middles of the steps; flat beyond the ends."""
        place = time / self.step - 0.5
        k = math.floor(place)
        if k < 0 or k >= len(self.mean) - 1:
            return self.mean[0 if k < 0 else -1]
        return self.mean[k] + (place - k) * (self.mean[k + 1] - self.mean[k])


@dataclass(frozen=True, slots=True)
class ProfilePoint:
    """What one profiling run showed: with `executors` and `rate` offered or taken, records took `latency`."""

    executors: int
    rate: float
    latency: float
    #: whether more was there than could be taken, so that `rate` is the capacity
    saturated: bool = False
