"""One pass over the ticks of a run: the lines, decisions and events that its report shows, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.core import Observation, Tick
from tidegate.report.choices import DecisionLog, RunDecisions, choice
from tidegate.report.events import EventLog, RunEvents
from tidegate.report.thinning import POINTS, Samples, Thinning
from tidegate.score.recorder import TraceRecorder
from tidegate.units import known

#: id of the one sample that stands for all executors in a tick that the store has folded
FOLDED = "mean"
#: series of a run, in the order of the columns of its samples
SERIES = (
    "arrived", "processed", "running", "requested", "wished", "latency", "backlog", "cpu", "busiest", "idlest",
    "most", "fewest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Digest:
    #: on the clock of the ticks
    start: float
    ticks: int
    samples: Samples
    decisions: RunDecisions
    events: RunEvents
    #: what scoring needs; None if the run has figures already
    recorder: TraceRecorder | None = None
    #: whether the store has folded ticks into one: rates are then means
    folded: bool = False

    @property
    def first(self) -> float:
        return self.samples.times[0] if self.samples.times else 0.0

    @property
    def last(self) -> float:
        return max(self.samples.times, default=0.0)

    @property
    def scorable(self) -> bool:
        """A score takes at least two moments."""
        return self.recorder is not None and self.last > min(self.samples.times, default=self.last)


def digest(
    ticks: Iterable[Tick], start: float | None, recorder: TraceRecorder | None = None, points: int = POINTS
) -> Digest:
    """`start` is that of the run; None for that of the first tick. The recorder takes every tick too."""
    thinning, decided = Thinning(len(SERIES), points), DecisionLog()
    log: EventLog | None = None
    count, wish, folded = 0, None, False
    for tick in ticks:
        obs = tick.observation
        if not math.isfinite(obs.time):
            continue
        if log is None:
            start = obs.time if start is None else start
            log = EventLog(start)
        begin = log.start
        count += 1
        folded = folded or any(executor.id == FOLDED for executor in obs.per_executor)
        if tick.steps:
            wish = tick.steps[-1].decision.target.executors
            decided.add(choice(tick, begin))
        thinning.add(round(obs.time - begin, 3), _values(obs, wish))
        for event in obs.events:
            log.take(event)
        if recorder is not None:
            recorder.take(tick)
    events = RunEvents() if log is None else log.events()
    return Digest(start or 0.0, count, thinning.samples(), decided.decisions(), events, recorder, folded)


def _values(obs: Observation, wish: int | None) -> tuple[float | None, ...]:
    """In the order of `SERIES`. A wish holds until the next one."""
    return (
        known(obs.arrival_rate),
        known(obs.processing_rate),
        obs.executors,
        obs.requested,
        wish,
        known(obs.latency),
        known(obs.backlog),
        known(cpu(obs)),
        *_extremes([load for load in _loads(obs) if known(load) is not None]),
        *_extremes([executor.stores for executor in obs.per_executor if executor.stores is not None]),
    )


def cpu(obs: Observation) -> float | None:
    """The mean CPU of the executors; an executor without a CPU meter counts with how busy its slots are."""
    loads = _loads(obs)
    return sum(loads) / len(loads) if loads else None


def _loads(obs: Observation) -> list[float]:
    readings = (executor.busy if executor.cpu is None else executor.cpu for executor in obs.per_executor)
    return [load for load in readings if load is not None]


def _extremes(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The largest and the smallest value of several executors. Far apart, the pool is uneven."""
    return (max(values), min(values)) if len(values) > 1 else (None, None)
