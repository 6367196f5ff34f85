"""The settings of a run: a checked spec, and the objects that are built from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from tidegate.control import Autoscaler
from tidegate.core import InvalidInput, UnknownName
from tidegate.experiment.bounds import check_bounds
from tidegate.presets import autoscaler, need_profile, parsed_options
from tidegate.runs import KafkaSettings, RunSpec
from tidegate.sim.batch_model import model
from tidegate.sim.papers import paper_query
from tidegate.workloads import Shape, named
from tidegate.workloads.trace import version

#: Spark; a simulator of Spark's micro-batches; a simulator of operators with their own workers, as in the papers
ENGINES = ("spark", "sim", "operators")
#: the policy scales; the policy only reports what it would do; Spark's dynamic allocation scales
MODES = ("active", "monitor", "native")

Kafka = KafkaSettings


@lru_cache(maxsize=8)
def _load(version: tuple[int, int], name: str, peak: float, variation: tuple[float, int | None, float]) -> Shape:
    """Cached, since a run loads its workload often. A changed trace file has another version."""
    duration, seed, noise = variation
    return named(name, duration, peak, seed=seed, noise=noise)


def _absolute(sample: str) -> str:
    """Executors have other working directories.

    >>> _absolute("/data/orders.parquet?time=at"), _absolute("")
    ('/data/orders.parquet?time=at', '')
    """
    file, mark, options = sample.partition("?")
    return f"{Path(file).absolute()}{mark}{options}" if file else sample


@dataclass(frozen=True, slots=True)
class Experiment(RunSpec):
    """Everything that a run depends on. Invalid settings are rejected here, before anything is started."""

    job: str = "q1"
    workload: str = "tide"
    duration: float = 180.0
    peak: float = 100_000.0
    trigger: float = 4.0
    safe: bool = True
    spread: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", parsed_options(self.policy, self.options))
        object.__setattr__(self, "sample", _absolute(self.sample))
        for kind, value, choices in (("engine", self.engine, ENGINES), ("mode", self.mode, MODES)):
            if value not in choices:
                raise UnknownName(kind, value, choices)
        for name in ("duration", "peak", "slo", "trigger", "period"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"run: need {name} > 0, got {getattr(self, name):g}")
        check_bounds(self)
        if self.mode == "native" and self.engine != "spark":
            raise InvalidInput(f"run: mode native is Spark's own dynamic allocation, engine {self.engine} has none")
        if self.failures and self.engine == "spark":
            raise InvalidInput("run: failures are those of a simulator, on engine spark nothing is made to fail")
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
            self._check_sample()
            self._jobs().events(**self.event_options())

    def _check_sample(self) -> None:
        own = self._jobs().is_application(self.job)
        if own:
            self._jobs().check_application(self.job)
        if own and not self.sample:
            raise InvalidInput(f"run: need a sample of records for {self.job}, as in --sample orders.parquet")
        if self.sample and not own:
            raise InvalidInput(f"run: a sample is for --app, {self.job} has its own records")

    @staticmethod
    def _jobs() -> Any:
        from tidegate import jobs  # noqa: PLC0415, needs PySpark, which simulations do without

        return jobs

    @property
    def first(self) -> int:
        """Executors at the start."""
        _ = self.limits
        return self.initial if self.initial is not None else self.minimum

    @property
    def partition_count(self) -> int:
        """Partitions of source and shuffle. The default is three tasks per core at the maximum, so that tasks spread
        evenly over any number of executors.
        """
        return self.partitions or 3 * self.maximum * self.cores

    def load(self) -> Shape:
        variation = (self.duration, self.workload_seed, self.noise)
        return _load(version(self.workload), self.workload, self.peak, variation)

    @property
    def source_kind(self) -> str:
        if self.engine != "spark":
            return "simulated"
        return "embedded" if self.kafka is None else "kafka"

    @property
    def external_source(self) -> bool:
        """Whether another program produces the records, so that the offered load is unknown."""
        return self.kafka is not None and not self.kafka.produce

    def event_options(self) -> dict[str, Any]:
        """Arguments for `jobs.events`."""
        return {"name": self._events_name(), "seed": self.seed, "rate": self.peak, "skew": self.skew}

    def _events_name(self) -> str:
        return f"{self._jobs().SAMPLE}{self.sample}" if self.sample else str(self._jobs().job(self.job).events)

    def autoscaler(self) -> Autoscaler:
        simulated, slo = self.engine != "spark", self.slo if self.safe else None
        if not simulated:
            need_profile(self.policy, self.options)
        return autoscaler(self.policy, self.limits, self.options, slo=slo, simulated=simulated)

    def allocation(self) -> dict[str, str]:
        """Spark's settings for mode `native`: dynamic allocation with its own defaults, within the limits.

        Without a shuffle service it needs to track shuffles, as on Kubernetes.
        """
        if self.mode != "native":
            return {}
        prefix = "spark.dynamicAllocation"
        bounds = {"minExecutors": self.minimum, "maxExecutors": self.maximum, "initialExecutors": self.first}
        switches = {f"{prefix}.enabled": "true", f"{prefix}.shuffleTracking.enabled": "true"}
        return {**switches, **{f"{prefix}.{key}": str(value) for key, value in bounds.items()}}

    def source_options(self) -> dict[str, str]:
        """Options of the embedded source, except for the load it offers."""
        return {
            "events": self._events_name(),
            "seed": str(self.seed),
            "skew": self.skew,
            "partitions": str(self.partition_count),
            "eventRate": str(self.peak),
        }

    def spec(self, start: float | None = None) -> RunSpec:
        """The spec that is stored with the run."""
        values: Mapping[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        shape = None if self.external_source else self.load().spec()
        return RunSpec(**{**values, "source": self.source_kind, "workload_spec": shape, "start": start})
