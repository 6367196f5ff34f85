"""What a run on a small testbed showed: the figures from which a configuration is planned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from tidegate.core import Batch, InvalidInput, Observation, OperatorSample
from tidegate.planner.spark_configuration.cost_line import cost_line
from tidegate.planner.spark_configuration.skew import Skew

#: state is still growing if there is so much more for each record a second in the last third than in the second
GROWING = 1.1


@dataclass(frozen=True, slots=True)
class StageFigures:
    """A stage of a usual batch. `each` is slot time for each record of the source, not of the stage's own input."""

    tasks: int
    each: float
    #: slot time of a task apart from records; None if batches did not differ enough in size
    per_task: float | None = None
    #: None if it was not looked at
    skew: Skew | None = None


@dataclass(frozen=True, slots=True)
class StateFigures:
    """The state of the query at the rate of the run, as its provider reports it."""

    rows: float
    #: bytes in memory; None if they were not reported
    size: float | None
    #: whether it was still growing at the end, at the same rate
    growing: bool = False


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Made by `run_figures`. `rate` is what the run processed; stages are in the order in which they run."""

    rate: float
    executors: int
    cores: int
    stages: tuple[StageFigures, ...]
    #: time from one planning to the next, how long a batch took, and its records: medians
    trigger: float
    batch_seconds: float
    batch_records: float
    #: index of the first stage that runs where state is; None if no stage reads a shuffle
    keyed: int | None = None
    #: time of a batch without records, waves of empty tasks included; None if batches did not differ enough in size
    fixed: float | None = None
    #: None if the query reported no state
    state: StateFigures | None = None

    @property
    def slots(self) -> int:
        return self.executors * self.cores

    @property
    def source_stages(self) -> tuple[StageFigures, ...]:
        return self.stages[: self.keyed]

    @property
    def keyed_stages(self) -> tuple[StageFigures, ...]:
        return () if self.keyed is None else self.stages[self.keyed :]

    @property
    def each(self) -> float:
        """Slot time for a record, over all stages."""
        return math.fsum(stage.each for stage in self.stages)

    @property
    def costs_known(self) -> bool:
        """Whether what a record takes is known by itself; else `each` has a part of what tasks take without records,
        and is too high for larger batches.
        """
        return all(stage.per_task is not None for stage in self.stages)

    @property
    def skew(self) -> Skew | None:
        """Of the stage whose largest task has most."""
        return max((stage.skew for stage in self.stages if stage.skew), key=lambda skew: skew.over_mean, default=None)

    @property
    def driver(self) -> float | None:
        """`fixed` without the waves of empty tasks: planning, scheduling and commit, whatever runs the tasks.

        >>> stage = StageFigures(tasks=8, each=1e-5, per_task=0.1)
        >>> run = RunFigures(1e4, 2, 1, (stage,), trigger=5.0, batch_seconds=2.0, batch_records=5e4, fixed=0.75)
        >>> round(run.driver, 2)  # 4 waves of 0.1 s
        0.35
        """
        if self.fixed is None:
            return None
        waves = math.fsum((stage.per_task or 0.0) * -(-stage.tasks // self.slots) for stage in self.stages)
        return max(0.0, self.fixed - waves)


@dataclass(frozen=True, slots=True)
class _Look:
    """A batch with the stages that it ran, and its time from planning to planning."""

    records: float
    cycle: float
    stages: tuple[OperatorSample, ...]


def run_figures(observations: Sequence[Observation], trigger: float | None = None) -> RunFigures:
    """From the observations of a run that kept up, in order of time; `trigger` is the interval that it was run with,
    else it is taken from its batches.

    What a batch takes without records can only be seen if loads differed. So a run is best shown with all loads that
    it sustained, and without its warm-up, in which new executors are slow.
    """
    batches = [batch for obs in observations for batch in obs.batches if batch.end > batch.begin]
    looks = _looks(observations)
    if not batches or not looks:
        missing = "batch with records" if not batches else "stage of a batch"
        raise InvalidInput(
            f"run figures: need observations of finished batches and their stages, got {len(observations)} "
            f"observations without any {missing}"
        )
    count = round(median(len(look.stages) for look in looks))
    usual = [look for look in looks if len(look.stages) == count] or looks[-1:]
    rate = _rate(batches, looks)
    line = cost_line([batch.end - batch.begin for batch in batches], [b.finished - b.planned for b in batches])
    return RunFigures(
        rate=rate,
        executors=max(1, round(median(obs.executors for obs in observations))),
        cores=max((sample.cores for obs in observations for sample in obs.per_executor), default=1),
        stages=tuple(_stage(usual, k) for k in range(len(usual[-1].stages))),
        trigger=trigger
        or median([b.planned - a.planned for a, b in pairwise(batches)] or [look.cycle for look in looks]),
        batch_seconds=median(batch.finished - batch.planned for batch in batches),
        batch_records=median(batch.end - batch.begin for batch in batches),
        keyed=_keyed(usual),
        fixed=None if line is None else line.fixed,
        state=_state(observations, rate),
    )


def _looks(observations: Sequence[Observation]) -> list[_Look]:
    """Stages are those of the last batch, so an observation without a batch shows nothing new."""
    looks = []
    for obs in observations:
        cycle = max(obs.trigger or 0.0, obs.batch_duration or 0.0)
        if obs.batches and obs.operators and cycle > 0 and obs.batches[-1].end > obs.batches[-1].begin:
            last = obs.batches[-1]
            looks.append(_Look(last.end - last.begin, cycle, obs.operators))
    return looks


def _rate(batches: Sequence[Batch], looks: Sequence[_Look]) -> float:
    """From planning to planning: a time that begins or ends within a batch would depend on where."""
    first, last = batches[0], batches[-1]
    if last.planned > first.planned:
        return (last.begin - first.begin) / (last.planned - first.planned)
    return looks[-1].records / looks[-1].cycle


def _keyed(looks: Sequence[_Look]) -> int | None:
    """A join reads its streams in stages of their own; only those from its shuffle on run where the state is."""
    if len(looks[-1].stages) < 2:
        return None
    return max((k for look in looks for k, stage in enumerate(look.stages) if stage.shares), default=1) or 1


def _stage(looks: Sequence[_Look], k: int) -> StageFigures:
    records = [look.records for look in looks]
    slot_seconds = [(look.stages[k].busy or 0.0) * look.cycle for look in looks]
    tasks = max(1, round(median(look.stages[k].parallelism for look in looks)))
    skew = Skew.of(look.stages[k].shares for look in looks)
    line = cost_line(records, slot_seconds)
    if line is None:
        return StageFigures(tasks, median(s / r for s, r in zip(slot_seconds, records, strict=True)), None, skew)
    return StageFigures(tasks, line.each, line.fixed / tasks, skew)


def _state(observations: Sequence[Observation], rate: float) -> StateFigures | None:
    """State grows with the number of keys or with windows of records, so it is taken in proportion to the rate."""
    known = [(obs, obs.arrival_rate) for obs in observations if obs.state_rows is not None and obs.arrival_rate]
    if not known:
        return None
    rows = [(obs.state_rows or 0) / arriving for obs, arriving in known]
    sizes = [obs.state_bytes / arriving for obs, arriving in known if obs.state_bytes is not None]
    late, before = _last_thirds(rows)
    size = rate * median(_last_thirds(sizes)[0]) if sizes else None
    return StateFigures(rate * median(late), size, median(late) > GROWING * median(before))


def _last_thirds(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """The last third, and the one before."""
    third = max(1, len(values) // 3)
    return values[-third:], values[-2 * third : -third] or values[-third:]
