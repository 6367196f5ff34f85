"""A real run in a few kilobytes: its batches, its executors and its load, to fit models to and to check them with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from tidegate.core import InvalidInput, Observation, Tick
from tidegate.score.trace import Cumulative
from tidegate.workloads import from_spec

#: digits of times that are kept
MILLI = 3


@dataclass(frozen=True, slots=True)
class Life:
    """An executor: when it came and when it was gone (None: it stayed), in seconds of the run; it may be negative."""

    came: float
    went: float | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A batch: when it was planned, how long it took, its records `[begin, end)`, and all that had arrived by then."""

    planned: float
    took: float
    begin: float
    end: float
    arrived: float | None = None

    @property
    def records(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Layouts:
    """What was seen of the stages: tasks, how many stages, the first one's part of the work, what it passes on."""

    tasks: int = 1
    stages: int = 1
    first: float = 1.0
    passed: float = 1.0
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Recording:
    """Times are seconds since the workload's start."""

    name: str
    job: str
    trigger: float
    limit: float
    until: float
    layout: Layouts
    lives: tuple[Life, ...]
    batches: tuple[Done, ...]
    #: seconds from asking for executors until they were there, and from a batch's end until those that had to go were
    startups: tuple[float, ...] = ()
    leaves: tuple[float, ...] = ()
    #: (busy, CPU) of executors over a while
    loads: tuple[tuple[float, float], ...] = ()
    #: the workload's spec; None where it is not known
    workload: Mapping[str, Any] | None = None
    #: conditions: quota, workload's name, policy
    about: Mapping[str, Any] | None = None

    def arrivals(self) -> Cumulative:
        """From the workload where it is known, else by straight lines between the batches' plannings."""
        if self.workload is not None:
            return Cumulative.of(from_spec(self.workload))
        points = [(0.0, 0.0), *((b.planned, b.arrived) for b in self.batches if b.arrived is not None)]
        times, totals = zip(*points, strict=True)
        return Cumulative(np.array(times), np.maximum.accumulate(np.array(totals)))

    def executors(self, time: float) -> int:
        return sum(life.came <= time and (life.went is None or time < life.went) for life in self.lives)

    def changes(self) -> list[tuple[float, int]]:
        """When the number of executors changed, and to what."""
        times = sorted({t for life in self.lives for t in (life.came, life.went) if t is not None and t > 0})
        return [(time, self.executors(time)) for time in times if time <= self.until]


def record(name: str, spec: Mapping[str, Any], ticks: Sequence[Tick]) -> Recording:
    """Of a stored run, from its settings and its ticks."""
    if not ticks:
        raise InvalidInput(f"run {name}: it has no observations")
    start = float(spec.get("start", ticks[0].observation.time))
    seen = [tick.observation for tick in ticks]
    return Recording(
        name=name,
        job=str(spec.get("job", name)),
        trigger=float(spec.get("trigger", 0.0)),
        limit=float(spec.get("limit") or 4 * float(spec.get("trigger", 0.0)) * float(spec.get("peak", 0.0))) or 1e18,
        until=round(seen[-1].time - start, MILLI),
        layout=_layout(seen),
        lives=_lives(seen, start),
        batches=tuple(_batches(seen, start)),
        startups=_startups(ticks),
        leaves=_leaves(ticks),
        loads=_loads(seen),
        workload=json.loads(json.dumps(spec.get("workload_spec"))),  # as text would have it
        about={key: spec.get(key) for key in ("workload", "peak", "policy", "quota", "grace", "seed", "duration")},
    )


def _batches(seen: Iterable[Observation], start: float) -> Iterable[Done]:
    for obs in seen:
        for b in obs.batches:
            if b.end > b.begin:
                arrived = None if b.arrived is None else round(b.arrived)
                took = round(b.finished - b.planned, MILLI)
                yield Done(round(b.planned - start, MILLI), took, round(b.begin), round(b.end), arrived)


def _lives(seen: Sequence[Observation], start: float) -> tuple[Life, ...]:
    """By their ids. One that was told to go gets no more tasks: it went when fewer were asked for."""
    came: dict[str, float] = {}
    last: dict[str, float] = {}
    told: dict[int, float] = {}  # when so many were last asked for
    went: dict[str, float] = {}
    for obs in seen:
        time = obs.time - start
        if not told or obs.requested != next(reversed(told)):
            told.pop(obs.requested, None)
            told[obs.requested] = time
        for one in obs.per_executor:
            came.setdefault(one.id, time - (one.uptime or 0.0))
            last[one.id] = time
        gone = [id for id in came if id not in went and last[id] < time]
        asked = told[obs.requested] if len(obs.per_executor) <= obs.requested else time
        went |= {
            id: min(max(asked, came[id]), last[id] + 0.5) if _ordered(obs, last[id], asked) else time for id in gone
        }
    order = sorted(came, key=lambda one: (came[one], one))
    return tuple(Life(round(came[id], MILLI), round(went[id], MILLI) if id in went else None) for id in order)


def _ordered(obs: Observation, last: float, asked: float) -> bool:
    """Whether one that was seen last then had been told to go: else it died."""
    return last >= asked and len(obs.per_executor) == obs.requested


def _startups(ticks: Sequence[Tick]) -> tuple[float, ...]:
    found: list[float] = []
    asked: tuple[float, int] | None = None
    for tick in ticks:
        obs = tick.observation
        if asked is not None and obs.executors >= asked[1]:
            found.append(round(obs.time - asked[0], 1))
            asked = None
        if tick.acted and tick.decision:
            up = tick.decision.executors > obs.executors
            asked = (obs.time, tick.decision.executors) if up else None
    return tuple(found)


def _leaves(ticks: Sequence[Tick]) -> tuple[float, ...]:
    """From the end of the batch in which they were told to go."""
    found: list[float] = []
    wanted: int | None = None
    ended: float | None = None
    for tick in ticks:
        obs = tick.observation
        if wanted is not None:
            ended = obs.batches[0].finished if ended is None and obs.batches else ended
            if obs.executors <= wanted:
                found.append(round(max(0.0, obs.time - (ended or obs.time)), 1))
                wanted = ended = None
        if tick.acted and tick.decision:
            wanted = tick.decision.executors if tick.decision.executors < obs.executors else None
            ended = None
    return tuple(found)


def _loads(seen: Sequence[Observation], span: float = 30.0) -> tuple[tuple[float, float], ...]:
    """Means of busy and CPU over all executors, for each `span` seconds."""
    kept: dict[int, list[tuple[float, float]]] = {}
    for obs in seen:
        pairs = [(one.busy, one.cpu) for one in obs.per_executor if one.busy is not None and one.cpu is not None]
        kept.setdefault(int((obs.time - seen[0].time) / span), []).extend(pairs)
    return tuple(
        (round(sum(b for b, _ in pairs) / len(pairs), 4), round(sum(c for _, c in pairs) / len(pairs), 4))
        for pairs in kept.values()
        if pairs
    )


def _layout(seen: Sequence[Observation]) -> Layouts:
    staged = [obs.operators for obs in seen if obs.operators]
    if not staged:
        return Layouts()
    count = round(median(len(stages) for stages in staged))
    usual = [stages for stages in staged if len(stages) == count]
    work = [(stages[0].busy or 0.0, sum(one.busy or 0.0 for one in stages)) for stages in usual]
    passed = [
        stages[1].rate_in / stages[0].rate_in
        for stages in usual
        if len(stages) > 1 and stages[0].rate_in and stages[1].rate_in
    ]
    return Layouts(
        tasks=max(one.parallelism for stages in usual for one in stages),
        stages=count,
        first=round(sum(f for f, _ in work) / (sum(a for _, a in work) or 1.0), 4) if count > 1 else 1.0,
        passed=round(median(passed), 6) if passed else 1.0,
        cores=max((one.cores for obs in seen for one in obs.per_executor), default=1),
    )


def text(recording: Recording) -> str:
    """JSON, a batch in a line."""
    values = asdict(recording)
    batches, lives = values.pop("batches"), values.pop("lives")
    rows = ",\n  ".join(json.dumps(list(b.values())) for b in batches)
    lead = json.dumps(values, indent=1)
    alive = json.dumps([[life["came"], life["went"]] for life in lives])
    return f'{lead[:-2]},\n "lives": {alive},\n "batches": [\n  {rows}\n ]\n}}\n'


def parse(found: str, place: str) -> Recording:
    """What `text` wrote."""
    try:
        values = json.loads(found)
        return Recording(
            **{
                **values,
                "layout": Layouts(**values["layout"]),
                "lives": tuple(Life(*life) for life in values["lives"]),
                "batches": tuple(Done(*batch) for batch in values["batches"]),
                "loads": tuple((busy, cpu) for busy, cpu in values["loads"]),
                "startups": tuple(values["startups"]),
                "leaves": tuple(values["leaves"]),
            }
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{place}: this is no recording that Tidegate wrote: {error}") from None
