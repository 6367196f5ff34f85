"""What came of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Options
from tidegate.runs.spec import RunSpec
from tidegate.score.figures import Figures


@dataclass(frozen=True, slots=True)
class KafkaCounts:
    """What became of a run's records: read by the query; in the topic, by their numbers; and the producer's word."""

    topic: str
    read: int
    malformed: int
    produced: int | None = None
    #: records that are in the topic more than once, or not at all; None where nobody numbered them
    duplicates: int | None = None
    losses: int | None = None
    #: how long the producer ever was behind the workload, s
    behind: float | None = None
    #: version of Spark's Kafka connector, which may be another than Spark's own
    connector: str | None = None


@dataclass(frozen=True, slots=True)
class SinkCounts:
    """The rows of the result's topic against those of the batch query; None where they were not compared."""

    topic: str
    rows: int | None = None
    duplicates: int | None = None
    losses: int | None = None


@dataclass(frozen=True, slots=True)
class ProfilingCost:
    """Of the profiling runs that a policy needed before: one deployment after another."""

    seconds: float
    worker_seconds: float
    points: int


@dataclass(frozen=True, slots=True)
class LateStretch:
    """A time in which records arrived that missed the objective, from `start` on."""

    start: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that has ended; `status` is done, interrupted or failed. One that failed early has an error, no figures."""

    run: str
    status: str
    job: str = ""
    workload: str | None = None
    policy: str = ""
    engine: str = ""
    mode: str = "active"
    source: str | None = None
    seed: int = 0
    options: Options = field(default_factory=dict)
    duration: float | None = None
    #: records that the workload offered; None where it is not known
    offered: int | None = None
    figures: Figures | None = None
    #: whether the streamed result equals that of one batch query; None where that was not checked
    verified: bool | None = None
    kafka: KafkaCounts | None = None
    sink: SinkCounts | None = None
    profiling: ProfilingCost | None = None
    #: when records were late for longest
    late: tuple[LateStretch, ...] | None = None
    #: its id in the store, where the run is known by another name here
    stored: str | None = None
    error: str | None = None
    #: whether state was spread over the executors; None where that is not known, or where none is simulated
    spread: bool | None = None

    @classmethod
    def of(cls, run: str, status: str, spec: RunSpec) -> RunResult:
        """What is known of a run by its spec alone."""
        return cls(
            run,
            status,
            job=spec.job,
            workload=spec.workload,
            policy=spec.policy,
            engine=spec.engine,
            mode=spec.mode,
            source=spec.source,
            seed=spec.seed,
            options=dict(spec.options),
            spread=None if spec.engine == "operators" else spec.spread and spec.mode == "active",
        )
