"""The values that pass between the stages of the loop. Times are seconds, rates records per second, sizes bytes.

`None` means unknown, and only that: a reader must decide what to do without the number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.core.errors import InvalidLimits
from tidegate.core.fast_init import fast_init
from tidegate.core.target import ExecutorShape, Target


@fast_init
@dataclass(frozen=True, slots=True)
class ExecutorSample:
    """One executor at one moment."""

    id: str
    host: str | None = None
    cores: int = 1
    #: CPU time used by its process tree, Python workers included, as a share of its allowance
    cpu: float | None = None
    #: share of its task slots' time spent in tasks
    busy: float | None = None
    #: records per second read by its tasks
    rate: float | None = None
    uptime: float | None = None
    #: tasks running now
    tasks: int | None = None
    #: state partitions that it holds
    stores: int | None = None
    #: whether it has stopped responding, so that its other figures are not those of a working executor
    stalled: bool = False


@fast_init
@dataclass(frozen=True, slots=True)
class OperatorSample:
    """One operator. On Spark this is a stage of the query, whose tasks share the executors' slots with all others."""

    name: str
    upstream: tuple[str, ...] = ()
    parallelism: int = 1
    rate_in: float | None = None
    rate_out: float | None = None
    #: task-seconds per second, summed over its tasks: the number of slots it kept busy
    busy: float | None = None
    #: JVM CPU-seconds per second; excludes Python workers
    cpu: float | None = None
    #: share of time blocked on a full output, and fill level of its input queue; unknown on Spark
    backpressured: float | None = None
    queue: float | None = None
    #: what each of its partitions read in a batch, as shares; empty where that was not looked at
    shares: tuple[float, ...] = ()


@fast_init
@dataclass(frozen=True, slots=True)
class Batch:
    """A finished micro-batch: records `[begin, end)` of the source, in the order in which they arrived."""

    id: int
    #: when its records were selected, and when its results were committed
    planned: float
    finished: float
    begin: float
    end: float
    #: total records that had arrived when it was planned
    arrived: float | None = None
    #: rows read by tasks; more than `end - begin` if tasks ran twice
    rows: int = 0
    #: creation times of its records, if they carry them: evenly spaced quantiles from first to last
    times: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened during a run and is neither a measurement nor a decision."""

    time: float
    #: CamelCase, e.g. `ScaleTimeout`, `ExecutorLost`
    kind: str
    message: str


@fast_init
@dataclass(frozen=True, slots=True)
class Observation:
    """The state of one query at one moment, as far as the engine knows it."""

    time: float
    #: executors that are registered and usable
    executors: int
    #: executors last requested from the engine
    requested: int
    arrival_rate: float | None = None
    processing_rate: float | None = None
    #: records that have arrived but are in no finished batch
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
    #: maximum records per batch and size of an executor, if the engine can change them
    batch_limit: int | None = None
    shape: ExecutorShape | None = None
    #: tasks that were rerun since the start
    rerun_tasks: int = 0
    per_executor: tuple[ExecutorSample, ...] = ()
    operators: tuple[OperatorSample, ...] = ()
    #: whether each operator has its own workers, as many as its parallelism; on Spark all share the executors
    isolated: bool = False
    #: batches finished since the last observation
    batches: tuple[Batch, ...] = ()
    events: tuple[Event, ...] = ()
    #: executors requested for other queries of the same application, with which this one shares its limits
    others: int = 0
    #: why nothing may be rescaled now, e.g. because somebody else has set the total; empty if there is no reason
    held: str = ""
    #: why figures of the executors do not yet show what they can do together, e.g. because state is still moving to new
    #: ones; empty if they do
    uneven: str = ""
    #: for how long the query waited before its last batch; unknown if the batch before that one is
    pause: float | None = None


@dataclass(frozen=True, slots=True, init=False)
class Decision:
    """A target for the query and the reason for it. A plain number means a total of executors.

    >>> Decision(4, "busy").target == Target(4)
    True
    """

    target: Target
    reason: str
    evidence: Mapping[str, float]

    def __init__(self, target: Target | int, reason: str, evidence: Mapping[str, float] | None = None) -> None:
        _set_target(self, target if isinstance(target, Target) else Target(target))
        _set_reason(self, reason)
        _set_evidence(self, {} if evidence is None else evidence)

    @property
    def executors(self) -> int:
        return self.target.executors

    @property
    def per_operator(self) -> Mapping[str, int] | None:
        return self.target.per_operator


# setting slots directly is faster, and a simulated run creates thousands of decisions
_set_target, _set_reason, _set_evidence = (Decision.__dict__[name].__set__ for name in ("target", "reason", "evidence"))


def hold(obs: Observation, reason: str, **evidence: float) -> Decision:
    """The decision to keep the requested number of executors.

    >>> hold(Observation(time=0, executors=2, requested=3), "no CPU figures")
    Decision(target=Target(3), reason='hold: no CPU figures', evidence={})
    """
    return Decision(obs.requested, f"hold: {reason}", evidence)


@fast_init
@dataclass(frozen=True, slots=True)
class Step:
    """A decision and its author: first the policy, then each guard that changed it, then limits and engine."""

    by: str
    decision: Decision
    #: the error if the author raised one; the decision is then a hold
    error: str | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class Tick:
    """One iteration of the loop. `steps` is empty if no decision was due; the last step is the final decision."""

    observation: Observation
    steps: tuple[Step, ...] = ()
    #: whether the engine was asked to carry out the decision
    acted: bool = False

    @property
    def decision(self) -> Decision | None:
        return self.steps[-1].decision if self.steps else None


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the number of executors that may be requested.

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
    """The expected course of a rate: `mean[k]` is its mean over step k + 1 from now, and for each level in `quantiles`
    the rate stays below the values there with that probability.

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
        """Highest rate over the steps that begin before `until` seconds from now, but at least the first step."""
        values = self.mean if level is None else self.quantiles[level]
        steps = len(values) if until == math.inf else max(1, math.ceil(until / self.step))
        return max(values[:steps])

    def at(self, time: float) -> float:
        """Mean rate `time` seconds from now: linear between the midpoints of the steps, constant outside them."""
        position = time / self.step - 0.5
        k = math.floor(position)
        if k < 0 or k >= len(self.mean) - 1:
            return self.mean[0 if k < 0 else -1]
        return self.mean[k] + (position - k) * (self.mean[k + 1] - self.mean[k])


@dataclass(frozen=True, slots=True)
class ProfilePoint:
    """Result of one profiling run: the latency of records with `executors` at `rate`, offered or processed."""

    executors: int
    rate: float
    latency: float
    #: whether more was offered than could be processed, so that `rate` is the capacity
    saturated: bool = False
