"""What a run depends on, checked before anything is started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from tidegate.control import Autoscaler
from tidegate.core import InvalidInput, Limits, UnknownName
from tidegate.jobs import events, job
from tidegate.presets import Options, autoscaler
from tidegate.sim.batch_model import model
from tidegate.sim.papers import paper_query
from tidegate.workloads import Shape, named
from tidegate.workloads.trace import version

#: Spark; micro-batches as Spark runs them, simulated; operators with workers of their own, as in the papers, simulated
ENGINES = ("spark", "sim", "operators")
#: the policy scales; it only tells what it would do; Spark's own dynamic allocation scales
MODES = ("active", "monitor", "native")


@dataclass(frozen=True, slots=True)
class Kafka:
    """Records come through a topic. Tidegate's own producer fills it unless told not to: then the workload is somebody
    else's, and only what is in the topic is known of it.
    """

    bootstrap: str
    topic: str
    produce: bool = True
    #: topic to which the result goes; None for nowhere
    sink: str | None = None
    #: how long to wait for a broker that does not answer, s
    patience: float = 60.0

    def __post_init__(self) -> None:
        for name, value in (("bootstrap", self.bootstrap), ("topic", self.topic)):
            if not value:
                raise InvalidInput(f"run: source kafka needs --{name}")
        if self.sink == self.topic:
            raise InvalidInput(f"run: the result cannot go to {self.sink!r}, the topic it is made from")


@lru_cache(maxsize=8)
def _load(version: tuple[int, int], name: str, peak: float, drawn: tuple[float, int | None, float]) -> Shape:
    """A run asks for its workload often; a file that has changed is another workload."""
    duration, seed, noise = drawn
    return named(name, duration, peak, seed=seed, noise=noise)


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that a run depends on; stored with it."""

    job: str = "q1"
    workload: str = "tide"
    #: seed and noise (a share of the rate) of the workload; None for the seed it is documented with
    workload_seed: int | None = None
    noise: float = 0.0
    policy: str = "hpa-cpu"
    options: Options = field(default_factory=dict)
    engine: str = "spark"
    mode: str = "active"
    duration: float = 180.0
    #: highest offered rate
    peak: float = 100_000.0
    minimum: int = 1
    maximum: int = 4
    initial: int | None = None
    #: records may take this long
    slo: float = 10.0
    seed: int = 0
    #: how unevenly keys are spread
    skew: str = "default"
    trigger: float = 4.0
    #: most records of one batch; 0 for what arrives in four triggers at the peak, so that a backlog comes in pieces
    limit: int = 0
    partitions: int = 0
    #: how long to go on after the workload's end while records wait
    drain: float = 60.0
    verify: bool = True
    quota: float | None = None
    #: CPU-seconds that an executor may use before its quota holds, for its start and the compiler
    grace: float = 20.0
    #: None for the embedded source
    kafka: Kafka | None = None
    master: str | None = None
    cores: int = 1
    memory: int = 512
    ui_port: int | None = None
    #: of the simulators: a name of `sim.models`, or a file that `tidegate calibrate` wrote; empty for the job's own
    model: str = ""
    #: seconds between observations; Spark is always looked at each second
    period: float = 15.0
    #: seconds from the start at which a worker fails
    failures: tuple[float, ...] = ()
    #: of an executor for an hour; None where money does not matter
    price: float | None = None

    def __post_init__(self) -> None:
        for what, value, known in (("engine", self.engine, ENGINES), ("mode", self.mode, MODES)):
            if value not in known:
                raise UnknownName(what, value, known)
        for name in ("duration", "peak", "slo", "trigger", "period"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"run: need {name} > 0, got {getattr(self, name):g}")
        if self.mode == "native" and self.engine != "spark":
            raise InvalidInput(f"run: mode native is Spark's own dynamic allocation, engine {self.engine} has none")
        if self.quota is not None and not 0.02 <= self.quota <= self.cores:
            raise InvalidInput(f"run: need 0.02 <= quota <= {self.cores} cores, got {self.quota:g}")
        if not self.minimum <= self.first <= self.maximum:
            raise InvalidInput(
                f"run: need {self.minimum} <= executors at the start <= {self.maximum}, got {self.first}"
            )
        _ = self.load(), self.autoscaler()
        self._check_job()

    def _check_job(self) -> None:
        if self.engine == "operators":
            paper_query(self.model or self.job)
        elif self.engine == "sim":
            model(self.model or self.job)
        else:
            events(**self.event_options())

    @property
    def limits(self) -> Limits:
        return Limits(self.minimum, self.maximum)

    @property
    def first(self) -> int:
        _ = self.limits
        return self.initial if self.initial is not None else self.minimum

    @property
    def partition_count(self) -> int:
        """Partitions of source and shuffle: by default three tasks for every core there can be, so that any number
        shares them well.
        """
        return self.partitions or 3 * self.maximum * self.cores

    def load(self) -> Shape:
        drawn = (self.duration, self.workload_seed, self.noise)
        return _load(version(self.workload), self.workload, self.peak, drawn)

    @property
    def source(self) -> str:
        if self.engine != "spark":
            return "simulated"
        return "embedded" if self.kafka is None else "kafka"

    @property
    def external_source(self) -> bool:
        """Whether the records are somebody else's, so that nobody here knows when they are offered."""
        return self.kafka is not None and not self.kafka.produce

    @property
    def max_batch_records(self) -> int:
        """Records of one batch."""
        return self.limit or int(4 * self.trigger * self.peak)

    def event_options(self) -> dict[str, Any]:
        """The arguments of `jobs.events`."""
        return {"name": job(self.job).events, "seed": self.seed, "rate": self.peak, "skew": self.skew}

    def autoscaler(self) -> Autoscaler:
        return autoscaler(self.policy, self.limits, self.options)

    def allocation(self) -> dict[str, str]:
        """Spark's settings where it is to scale by itself: its own rules and defaults, within our limits.

        Without a shuffle service it needs to track shuffles, as on Kubernetes.
        """
        if self.mode != "native":
            return {}
        lead = "spark.dynamicAllocation"
        bounds = {"minExecutors": self.minimum, "maxExecutors": self.maximum, "initialExecutors": self.first}
        on = {f"{lead}.enabled": "true", f"{lead}.shuffleTracking.enabled": "true"}
        return {**on, **{f"{lead}.{key}": str(value) for key, value in bounds.items()}}

    def source_options(self, start: float) -> dict[str, str]:
        return {
            "events": job(self.job).events,
            "workload": json.dumps(self.load().spec()),
            "seed": str(self.seed),
            "skew": self.skew,
            "partitions": str(self.partition_count),
            "eventRate": str(self.peak),
            "maxRowsPerTrigger": str(self.max_batch_records),
            "start": repr(start),
        }

    def spec(self, start: float) -> dict[str, Any]:
        """What the store keeps: enough to show and to repeat the run."""
        shape = {} if self.external_source else {"workload_spec": self.load().spec()}
        return {**asdict(self), "source": self.source, **shape, "limits": [self.minimum, self.maximum], "start": start}
