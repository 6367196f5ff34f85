"""How many partitions a stage is to have for a number of slots.

The state partitions of a query are fixed when it first starts. They are planned for the slots of the target and of the
peak that the query may grow to, never for the testbed:

- a multiple of the planned slots, so that every wave is full, and waves are almost full at half the slots and at those
  of the peak;
- at least one for each slot of the peak;
- so many that the largest task takes a small part of the trigger, or others wait for it;
- so few that starting and ending tasks does, which every slot does once for each of its tasks.

Where not all can be had, the number that breaks the rules least is taken, and `broken` says which.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.planner.spark_configuration.rules import ConfigurationRules
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.units import seconds, share

#: partitions for each planned slot beyond which more are not tried
MOST_PER_SLOT = 16


@dataclass(frozen=True, slots=True)
class TaskLoad:
    """The tasks of stages with as many partitions. `busy` are the slots that their records keep busy at the target,
    `per_task` is the time of a task apart from records, summed over the stages.

    >>> load = TaskLoad(busy=6.0, per_task=0.5)
    >>> load.largest_task(24, trigger=5.0), load.task_share(24, 8, trigger=5.0)  # 6 / 24 + 0.5 / 5, and 3 * 0.5 / 5
    (0.35, 0.3)
    """

    busy: float
    per_task: float
    skew: Skew | None = None

    def largest_task(self, partitions: int, trigger: float) -> float:
        """As a share of the trigger."""
        largest = self.skew.share_of_largest(partitions) if self.skew else 1 / partitions
        return self.busy * largest + self.per_task / trigger

    def divisible_task(self, partitions: int, trigger: float) -> float:
        """Like `largest_task`, without what a hot key adds however many partitions there are."""
        return self.largest_task(partitions, trigger) - self.busy * (self.skew.key if self.skew else 0.0)

    def task_share(self, partitions: int, slots: int, trigger: float) -> float:
        """Of the trigger, what a slot spends on starting and ending its tasks."""
        return self.per_task * -(-partitions // slots) / trigger


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """`largest_task` and `task_share` are shares of the trigger with the planned slots."""

    partitions: int
    slots: int
    largest_task: float
    task_share: float
    #: rules that could not be kept, as sentences
    broken: tuple[str, ...] = ()

    @property
    def waves(self) -> int:
        return -(-self.partitions // self.slots)


def idle_share(partitions: int, slots: int) -> float:
    """The share of the slots' time that is lost because the last wave is not full.

    >>> idle_share(24, 8), idle_share(24, 16), idle_share(8, 16)
    (0.0, 0.25, 0.5)
    """
    return 1 - partitions / (-(-partitions // slots) * slots)


def plan_partitions(
    load: TaskLoad, slots: int, peak_slots: int, trigger: float, rules: ConfigurationRules | None = None
) -> PartitionPlan:
    """
    >>> plan_partitions(TaskLoad(busy=6.0, per_task=0.1), slots=8, peak_slots=16, trigger=5.0).partitions
    32
    >>> plan_partitions(TaskLoad(busy=2.0, per_task=0.4), slots=8, peak_slots=16, trigger=5.0).broken
    ('2 tasks of 0.4 s without records take 16 % of the trigger, more than 10 %: a longer trigger loses less',)
    """
    rules = rules or ConfigurationRules()
    fewest = -(-peak_slots // slots)
    candidates = [slots * k for k in range(fewest, max(fewest, MOST_PER_SLOT) + 1)]

    def excess(partitions: int) -> tuple[float, int]:
        """By what factor rules are exceeded, in total."""
        pairs = (
            (load.divisible_task(partitions, trigger), rules.largest_task),
            (load.task_share(partitions, slots, trigger), rules.task_share),
            (_idle(partitions, slots, peak_slots), rules.idle_share),
        )
        total = sum(max(0.0, value / most - 1 if most else value) for value, most in pairs)
        return round(total, 6), partitions

    best = min(candidates, key=excess)
    return PartitionPlan(
        best,
        slots,
        load.largest_task(best, trigger),
        load.task_share(best, slots, trigger),
        _broken(load, best, slots, trigger, rules),
    )


def _idle(partitions: int, slots: int, peak_slots: int) -> float:
    """The larger one of those at half the slots and at the peak."""
    return max(idle_share(partitions, max(1, slots // 2)), idle_share(partitions, peak_slots))


def _broken(load: TaskLoad, partitions: int, slots: int, trigger: float, rules: ConfigurationRules) -> tuple[str, ...]:
    sentences = []
    largest, tasks = load.divisible_task(partitions, trigger), load.task_share(partitions, slots, trigger)
    if largest > rules.largest_task:
        sentences.append(
            f"the largest of {partitions:,} tasks takes {share(largest)} of the trigger, more than "
            f"{share(rules.largest_task)}: more partitions would cost more than they divide"
        )
    if tasks > rules.task_share:
        waves = -(-partitions // slots)
        several = (
            f"{waves} tasks of {seconds(load.per_task)} without records take"
            if waves > 1
            else "a task without records takes"
        )
        sentences.append(
            f"{several} {share(tasks)} of the trigger, more than {share(rules.task_share)}: a longer trigger loses less"
        )
    return tuple(sentences)
