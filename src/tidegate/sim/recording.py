"""A real run in a few kilobytes: its batches, executors and load, for fitting and validating models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np

from tidegate.core import InvalidInput, Observation, OperatorSample, Tick
from tidegate.core.checked_fields import CheckedFields, number
from tidegate.core.reading import parse_json, read_text, shown
from tidegate.runs import RunSpec
from tidegate.score.trace import Cumulative
from tidegate.sim.batch_model import UNLIMITED
from tidegate.workloads import from_spec
from tidegate.workloads.shape import LONGEST

#: decimal digits of recorded times
MILLI = 3
#: conditions of a run that are stored with the recording
ABOUT = ("workload", "peak", "policy", "quota", "grace", "seed", "duration", "spread")

#: most bytes, batches and executors of a recording, tasks of a stage, and records that a float counts exactly
MOST_BYTES, MOST_BATCHES, MOST_EXECUTORS, MOST_TASKS, MOST_RECORDS = 64 << 20, 1_000_000, 100_000, 1_000_000, 2.0**53


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When an executor registered and when it left (None: never), in seconds of the run. Negative before the start."""

    came: float
    went: float | None = None

    def covers(self, time: float) -> bool:
        return self.came <= time and (self.went is None or time < self.went)


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """A batch: when it was planned, how long it took, its records `[begin, end)`, and all arrivals by the planning."""

    planned: float
    took: float
    begin: float
    end: float
    arrived: float | None = None

    @property
    def records(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class StageLayout:
    """Tasks per stage, number of stages, the share of work in the first stage, the records it passes on per record it
    reads, and the cores of an executor. `shares` is what each state partition gets of the records in a usual batch, in
    an order drawn once; empty if unknown.
    """

    tasks: int = 1
    stages: int = 1
    first: float = 1.0
    passed: float = 1.0
    cores: int = 1
    shares: tuple[float, ...] = ()
    #: state rows for each record a second, and the bytes of a row
    state: float = 0.0
    row_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Recording:
    """Times are seconds since the workload's start."""

    name: str
    job: str
    trigger: float
    limit: float
    until: float
    layout: StageLayout
    lives: tuple[Lifetime, ...]
    batches: tuple[RecordedBatch, ...]
    #: seconds from the request for executors until they registered, and from the end of the running batch until
    #: removed executors were gone
    startups: tuple[float, ...] = ()
    leaves: tuple[float, ...] = ()
    #: mean (busy, CPU) over all executors, per 30 s
    loads: tuple[tuple[float, float], ...] = ()
    #: the spec of the workload; None if unknown
    workload: Mapping[str, Any] | None = None
    #: conditions of the run: quota, name of the workload, policy
    about: Mapping[str, Any] | None = None

    def arrivals(self) -> Cumulative:
        """From the workload if it is known, else interpolated between the times at which batches were planned."""
        if self.workload is not None:
            return Cumulative.of(from_spec(self.workload))
        planned = [(batch.planned, batch.arrived) for batch in self.batches if batch.arrived is not None]
        points = [(0.0, 0.0), *planned]
        times, totals = zip(*points, strict=True)
        return Cumulative(np.array(times), np.maximum.accumulate(np.array(totals)))

    @property
    def spread(self) -> bool:
        """Whether state was spread over the executors. It was not in recordings that do not say so."""
        return bool(self.about and self.about.get("spread"))

    def executors(self, time: float) -> int:
        return sum(life.covers(time) for life in self.lives)

    def changes(self) -> list[tuple[float, int]]:
        """The times at which the number of executors changed, and the new numbers."""
        times = sorted({t for life in self.lives for t in (life.came, life.went) if t is not None and t > 0})
        return [(time, self.executors(time)) for time in times if time <= self.until]


def record(name: str, spec: RunSpec, ticks: Sequence[Tick]) -> Recording:
    """The recording of a stored run, from its settings and its ticks."""
    if not ticks:
        raise InvalidInput(f"run {name}: it has no observations")
    start = ticks[0].observation.time if spec.start is None else spec.start
    observations = [tick.observation for tick in ticks]
    return Recording(
        name=name,
        job=spec.job or name,
        trigger=spec.trigger or 0.0,
        limit=float(spec.max_batch_records) or UNLIMITED,
        until=round(observations[-1].time - start, MILLI),
        layout=_layout(observations),
        lives=_lives(observations, start),
        batches=tuple(_batches(observations, start)),
        startups=_startups(ticks),
        leaves=_leaves(ticks),
        loads=_loads(observations),
        workload=json.loads(json.dumps(spec.workload_spec)),  # the same values as after a round trip through text
        about={key: getattr(spec, key) for key in ABOUT},
    )


def _batches(observations: Iterable[Observation], start: float) -> Iterable[RecordedBatch]:
    for obs in observations:
        for batch in obs.batches:
            if batch.end > batch.begin:
                planned, took = round(batch.planned - start, MILLI), round(batch.finished - batch.planned, MILLI)
                arrived = None if batch.arrived is None else round(batch.arrived)
                yield RecordedBatch(planned, took, round(batch.begin), round(batch.end), arrived)


def _lives(observations: Sequence[Observation], start: float) -> tuple[Lifetime, ...]:
    """Lifetimes by executor id. An executor that is removed gets no more tasks, so its life ends with the request for
    fewer executors.
    """
    came: dict[str, float] = {}
    last: dict[str, float] = {}
    requests: dict[int, float] = {}  # by number of executors, the time of the last request for it
    went: dict[str, float] = {}
    for obs in observations:
        time = obs.time - start
        if not requests or obs.requested != next(reversed(requests)):
            requests.pop(obs.requested, None)
            requests[obs.requested] = time
        for executor in obs.per_executor:
            came.setdefault(executor.id, time - (executor.uptime or 0.0))
            last[executor.id] = time
        gone = [id for id in came if id not in went and last[id] < time]
        request = requests[obs.requested] if len(obs.per_executor) <= obs.requested else time
        went |= {
            id: min(max(request, came[id]), last[id] + 0.5) if _removed(obs, last[id], request) else time for id in gone
        }
    order = sorted(came, key=lambda id: (came[id], id))
    return tuple(Lifetime(round(came[id], MILLI), round(went[id], MILLI) if id in went else None) for id in order)


def _removed(obs: Observation, last: float, request: float) -> bool:
    """Whether an executor that was last seen then was removed by a request. Otherwise it died."""
    return last >= request and len(obs.per_executor) == obs.requested


def _startups(ticks: Sequence[Tick]) -> tuple[float, ...]:
    startups: list[float] = []
    request: tuple[float, int] | None = None
    for tick in ticks:
        obs = tick.observation
        if request is not None and obs.executors >= request[1]:
            startups.append(round(obs.time - request[0], 1))
            request = None
        if tick.acted and tick.decision:
            up = tick.decision.executors > obs.executors
            request = (obs.time, tick.decision.executors) if up else None
    return tuple(startups)


def _leaves(ticks: Sequence[Tick]) -> tuple[float, ...]:
    """Seconds until removed executors were gone, from the end of the batch during which they were removed."""
    leaves: list[float] = []
    target: int | None = None
    ended: float | None = None
    for tick in ticks:
        obs = tick.observation
        if target is not None:
            ended = obs.batches[0].finished if ended is None and obs.batches else ended
            if obs.executors <= target:
                leaves.append(round(max(0.0, obs.time - (ended or obs.time)), 1))
                target = ended = None
        if tick.acted and tick.decision:
            target = tick.decision.executors if tick.decision.executors < obs.executors else None
            ended = None
    return tuple(leaves)


def _loads(observations: Sequence[Observation], span: float = 30.0) -> tuple[tuple[float, float], ...]:
    """Mean busy share and CPU over all executors, for each `span` seconds."""
    spans: dict[int, list[tuple[float, float]]] = {}
    for obs in observations:
        pairs = [
            (executor.busy, executor.cpu)
            for executor in obs.per_executor
            if executor.busy is not None and executor.cpu is not None
        ]
        spans.setdefault(int((obs.time - observations[0].time) / span), []).extend(pairs)
    return tuple(
        (round(sum(busy for busy, _ in pairs) / len(pairs), 4), round(sum(cpu for _, cpu in pairs) / len(pairs), 4))
        for pairs in spans.values()
        if pairs
    )


def _layout(observations: Sequence[Observation]) -> StageLayout:
    staged = [obs.operators for obs in observations if obs.operators]
    if not staged:
        return StageLayout()
    count = round(median(len(stages) for stages in staged))
    usual = [stages for stages in staged if len(stages) == count]
    # a join reads its streams in stages of their own; only those from its shuffle on run where the state is
    keyed = max((k for stages in usual for k, stage in enumerate(stages) if stage.shares), default=1)
    work = [(_busy(stages[:keyed]), _busy(stages)) for stages in usual]
    passed = [
        (stages[keyed].rate_in or 0.0) / stages[0].rate_in
        for stages in usual
        if len(stages) > keyed and stages[0].rate_in and stages[keyed].rate_in
    ]
    return StageLayout(
        tasks=max(stage.parallelism for stages in usual for stage in stages),
        stages=count,
        first=round(sum(first for first, _ in work) / (sum(all_ for _, all_ in work) or 1.0), 4) if count > 1 else 1.0,
        passed=round(median(passed), 6) if passed else 1.0,
        cores=max((executor.cores for obs in observations for executor in obs.per_executor), default=1),
        shares=_shares(stage.shares for stages in staged for stage in stages if stage.shares),
        **_state(observations),
    )


def _busy(stages: Sequence[OperatorSample]) -> float:
    return sum(stage.busy or 0.0 for stage in stages)


def _shares(looks: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """The mean of the largest share, of the second, and so on. Which partition is the largest varies with the keys."""
    ranked = [sorted(look, reverse=True) for look in looks]
    if not ranked:
        return ()
    count = len(ranked[-1])
    means = np.mean([look for look in ranked if len(look) == count], axis=0)
    order = Random(0).sample(range(count), count)
    return tuple(round(float(means[place]), 5) for place in order)


def _state(observations: Sequence[Observation]) -> dict[str, float]:
    known = [obs for obs in observations if obs.state_rows and obs.arrival_rate]
    if not known:
        return {}
    rows = median(obs.state_rows / obs.arrival_rate for obs in known if obs.state_rows and obs.arrival_rate)
    size = median((obs.state_bytes or 0) / obs.state_rows for obs in known if obs.state_rows)
    return {"state": float(f"{rows:.4g}"), "row_bytes": float(f"{size:.4g}")}


def text(recording: Recording) -> str:
    """The recording as JSON, with one line per batch."""
    values = asdict(recording)
    batches, lives = values.pop("batches"), values.pop("lives")
    rows = ",\n  ".join(json.dumps(list(batch.values())) for batch in batches)
    lead = json.dumps(values, indent=1)
    lifetimes = json.dumps([[life["came"], life["went"]] for life in lives])
    return f'{lead[:-2]},\n "lives": {lifetimes},\n "batches": [\n  {rows}\n ]\n}}\n'


def read(path: Path) -> Recording:
    """A recording from a file of `tidegate record`."""
    return parse(read_text(path, f"{path}: cannot be read", MOST_BYTES), str(path))


def parse(text: str, place: str) -> Recording:
    """Reads a recording that `text` wrote. What no run can have is refused, so that whoever uses it need not ask."""
    what = f"{place}: this is no recording that Tidegate wrote"
    values = CheckedFields.of(what, parse_json(text, what), [field.name for field in fields(Recording)])
    until = values.number("until", 0.001, LONGEST)
    trigger = values.number("trigger", 0.0, LONGEST)
    if 0 < trigger < until / MOST_BATCHES:
        raise InvalidInput(f"{what}: need at most {MOST_BATCHES:,} triggers, {until:g} s have more of {trigger:g} s")
    workload = values.table("workload")
    if workload is not None:
        _check_workload(what, workload)
    return Recording(
        name=values.text("name"),
        job=values.text("job"),
        trigger=trigger,
        limit=values.number("limit", 1.0, UNLIMITED),
        until=until,
        layout=_parse_layout(what, values.table("layout")),
        lives=tuple(_lifetime(what, life) for life in values.items("lives", MOST_EXECUTORS)),
        batches=_in_order(what, tuple(_batch(what, batch) for batch in values.items("batches", MOST_BATCHES))),
        startups=_seconds(what, values, "startups"),
        leaves=_seconds(what, values, "leaves"),
        loads=tuple(_pair(what, pair) for pair in values.items("loads", MOST_BATCHES)),
        workload=workload,
        about=values.table("about"),
    )


def _check_workload(place: str, spec: Mapping[str, Any]) -> None:
    try:
        from_spec(spec)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _parse_layout(place: str, values: Mapping[str, Any] | None) -> StageLayout:
    # recordings made before these were recorded do not have them
    later = {"shares": [], "state": 0.0, "row_bytes": 0.0}
    values = values if values is None else {**later, **values}
    layout = CheckedFields.of(f"{place}: layout", values, [field.name for field in fields(StageLayout)])
    return StageLayout(
        tasks=layout.whole("tasks", 1, MOST_TASKS),
        stages=layout.whole("stages", 1, MOST_TASKS),
        first=layout.number("first", 0.0, 1.0),
        passed=layout.number("passed", 0.0, MOST_RECORDS),
        cores=layout.whole("cores", 1, MOST_TASKS),
        shares=tuple(number(place, "share", share, (0.0, 1.0)) for share in layout.items("shares", MOST_TASKS)),
        state=layout.number("state", 0.0, MOST_RECORDS),
        row_bytes=layout.number("row_bytes", 0.0, MOST_RECORDS),
    )


def _lifetime(place: str, values: Any) -> Lifetime:
    came, went = _row(f"{place}: lives", values, 2)
    life = Lifetime(
        number(place, "came", came, (-LONGEST, LONGEST)),
        None if went is None else number(place, "went", went, (-LONGEST, LONGEST)),
    )
    if life.went is not None and life.went < life.came:
        raise InvalidInput(f"{place}: need executors that went after they came, got {life.came:g}, {life.went:g}")
    return life


def _batch(place: str, values: Any) -> RecordedBatch:
    planned, took, begin, end, arrived = _row(f"{place}: batches", values, 5)
    batch = RecordedBatch(
        number(place, "planned", planned, (-LONGEST, LONGEST)),
        number(place, "took", took, (0.001, LONGEST)),
        number(place, "begin", begin, (0, MOST_RECORDS)),
        number(place, "end", end, (0, MOST_RECORDS)),
        None if arrived is None else number(place, "arrived", arrived, (0, MOST_RECORDS)),
    )
    if batch.records < 1:
        raise InvalidInput(f"{place}: need batches with records, got one from {batch.begin:g} to {batch.end:g}")
    return batch


def _in_order(place: str, batches: tuple[RecordedBatch, ...]) -> tuple[RecordedBatch, ...]:
    for earlier, later in pairwise(batches):
        if later.planned < earlier.planned or later.begin < earlier.begin:
            raise InvalidInput(
                f"{place}: need batches in order, the one planned at {later.planned:g} s with records from "
                f"{later.begin:g} comes after the one at {earlier.planned:g} s with records from {earlier.begin:g}"
            )
    return batches


def _seconds(place: str, values: CheckedFields, name: str) -> tuple[float, ...]:
    return tuple(number(place, name, value, (0.0, LONGEST)) for value in values.items(name, MOST_BATCHES))


def _pair(place: str, values: Any) -> tuple[float, float]:
    busy, cpu = _row(f"{place}: loads", values, 2)
    return number(place, "busy", busy, (0.0, 1000.0)), number(place, "cpu", cpu, (0.0, 1000.0))


def _row(place: str, values: Any, count: int) -> Sequence[Any]:
    if not isinstance(values, list) or len(values) != count:
        raise InvalidInput(f"{place}: need rows of {count} values, got {shown(values)}")
    return values
