"""Profiling runs in a simulator, for policies that need a profile of the job (`phoebe`, `twres`), and their cost.

As in Phoebe's profiling phase (ICWS'22): for up to eight numbers of executors, what they take in when everything waits
already, then constant rates that rise until the query is overloaded, each for 300 s to settle and 120 s to measure.
Micro-batches need no less: a record waits for its trigger and its batch in any case, some 20 s, and an overload must
last for minutes until its latency stands out from that. Rates rise in shares of what the number could take in, not in
steps of 20k/s: so small numbers get as many points as large ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tidegate.capacity.profile import SEPARATION
from tidegate.capacity.profiletext import text
from tidegate.core import InvalidInput, ProfilePoint, Tick
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import batch_model, capacity, simulate
from tidegate.presets import preset
from tidegate.presets.definition import PROFILE
from tidegate.score.trace import Finished, RunTrace
from tidegate.sim.papers import paper_query

#: numbers of executors that are profiled at most
NUMBERS = 8
SETTLE, MEASURE = 300.0, 120.0
#: rising rates, in shares of what is taken in when everything waits; the last is an overload
SHARES = (0.4, 0.7, 0.9, 1.2)
#: batches that must end for a rate to be known, and how often a run is made twice as long for that
BATCHES, DOUBLED = 5, 8


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile, and what it cost: one deployment after another, each with all its executors for all its time."""

    points: tuple[ProfilePoint, ...]
    seconds: float
    worker_seconds: float

    @property
    def text(self) -> str:
        """CSV, as the option `profile` takes it."""
        return text(self.points)


@dataclass(frozen=True, slots=True)
class _Step:
    """A profiling run: its point, and how long it took."""

    point: ProfilePoint
    seconds: float


def profile(e: Experiment) -> Profiled:
    """Of an experiment's job on its simulator; its policy, workload and seed do not matter, so that all runs of a job
    share one.
    """
    if e.engine == "spark":
        raise InvalidInput("profiling runs are simulated: need engine sim or operators, got spark")
    calm = replace(
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
    return _cached(_Ground(calm))


class _Ground:
    """An experiment, equal to another if their profiles are."""

    def __init__(self, e: Experiment) -> None:
        self.e = e
        job: Any = batch_model(e) if e.engine == "sim" else (e.model or e.job)
        self._key = (e.engine, job, e.minimum, e.maximum, e.trigger, e.limit, e.period)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ground) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=32)
def _cached(ground: _Ground) -> Profiled:
    steps = [step for executors in numbers(ground.e) for step in _steps(ground.e, executors)]
    return Profiled(
        tuple(step.point for step in steps),
        sum(step.seconds for step in steps),
        sum(step.seconds * step.point.executors for step in steps),
    )


def needs(e: Experiment) -> bool:
    """Whether its policy works from a profile, and has none."""
    return e.engine != "spark" and PROFILE in preset(e.policy).own and not e.options.get(PROFILE)


def with_profile(e: Experiment) -> Experiment:
    """The same, with a profile from profiling runs where it needs one."""
    return replace(e, options={**e.options, PROFILE: profile(e).text}) if needs(e) else e


def cost(e: Experiment) -> dict[str, Any]:
    """What a run's JSON says of profiling: nothing where there was none."""
    if not needs(e):
        return {}
    found = profile(e)
    told = {"seconds": found.seconds, "worker_seconds": found.worker_seconds, "points": len(found.points)}
    return {"profiling": told}


def numbers(e: Experiment) -> list[int]:
    """Of executors: all that the limits allow, or eight spread evenly. Operators need a worker each.

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
    """With everything waiting from the start; where batches are long, until enough of them have ended."""
    plenty = 2 * e.max_batch_records / e.trigger if e.engine == "sim" else 2 * capacity(e, executors)
    length = SETTLE + MEASURE
    for _ in range(DOUBLED):
        trial, ticks = _run(e, executors, plenty, length)
        if len(trial.finished.times) >= BATCHES:
            return _Step(ProfilePoint(executors, _pace(trial.finished), _latency(ticks), saturated=True), length)
        length *= 2
    raise InvalidInput(f"profiling {e.job}: {executors} executors do not end {BATCHES} batches in {length / 2:g} s")


def _offered(e: Experiment, executors: int, rate: float) -> _Step:
    _, ticks = _run(e, executors, rate, SETTLE + MEASURE)
    return _Step(ProfilePoint(executors, rate, _latency(ticks)), SETTLE + MEASURE)


def _run(e: Experiment, executors: int, rate: float, length: float) -> tuple[RunTrace, list[Tick]]:
    ticks: list[Tick] = []
    # each number is a deployment of its own, with luck of its own
    own: dict[str, Any] = {"initial": executors, "options": {"executors": executors}, "seed": executors}
    chosen = replace(e, duration=length, peak=rate, **own)
    return simulate(chosen, watch=ticks.append), ticks


def _pace(done: Finished) -> float:
    """Records per second, without the first quarter of the portions, in which buffers fill."""
    begin = len(done.times) // 4
    return float((done.ends[-1] - done.ends[begin]) / (done.times[-1] - done.times[begin]))


def _latency(ticks: list[Tick]) -> float:
    """The mean of what was seen in the time of measuring, as the policies see it."""
    end = ticks[-1].observation.time
    found = [tick.observation.latency for tick in ticks if tick.observation.time >= end - MEASURE]
    known = [latency for latency in found if latency is not None]
    return sum(known) / len(known) if known else end
