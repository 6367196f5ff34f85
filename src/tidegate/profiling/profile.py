"""Profiling runs in a simulator, for policies that need a profile of the job (`phoebe`, `twres`), and their cost.

As in Phoebe's profiling phase (ICWS'22), up to eight numbers of executors are profiled: first their capacity with a
full backlog, then constant rates that rise until the query is overloaded, each with 300 s to settle and 120 s to
measure. Micro-batches need that long: a record waits about 20 s for its trigger and its batch in any case, and an
overload must last for minutes until its latency stands out. Rates rise in shares of the capacity instead of steps of
20k/s, so that small numbers of executors get as many points as large ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tidegate.capacity.profile import SEPARATION
from tidegate.capacity.profiletext import text
from tidegate.control import drive
from tidegate.control.sinks import KeptTicks
from tidegate.core import InvalidInput, ProfilePoint, Tick
from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import batch_model, capacity
from tidegate.presets import preset
from tidegate.presets.definition import PROFILE
from tidegate.runs import ProfilingCost
from tidegate.score.recorder import TraceRecorder
from tidegate.score.trace import Finished, RunTrace
from tidegate.sim.papers import paper_query

#: maximum numbers of executors that are profiled
NUMBERS = 8
SETTLE, MEASURE = 300.0, 120.0
#: offered rates, as shares of the capacity; the last one is an overload
SHARES = (0.4, 0.7, 0.9, 1.2)
#: batches required to measure a rate, and how often the run time is doubled to get them
BATCHES, DOUBLED = 5, 8


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile and its cost: deployments one after another, each with all its executors for its whole duration."""

    points: tuple[ProfilePoint, ...]
    seconds: float
    worker_seconds: float

    @property
    def text(self) -> str:
        """The profile as CSV, for the option `profile`."""
        return text(self.points)


@dataclass(frozen=True, slots=True)
class _Step:
    """A profiling run: its point and its duration."""

    point: ProfilePoint
    seconds: float


def profile(e: Experiment) -> Profiled:
    """The profile of an experiment's job on its simulator. It does not depend on policy, workload and seed, so that all
    runs of a job share it.
    """
    if e.engine == "spark":
        raise InvalidInput("profiling runs are simulated: need engine sim or operators, got spark")
    neutral = replace(
        e,
        workload="constant",
        workload_seed=None,
        noise=0.0,
        policy="static",
        options={},
        mode="active",
        initial=None,
        limit=max(1, e.max_batch_records),
        seed=0,
        failures=(),
    )
    return _cached_profile(_ProfileKey(neutral))


class _ProfileKey:
    """Cache key: an experiment that equals all others with the same profile."""

    def __init__(self, e: Experiment) -> None:
        self.e = e
        job: Any = batch_model(e) if e.engine == "sim" else (e.model or e.job)
        self._key = (e.engine, job, e.minimum, e.maximum, e.trigger, e.limit, e.period)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ProfileKey) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=32)
def _cached_profile(key: _ProfileKey) -> Profiled:
    steps = [step for executors in numbers(key.e) for step in _steps(key.e, executors)]
    return Profiled(
        tuple(step.point for step in steps),
        sum(step.seconds for step in steps),
        sum(step.seconds * step.point.executors for step in steps),
    )


def needs(e: Experiment) -> bool:
    """Whether the experiment's policy needs a profile and has none."""
    return e.engine != "spark" and PROFILE in preset(e.policy).own and not e.options.get(PROFILE)


def with_profile(e: Experiment) -> Experiment:
    """The experiment with a profile from profiling runs, if it needs one."""
    return replace(e, options={**e.options, PROFILE: profile(e).text}) if needs(e) else e


def cost(e: Experiment) -> ProfilingCost | None:
    """Cost of the profiling runs that an experiment's policy needed; None if there were none."""
    if not needs(e):
        return None
    profiled = profile(e)
    return ProfilingCost(profiled.seconds, profiled.worker_seconds, len(profiled.points))


def numbers(e: Experiment) -> list[int]:
    """Numbers of executors to profile: all within the limits, or eight spread evenly. Each operator needs a worker.

    >>> numbers(Experiment(engine="sim", minimum=2, maximum=24))
    [2, 5, 8, 11, 15, 18, 21, 24]
    """
    least = max(e.minimum, len(paper_query(e.model or e.job).graph.operators) if e.engine == "operators" else 1)
    if least > e.maximum:
        raise InvalidInput(f"profiling {e.job}: its operators need {least} workers, the most are {e.maximum}")
    parts = min(NUMBERS - 1, e.maximum - least)
    return [least + round(k * (e.maximum - least) / parts) for k in range(parts + 1)] if parts else [least]


def _steps(e: Experiment, executors: int) -> Iterator[_Step]:
    full = _saturated(e, executors)
    yield full
    calmest: float | None = None
    for share in SHARES:
        step = _offered(e, executors, share * full.point.rate)
        yield step
        latency = step.point.latency
        calmest = latency if calmest is None else calmest
        if latency > SEPARATION * calmest:
            return


def _saturated(e: Experiment, executors: int) -> _Step:
    """Measure the capacity with a full backlog; if batches are long, for as long as enough of them need."""
    plenty = 2 * e.max_batch_records / e.trigger if e.engine == "sim" else 2 * capacity(e, executors)
    length = SETTLE + MEASURE
    for _ in range(DOUBLED):
        trace, ticks = _run(e, executors, plenty, length)
        if len(trace.finished.times) >= BATCHES:
            return _Step(ProfilePoint(executors, _pace(trace.finished), _latency(ticks), saturated=True), length)
        length *= 2
    raise InvalidInput(f"profiling {e.job}: {executors} executors do not end {BATCHES} batches in {length / 2:g} s")


def _offered(e: Experiment, executors: int, rate: float) -> _Step:
    _, ticks = _run(e, executors, rate, SETTLE + MEASURE)
    return _Step(ProfilePoint(executors, rate, _latency(ticks)), SETTLE + MEASURE)


def _run(e: Experiment, executors: int, rate: float, length: float) -> tuple[RunTrace, list[Tick]]:
    ticks, recorder = KeptTicks(), TraceRecorder()
    # each number of executors is a deployment of its own, with its own seed
    settings: dict[str, Any] = {"initial": executors, "options": {"executors": executors}, "seed": executors}
    run = replace(e, duration=length, peak=rate, **settings)
    deployment = SimulatedDeployment(run)
    drive(deployment.engine, run.autoscaler(), deployment.clock, (recorder, ticks), period=e.period)
    return deployment.trace(recorder), ticks.ticks


def _pace(done: Finished) -> float:
    """Records per second, without the first quarter of the portions, in which buffers fill up."""
    begin = len(done.times) // 4
    return float((done.ends[-1] - done.ends[begin]) / (done.times[-1] - done.times[begin]))


def _latency(ticks: list[Tick]) -> float:
    """Mean observed latency over the measuring time, as policies see it; the whole run time if none was observed."""
    end = ticks[-1].observation.time
    observed = [tick.observation.latency for tick in ticks if tick.observation.time >= end - MEASURE]
    latencies = [latency for latency in observed if latency is not None]
    return sum(latencies) / len(latencies) if latencies else end
