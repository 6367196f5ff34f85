"""What a run is: enough to show it, to score it and to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.core import InvalidInput, Limits, Options


@dataclass(frozen=True, slots=True)
class KafkaSettings:
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
    #: of Kafka's clients, see `kafka.options`; they may have secrets, which `encode` hides
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: the records of the topic as a file, with columns of times (`jobs.sample.Sample.name`), which a plan sends again
    #: into topics of its own; empty for reading the topic as it is filled
    recording: str = ""

    def __post_init__(self) -> None:
        for name, value in (("bootstrap", self.bootstrap), ("topic", self.topic)):
            if not value:
                raise InvalidInput(f"run: source kafka needs --{name}")
        if self.sink == self.topic:
            raise InvalidInput(f"run: the result cannot go to {self.sink!r}, the topic it is made from")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that a run depends on. None is not known, or not decided here: an attached query's load, its shape.

    Times are seconds, rates records per second, memory MiB. Plain data: it is not checked, so that runs of other
    versions and of plug-ins that are gone can still be shown. `Experiment` is one that was checked and can be started.
    """

    #: a name, or a Python file with a query of one's own
    job: str = ""
    #: a file with records for that query, its columns of times and shifted keys (`jobs.sample.Sample.name`)
    sample: str = ""
    workload: str | None = None
    #: seed and noise (a share of the rate) of the workload; None for the seed it is documented with
    workload_seed: int | None = None
    noise: float = 0.0
    policy: str = "hpa-cpu"
    options: Options = field(default_factory=dict)
    engine: str = "spark"
    mode: str = "active"
    duration: float | None = None
    #: highest offered rate
    peak: float | None = None
    minimum: int = 1
    maximum: int = 4
    initial: int | None = None
    #: records may take this long
    slo: float = 10.0
    #: whether guards keep the policy from scaling in while records are late; else the policy is as published
    safe: bool = False
    #: whether state is moved to executors that hold too little of it; else it stays where Spark has it
    spread: bool = False
    #: of the records, and of what a simulator draws
    seed: int = 0
    #: how unevenly keys are spread
    skew: str = "default"
    trigger: float | None = None
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
    kafka: KafkaSettings | None = None
    master: str | None = None
    cores: int = 1
    memory: int = 512
    ui_port: int | None = None
    #: of the simulators: a name of `sim.models`, or a file that `tidegate calibrate` wrote; empty for the job's own
    model: str = ""
    #: seconds between observations of a simulator; Spark is observed each second
    period: float = 15.0
    #: seconds from the start at which a worker of a simulator fails
    failures: tuple[float, ...] = ()
    #: of an executor for an hour; None where money does not matter
    price: float | None = None
    #: embedded, kafka or simulated; None where it is the attached query's own
    source: str | None = None
    #: the workload as its shape's `spec()`, from which it can be made again
    workload_spec: Mapping[str, Any] | None = None
    #: the ticks' time of the workload's beginning; None for that of the first tick
    start: float | None = None

    @property
    def limits(self) -> Limits:
        return Limits(self.minimum, self.maximum)

    @property
    def max_batch_records(self) -> int:
        """The most records of one batch; 0 where nothing limits it."""
        return self.limit or int(4 * (self.trigger or 0.0) * (self.peak or 0.0))
