"""A planned number of state partitions, tried on the largest testbed against half and double of it.

What the testbed sustained with a number of its partitions is good for every plan that asks for that number, whatever
the rate: it is kept, and only what is missing is run. The source of the testbed has as many partitions as the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegate.planner.explorer import Question
from tidegate.planner.space import Configuration
from tidegate.planner.spark_configuration.partition_trial import (
    MeasuredCount,
    TrialCount,
    TrialRules,
    TrialVerdict,
    judge_trial,
    trial_counts,
)
from tidegate.planner.spark_configuration.partitions import PartitionPlan
from tidegate.profiling.search_run import OPENING, Searcher

#: standard deviations of a rate by which one of two equal ones exceeds the other in one of ten cases: the quantile of
#: 90 % times the square root of 2. And the widest tolerance
CLEARLY, WIDEST = 1.8, 0.5


@dataclass(frozen=True, slots=True)
class TrialProbe:
    """The rate that a testbed sustained with so many partitions, or why there is none."""

    slots: int
    memory: float
    partitions: int
    rate: float | None
    minutes: float = 0.0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class PartitionTrial:
    """Of a plan, on a configuration of the testbed with at least two slots.

    >>> trial = PartitionTrial(PartitionPlan(96, 24, 0.2, 0.05), Configuration(4, 512))
    >>> known = [TrialProbe(4, 512, 16, 8_900.0), TrialProbe(4, 512, 8, 9_000.0)]
    >>> [count.testbed for count in trial.missing(known)]
    [32]
    >>> trial.verdict(known).reason
    '96 partitions as planned: no other count was better by more than noise (48: +1.1 %)'
    """

    plan: PartitionPlan
    testbed: Configuration

    @property
    def counts(self) -> tuple[TrialCount, ...]:
        """The planned one first: without it the others say nothing."""
        counts = trial_counts(self.plan, self.testbed.slots)
        return tuple(sorted(counts, key=lambda count: count.planned != self.plan.partitions))

    def missing(self, probes: Sequence[TrialProbe]) -> list[TrialCount]:
        """Those without a rate. Searches that failed are made again, in another command."""
        return [count for count in self.counts if not self._rates(count, probes)]

    def failure(self, count: TrialCount, probes: Sequence[TrialProbe]) -> str:
        """Of the last search with it; empty if there was none."""
        return next((probe.failure for probe in reversed(self._of(count, probes)) if probe.failure), "")

    def verdict(self, probes: Sequence[TrialProbe], noise: float = 0.0) -> TrialVerdict | None:
        """None as long as the planned count and another one are not both measured. `noise` is the relative standard
        deviation of a measured rate.
        """
        rates = [(count, self._rates(count, probes)) for count in self.counts]
        measured = [MeasuredCount(count, each) for count, each in rates if each]
        if len(measured) < 2 or measured[0].count.planned != self.plan.partitions:
            return None
        usual = TrialRules().tolerance
        return judge_trial(self.plan, measured, TrialRules(min(WIDEST, max(usual, CLEARLY * noise))))

    def _rates(self, count: TrialCount, probes: Sequence[TrialProbe]) -> tuple[float, ...]:
        return tuple(probe.rate for probe in self._of(count, probes) if probe.rate is not None)

    def _of(self, count: TrialCount, probes: Sequence[TrialProbe]) -> list[TrialProbe]:
        key = self.testbed.slots, self.testbed.memory, count.testbed
        return [probe for probe in probes if (probe.slots, probe.memory, probe.partitions) == key]


def run_trial(
    trial: PartitionTrial,
    known: Sequence[TrialProbe],
    searcher: Searcher,
    seconds: float,
    on_probe: Callable[[TrialProbe], None] = lambda probe: None,
) -> tuple[TrialProbe, ...]:
    """What is known, and a search for each count that is missing, as long as there is time. Two counts that are
    measured well say more than three that are not.
    """
    probes, missing = list(known), trial.missing(known)
    for number, count in enumerate(missing):
        share = max(searcher.enough_seconds, seconds / (len(missing) - number))
        settings = searcher.within(seconds, wanted=share - OPENING)
        if settings is None:
            break
        slots, memory = trial.testbed.slots, trial.testbed.memory
        question = Question(slots, memory, f"trial of {count.testbed} partitions")
        tried = replace(searcher, e=replace(searcher.e, partitions=count.testbed))
        run = tried.run(question, _expected(trial, probes), settings, repetition=len(probes))
        shown = run.probe(question)
        probes.append(TrialProbe(slots, memory, count.testbed, shown.rate, shown.minutes, shown.failure))
        seconds -= 60 * shown.minutes
        on_probe(probes[-1])
    return tuple(probes)


def _expected(trial: PartitionTrial, probes: Sequence[TrialProbe]) -> float | None:
    """What the same testbed sustained with any count; None if nothing did."""
    bed = trial.testbed.slots, trial.testbed.memory
    return max((p.rate for p in probes if p.rate is not None and (p.slots, p.memory) == bed), default=None)
