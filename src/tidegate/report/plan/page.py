"""What the page of a plan is made from: what was measured and under which conditions, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate.planner.averaging import AveragedCapacity
from tidegate.planner.explorer import Exploration
from tidegate.planner.plan import Plan, PlanRules, Refusal
from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.feasibility import NoConfiguration
from tidegate.planner.spark_configuration.run_figures import RunFigures


@dataclass(frozen=True, slots=True)
class Conditions:
    """Of the measurements. `testbed` is text, like `1 to 4 executors`."""

    testbed: str
    #: slots of an executor
    cores: int = 1
    #: CPU limit of an executor, in cores
    quota: float | None = None
    #: seconds between micro-batches
    trigger: float | None = None
    #: on the testbed, with validation and partition trial; None: those of the exploration
    minutes: float | None = None
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """A value with the bounds of its 90 % interval; None is unknown, or more than can be predicted."""

    low: float | None
    median: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CostRow:
    """A way to run the query, such as `static for the peak`, with its slots and what they cost a month."""

    name: str
    slots: Spread
    cost: Spread | None = None


@dataclass(frozen=True, slots=True)
class PlanPage:
    """Sentences may begin in lower case and have no full stop: they get both."""

    job: str
    conditions: Conditions
    exploration: Exploration
    capacity: AveragedCapacity
    answer: Plan | Refusal
    configuration: SparkConfiguration | NoConfiguration | None = None
    #: from which the configuration was made
    run: RunFigures | None = None
    #: further answers, as of a peak, recovery and a day
    needs: Sequence[str] = ()
    #: what a run between testbed and target said
    validation: str = ""
    #: what a trial of half and double the partitions said
    trial: str = ""
    #: which further run would narrow the answer most
    next_run: str = ""
    costs: Sequence[CostRow] = ()
    #: of the plan, as in the measurements; None: the largest that was measured
    memory: float | None = None
    #: of the plan
    rules: PlanRules = field(default_factory=PlanRules)

    @property
    def slots(self) -> int | None:
        """Those that are planned; None for a refusal."""
        return self.answer.slots if isinstance(self.answer, Plan) else None

    @property
    def minutes(self) -> float:
        spent = self.conditions.minutes
        return self.exploration.minutes if spent is None else spent

    @property
    def at_memory(self) -> float:
        """The memory that the curve is for."""
        return self.capacity.memory if self.memory is None else self.memory


def executors(slots: int, cores: int) -> int:
    """
    >>> executors(9, cores=4)
    3
    """
    return -(-slots // cores)
