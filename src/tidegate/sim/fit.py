"""A job's `BatchModel` from recordings of real runs.

Each batch is predicted by itself from what was there when it ran: its records, and the executors with their ages, those
that came in its middle too. The sum of soft squares of ln(predicted / measured) is made small: relative errors count,
so that short batches are worth as much as long ones, and a pause of a JVM little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from tidegate.core import InvalidInput
from tidegate.sim.batch_model import BatchModel
from tidegate.sim.recording import Done, Life, Recording

Array = npt.NDArray[np.float64]

#: batches below which nothing is fitted, and by what factor their sizes must differ
ENOUGH, APART = 20, 2.0
#: what is fitted, with its start, bounds and scale
FITTED = ("fixed", "overhead", "cost", "young", "fade")
#: how finely the time that a change of executors adds is searched, and how far
SECOND, LONGEST = 0.25, 60.0
#: a deviation of ln(predicted / measured) from which on errors count linearly
SOFT = 0.2


@dataclass(frozen=True, slots=True)
class Fit:
    """A model, and how well it tells the batches that it was fitted to: median and 90 % of the relative errors."""

    model: BatchModel
    batches: int
    error: float
    worst: float


def fit(recordings: Sequence[Recording]) -> Fit:
    """One model for recordings of one job under the same conditions."""
    _check(recordings)
    rows = [row for recording in recordings for row in rows_of(recording)]
    steady = [row for row in rows if row.steady]
    if len(steady) < ENOUGH:
        job, changes = recordings[0].job, len(rows) - len(steady)
        raise InvalidInput(
            f"calibrate {job}: need at least {ENOUGH} batches between changes of executors, got {len(steady)}, and "
            f"{changes} at changes: add a run with fewer of them"
        )
    made = _with_changes(_with_costs(_seen(recordings), steady), rows)
    errors = np.array([_error(made, row) for row in rows])
    off = np.abs(np.expm1(errors))
    names = ", ".join(recording.name for recording in recordings)
    noise = round(min(0.2, float(np.std(np.clip(errors, -0.5, 0.5)))), 4)
    made = replace(made, noise=noise, origin=f"fitted to {len(rows)} batches of {names}")
    return Fit(made, len(rows), float(np.median(off)), float(np.quantile(off, 0.9)))


def _error(model: BatchModel, row: Row) -> float:
    return math.log(predicted(model, row) / row.batch.took)


def _with_costs(base: BatchModel, rows: Sequence[Row]) -> BatchModel:
    """What batches between changes of executors cost."""

    def errors(point: Array) -> Array:
        made = _model(base, point)
        return np.array([_error(made, row) for row in rows])

    start, low, high = _bounds(rows)
    found = least_squares(
        errors, start, bounds=(low, high), loss="soft_l1", f_scale=SOFT, x_scale=np.maximum(start, 1e-9)
    )
    return _rounded(_model(base, found.x))


def _with_changes(base: BatchModel, rows: Sequence[Row]) -> BatchModel:
    """What changes of executors add: there are few of them, so they are not left to a fit that would take them for
    outliers. Each is the number with the smallest median error.
    """
    cold = _best(base, "cold", [row for row in rows if row.fresh or row.coming])
    return _best(cold, "reload", [row for row in rows if row.lost and not (row.fresh or row.coming)])


def _best(base: BatchModel, name: str, rows: Sequence[Row]) -> BatchModel:
    if not rows:
        return replace(base, **{name: 0.0})  # type: ignore[arg-type]
    made = [replace(base, **{name: SECOND * k}) for k in range(round(LONGEST / SECOND))]  # type: ignore[arg-type]
    return min(made, key=lambda one: (round(median(abs(_error(one, row)) for row in rows), 6), getattr(one, name)))


def _check(recordings: Sequence[Recording]) -> None:
    jobs = sorted({recording.job for recording in recordings})
    if len(jobs) != 1:
        raise InvalidInput(f"calibrate: need runs of one job, got {', '.join(jobs) or 'none'}")
    batches = [batch for recording in recordings for batch in recording.batches]
    if len(batches) < ENOUGH:
        raise InvalidInput(f"calibrate {jobs[0]}: need at least {ENOUGH} batches, the runs have {len(batches)}")
    sizes = [batch.records for batch in batches]
    counts = {recording.executors(batch.planned) for recording in recordings for batch in recording.batches}
    low, high = np.quantile(sizes, 0.05), np.quantile(sizes, 0.95)
    if high < APART * low:
        told = f"from {low:,.0f} to {high:,.0f} records"
        raise InvalidInput(
            f"calibrate {jobs[0]}: need batches whose sizes differ by a factor of {APART:g} to tell what is fixed from "
            f"what each record costs, these are {told}: add a run under another load"
        )
    if len(counts) < 2:
        raise InvalidInput(
            f"calibrate {jobs[0]}: need runs with two different numbers of executors, all had {min(counts)}: add one"
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A batch and what was there: each executor's seconds of work until then, those that came in its middle, and
    whether some had gone since the batch before.
    """

    batch: Done
    here: tuple[float, ...]
    coming: tuple[float, ...]
    lost: bool

    @property
    def fresh(self) -> bool:
        """Whether one of them has its first tasks."""
        return min(self.here) == 0

    @property
    def steady(self) -> bool:
        return not (self.fresh or self.coming or self.lost)


def rows_of(recording: Recording) -> list[Row]:
    """The batches but the first, in which the query comes up."""
    found = []
    # those of the start have warmed up until then
    worked = [max(0.0, -life.came) for life in recording.lives]
    before: Done | None = None
    for batch in recording.batches:
        there = [k for k, life in enumerate(recording.lives) if _present(life, batch.planned)]
        joined = [k for k, life in enumerate(recording.lives) if _joins(recording, batch, life, len(there))]
        if before is not None and there:
            lost = any(_present(life, before.planned) and not _present(life, batch.planned) for life in recording.lives)
            coming = tuple(sorted(recording.lives[k].came for k in joined))
            found.append(Row(batch, tuple(worked[k] for k in there), coming, lost))
        for k in [*there, *joined]:
            worked[k] += min(batch.took, batch.planned + batch.took - recording.lives[k].came)
        before = batch
    return found


def _joins(recording: Recording, batch: Done, life: Life, count: int) -> bool:
    """Whether an executor that comes in the middle of a batch gets tasks of it.

    Those of the first stage that nobody has begun; the later ones of a query with state stay where the state is.
    """
    layout = recording.layout
    if layout.stages > 1:
        return batch.planned < life.came < batch.planned + layout.first * batch.took
    task = batch.took / math.ceil(layout.tasks / max(1, count * layout.cores))
    return batch.planned < life.came < batch.planned + batch.took - task


def _present(life: Life, time: float) -> bool:
    return life.came <= time and (life.went is None or time < life.went)


def _seen(recordings: Sequence[Recording]) -> BatchModel:
    """What needs no fit: it was seen."""
    layout = recordings[0].layout
    startups = [one for recording in recordings for one in recording.startups]
    leaves = [one for recording in recordings for one in recording.leaves]
    cpu, idle = _load([load for recording in recordings for load in recording.loads])
    return BatchModel(
        recordings[0].job,
        tasks=layout.tasks,
        stages=min(2, layout.stages),
        first=layout.first,
        passed=layout.passed,
        cores=layout.cores,
        startup=median(startups) if startups else 4.0,
        leave=median(leaves) if leaves else 2.0,
        cpu=cpu,
        idle=idle,
    )


def _load(loads: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """CPU = idle + cpu * busy, by least squares; of a bounded slope."""
    if len(loads) < 3:
        return 0.95, 0.02
    busy, cpu = np.array(loads).T
    slope, base = np.polyfit(busy, cpu, 1)
    idle = min(0.2, max(0.0, float(base)))
    return round(min(1.0 - idle, max(0.3, float(slope))), 4), round(idle, 4)


def _bounds(rows: Sequence[Row]) -> tuple[Array, Array, Array]:
    """A start at which records make most of the time, and bounds."""
    each = median(row.batch.took * len(row.here) / row.batch.records for row in rows)
    shortest = min(row.batch.took for row in rows)
    start = np.array([shortest / 2, 0.01, each / 2, 0.2, 40.0])
    low = np.array([0.0, 0.0, each / 50, -0.8, 5.0])
    high = np.array([max(5.0, 2 * shortest), 1.0, each * 5, 5.0, 200.0])
    return np.clip(start, low + 1e-9, high - 1e-9), low, high


def _model(base: BatchModel, point: Array) -> BatchModel:
    values: dict[str, Any] = {name: float(value) for name, value in zip(FITTED, point, strict=True)}
    return replace(base, **values)


def _rounded(model: BatchModel) -> BatchModel:
    """More digits than the data have would only differ between machines."""
    values: dict[str, Any] = {name: float(f"{getattr(model, name):.4g}") for name in FITTED}
    return replace(model, **values)


def predicted(model: BatchModel, row: Row) -> float:
    """Seconds of a batch: its work is done at the speed of those that are there, more of them as they come."""
    count = len(row.here)
    empty, each = model.parts(count)
    left = (empty - model.fixed + each * row.batch.records) * count  # in seconds of a grown executor
    cold = model.cold if row.fresh else 0.0
    speed = math.fsum(model.speed(worked) for worked in row.here)
    ends = row.batch.planned + left / speed
    for came in row.coming:
        task = (ends - row.batch.planned) / -(-model.tasks // (count * model.cores))
        useful, more = came + model.cold, speed + model.speed(0.0)
        shared = min(useful, ends) + max(0.0, ends - useful) * speed / more
        ends, speed = max(shared, useful + task), more
    return model.fixed + cold + model.reload * row.lost + ends - row.batch.planned
