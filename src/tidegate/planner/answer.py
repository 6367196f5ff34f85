"""The whole answer to a question of capacity: the slots for a rate, and the configuration of Spark that has them."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.planner.averaging import AveragedCapacity, average
from tidegate.planner.measurement import Measurement
from tidegate.planner.plan import Plan, Refusal, plan
from tidegate.planner.spark_configuration.configuration import SparkConfiguration, configure
from tidegate.planner.spark_configuration.feasibility import NoConfiguration
from tidegate.planner.spark_configuration.partition_trial import TrialVerdict
from tidegate.planner.spark_configuration.requirement import Requirement
from tidegate.planner.spark_configuration.rules import MIB, ConfigurationRules
from tidegate.planner.spark_configuration.run_figures import RunFigures
from tidegate.planner.tasks import Tasks
from tidegate.planner.validation import Validation


@dataclass(frozen=True, slots=True)
class Wanted:
    """A rate in records/s, on executors of so many cores. `partitions` are those of source and state, if they are
    fixed; `slo` is the latency that records may have; `highest` is the rate that the query may have to grow to.
    """

    rate: float
    cores: int = 1
    partitions: int | None = None
    slo: float | None = None
    highest: float | None = None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What runs have shown of a query, memory in MiB. Without `figures`, `no_figures` says why."""

    measurements: tuple[Measurement, ...]
    figures: RunFigures | None = None
    no_figures: str = ""
    validations: tuple[Validation, ...] = ()

    def capacity(self, partitions: int | None = None) -> AveragedCapacity:
        """Learnt from all runs, also from those that were to validate it."""
        validated = [validation.measurement for validation in self.validations]
        return average([*self.measurements, *validated], Tasks(partitions) if partitions else None)


@dataclass(frozen=True, slots=True)
class Answer:
    """`configuration` is None if no slots are planned, or without figures. `trial` is that of its state partitions."""

    wanted: Wanted
    known: Knowledge
    capacity: AveragedCapacity
    plan: Plan | Refusal
    configuration: SparkConfiguration | NoConfiguration | None = None
    trial: TrialVerdict | None = None

    @property
    def refusal(self) -> str:
        """Why there is no plan; empty if there is one. Slots that no partitions can keep busy are none."""
        if isinstance(self.plan, Refusal):
            return self.plan.reason
        return self.configuration.reason if isinstance(self.configuration, NoConfiguration) else ""

    @property
    def outcome(self) -> Plan | Refusal:
        """The plan, unless no configuration could have it."""
        if isinstance(self.plan, Refusal) or not self.refusal:
            return self.plan
        return Refusal(self.plan.rate, self.refusal, self.plan.interval, self.plan.reach)


def answer(wanted: Wanted, known: Knowledge, trial: TrialVerdict | None = None) -> Answer:
    """With the state partitions that a trial has chosen, if there was one.

    >>> measured = tuple(Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16))
    >>> planned = answer(Wanted(40_000), Knowledge(measured, no_figures="no run was looked at"))
    >>> planned.plan.slots, planned.configuration, planned.refusal
    (43, None, '')
    """
    capacity = known.capacity(wanted.partitions)
    planned = plan(capacity, wanted.rate)
    if isinstance(planned, Refusal) or known.figures is None:
        return Answer(wanted, known, capacity, planned)
    needed = Requirement(
        wanted.rate,
        planned.slots,
        capacity=planned.capacity.low,
        slo=wanted.slo,
        cores=wanted.cores,
        source_partitions=wanted.partitions,
        state_partitions=trial.count.planned if trial else wanted.partitions,
        peak_slots=_peak_slots(capacity, wanted, planned.slots),
        heap=capacity.memory * MIB,
    )
    return Answer(wanted, known, capacity, planned, configure(known.figures, needed), trial)


def _peak_slots(capacity: AveragedCapacity, wanted: Wanted, slots: int) -> int | None:
    """Those of the highest rate, where it is more than a query is allowed to grow to anyway."""
    highest = None if wanted.highest is None else plan(capacity, wanted.highest)
    if not isinstance(highest, Plan) or highest.slots <= slots * ConfigurationRules().growth:
        return None
    return highest.slots
