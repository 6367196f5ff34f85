"""Fits the `BatchModel` of a job to recordings of real runs.

The duration of each batch is predicted from its records and from the executors that ran it, with their ages, including
those that joined in the middle. The fit minimises a soft sum of squares of ln(predicted / measured). Errors are
relative, so short batches weigh as much as long ones, and outliers such as JVM pauses weigh little.
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
from tidegate.sim.recording import Lifetime, RecordedBatch, Recording

Array = npt.NDArray[np.float64]

#: minimum number of batches for a fit, and the factor by which their sizes must differ
ENOUGH, APART = 20, 2.0
#: the parameters of the model that are fitted together
FITTED = ("fixed", "overhead", "cost", "young", "fade")
#: step and range, in seconds, of the search for the time that a change of executors adds
SECOND, LONGEST = 0.25, 60.0
#: deviation of ln(predicted / measured) from which errors count linearly
SOFT = 0.2


@dataclass(frozen=True, slots=True)
class Fit:
    """A model, and how well it predicts the batches it was fitted to: median and 90 % quantile of relative errors."""

    model: BatchModel
    batches: int
    error: float
    worst: float


def fit(recordings: Sequence[Recording]) -> Fit:
    """Fits a single model to recordings of one job under the same conditions."""
    _check(recordings)
    rows = [row for recording in recordings for row in rows_of(recording)]
    steady = [row for row in rows if row.steady]
    if len(steady) < ENOUGH:
        job, changes = recordings[0].job, len(rows) - len(steady)
        raise InvalidInput(
            f"calibrate {job}: need at least {ENOUGH} batches between changes of executors, got {len(steady)}, and "
            f"{changes} at changes: add a run with fewer of them"
        )
    model = _with_changes(_with_costs(_measured(recordings), steady), rows)
    errors = np.array([_error(model, row) for row in rows])
    relative = np.abs(np.expm1(errors))
    names = ", ".join(recording.name for recording in recordings)
    noise = round(min(0.2, float(np.std(np.clip(errors, -0.5, 0.5)))), 4)
    model = replace(model, noise=noise, origin=f"fitted to {len(rows)} batches of {names}")
    return Fit(model, len(rows), float(np.median(relative)), float(np.quantile(relative, 0.9)))


def _error(model: BatchModel, row: Row) -> float:
    return math.log(predicted(model, row) / row.batch.took)


def _with_costs(base: BatchModel, rows: Sequence[Row]) -> BatchModel:
    """Fits the costs of batches during which the executors did not change."""

    def errors(point: Array) -> Array:
        candidate = _model(base, point)
        return np.array([_error(candidate, row) for row in rows])

    start, low, high = _bounds(rows)
    solution = least_squares(
        errors, start, bounds=(low, high), loss="soft_l1", f_scale=SOFT, x_scale=np.maximum(start, 1e-9)
    )
    return _rounded(_model(base, solution.x))


def _with_changes(base: BatchModel, rows: Sequence[Row]) -> BatchModel:
    """Estimates the time that changes of executors add. There are few of them, and a robust fit would treat them as
    outliers, so each is chosen separately as the value with the smallest median error.
    """
    cold = _best(base, "cold", [row for row in rows if row.fresh or row.coming])
    return _best(cold, "reload", [row for row in rows if row.lost and not (row.fresh or row.coming)])


def _best(base: BatchModel, name: str, rows: Sequence[Row]) -> BatchModel:
    if not rows:
        return replace(base, **{name: 0.0})  # type: ignore[arg-type]
    candidates = [replace(base, **{name: SECOND * k}) for k in range(round(LONGEST / SECOND))]  # type: ignore[arg-type]

    def rank(candidate: BatchModel) -> tuple[float, float]:
        return round(median(abs(_error(candidate, row)) for row in rows), 6), getattr(candidate, name)

    return min(candidates, key=rank)


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
        span = f"from {low:,.0f} to {high:,.0f} records"
        raise InvalidInput(
            f"calibrate {jobs[0]}: need batches whose sizes differ by a factor of {APART:g} to tell what is fixed from "
            f"what each record costs, these are {span}: add a run under another load"
        )
    if len(counts) < 2:
        raise InvalidInput(
            f"calibrate {jobs[0]}: need runs with two different numbers of executors, all had {min(counts)}: add one"
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A batch and its executors. `here` has the seconds of work that each executor had done by then, `coming` the times
    at which others joined while the batch was running, and `lost` tells whether some left after the previous batch.
    """

    batch: RecordedBatch
    here: tuple[float, ...]
    coming: tuple[float, ...]
    lost: bool

    @property
    def fresh(self) -> bool:
        """Whether one of the executors runs its first tasks."""
        return min(self.here) == 0

    @property
    def steady(self) -> bool:
        return not (self.fresh or self.coming or self.lost)


def rows_of(recording: Recording) -> list[Row]:
    """All batches but the first, during which the query starts up."""
    rows = []
    # initial executors have been warming up until the start
    worked = [max(0.0, -life.came) for life in recording.lives]
    previous: RecordedBatch | None = None
    for batch in recording.batches:
        present = [k for k, life in enumerate(recording.lives) if life.covers(batch.planned)]
        joined = [k for k, life in enumerate(recording.lives) if _joins(recording, batch, life, len(present))]
        if previous is not None and present:
            lost = any(life.covers(previous.planned) and not life.covers(batch.planned) for life in recording.lives)
            coming = tuple(sorted(recording.lives[k].came for k in joined))
            rows.append(Row(batch, tuple(worked[k] for k in present), coming, lost))
        for k in [*present, *joined]:
            worked[k] += min(batch.took, batch.planned + batch.took - recording.lives[k].came)
        previous = batch
    return rows


def _joins(recording: Recording, batch: RecordedBatch, life: Lifetime, count: int) -> bool:
    """Whether an executor that registers in the middle of a batch gets tasks of that batch.

    It can only take tasks of the first stage that have not started. Later stages of a stateful query run where the
    state is.
    """
    layout = recording.layout
    if layout.stages > 1:
        return batch.planned < life.came < batch.planned + layout.first * batch.took
    task = batch.took / math.ceil(layout.tasks / max(1, count * layout.cores))
    return batch.planned < life.came < batch.planned + batch.took - task


def _measured(recordings: Sequence[Recording]) -> BatchModel:
    """The parameters that were measured directly and need no fit."""
    layout = recordings[0].layout
    startups = [seconds for recording in recordings for seconds in recording.startups]
    leaves = [seconds for recording in recordings for seconds in recording.leaves]
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
    """Least-squares fit of CPU = idle + cpu * busy, with a bounded slope."""
    if len(loads) < 3:
        return 0.95, 0.02
    busy, cpu = np.array(loads).T
    slope, base = np.polyfit(busy, cpu, 1)
    idle = min(0.2, max(0.0, float(base)))
    return round(min(1.0 - idle, max(0.3, float(slope))), 4), round(idle, 4)


def _bounds(rows: Sequence[Row]) -> tuple[Array, Array, Array]:
    """Initial values, at which records account for most of the time, and lower and upper bounds."""
    cost = median(row.batch.took * len(row.here) / row.batch.records for row in rows)
    shortest = min(row.batch.took for row in rows)
    start = np.array([shortest / 2, 0.01, cost / 2, 0.2, 40.0])
    low = np.array([0.0, 0.0, cost / 50, -0.8, 5.0])
    high = np.array([max(5.0, 2 * shortest), 1.0, cost * 5, 5.0, 200.0])
    return np.clip(start, low + 1e-9, high - 1e-9), low, high


def _model(base: BatchModel, point: Array) -> BatchModel:
    values: dict[str, Any] = {name: float(value) for name, value in zip(FITTED, point, strict=True)}
    return replace(base, **values)


def _rounded(model: BatchModel) -> BatchModel:
    """Rounded to the precision of the data. Further digits would only differ between machines."""
    values: dict[str, Any] = {name: float(f"{getattr(model, name):.4g}") for name in FITTED}
    return replace(model, **values)


def predicted(model: BatchModel, row: Row) -> float:
    """Predicted duration of a batch in seconds: the work is done at the combined speed of its executors, which grows
    when others join.
    """
    count = len(row.here)
    empty, cost = model.parts(count)
    work = (empty - model.fixed + cost * row.batch.records) * count  # in seconds of a warmed-up executor
    cold = model.cold if row.fresh else 0.0
    speed = math.fsum(model.speed(worked) for worked in row.here)
    end = row.batch.planned + work / speed
    for came in row.coming:
        task = (end - row.batch.planned) / -(-model.tasks // (count * model.cores))
        warm, faster = came + model.cold, speed + model.speed(0.0)
        shared = min(warm, end) + max(0.0, end - warm) * speed / faster
        end, speed = max(shared, warm + task), faster
    return model.fixed + cold + model.reload * row.lost + end - row.batch.planned
