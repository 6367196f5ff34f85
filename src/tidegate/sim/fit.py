"""Fits the `BatchModel` of a job to recordings of real runs.

The duration of each batch is predicted from its records and from the executors that ran it, with their ages and the
state they hold, including those that joined in the middle. The fit minimises a soft sum of squares of ln(predicted /
measured). Errors are relative, so short batches weigh as much as long ones, and outliers such as JVM pauses weigh
little.
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
from tidegate.sim.recording import Recording
from tidegate.sim.rows import Row, predicted, rows_of

Array = npt.NDArray[np.float64]

#: minimum number of batches for a fit, and the factor by which their sizes must differ
ENOUGH, APART = 20, 2.0
#: the parameters of the model that are fitted together
FITTED = ("fixed", "overhead", "cost", "young", "fade")
#: step and range, in seconds, of the search for the time that a change of executors adds
SECOND, LONGEST = 0.25, 60.0
#: quantiles of start-up and warm-up times, and fewest times for them
QUANTILES, FEWEST = 5, 3
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
    found = _fitted(recordings, [row for recording in recordings for row in rows_of(recording)])
    if found.model.stateful and not all(recording.spread for recording in recordings):
        # where Spark left state depends on how long tasks took, which is better known now
        rows = [row for recording in recordings for row in rows_of(recording, found.model)]
        found = _fitted(recordings, rows)
    return found


def _fitted(recordings: Sequence[Recording], rows: Sequence[Row]) -> Fit:
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
    changed = [row for row in rows if row.fresh or row.coming]
    loading = _best(base, "reload", [row for row in rows if row.loads and not (row.fresh or row.coming)])
    cold = _best(loading, "cold", changed)
    each = sorted(_best(loading, "cold", [row]).cold for row in changed)
    return replace(cold, colds=_quantiles(each))


def _quantiles(values: Sequence[float]) -> tuple[float, ...]:
    """From the tenth to the ninetieth of a hundred, so that the largest of many is no outlier."""
    if len(values) < FEWEST:
        return ()
    points = [(place + 0.5) / QUANTILES for place in range(QUANTILES)]
    return tuple(round(float(value), 2) for value in np.quantile(values, points))


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


def _measured(recordings: Sequence[Recording]) -> BatchModel:
    """The parameters that were measured directly and need no fit."""
    layout = recordings[0].layout
    startups = [seconds for recording in recordings for seconds in recording.startups]
    leaves = [seconds for recording in recordings for seconds in recording.leaves]
    cpu, idle = _load([load for recording in recordings for load in recording.loads])
    shares = next((one.layout.shares for one in recordings if len(one.layout.shares) == layout.tasks), ())
    sizes = [(recording.layout.state, recording.layout.row_bytes) for recording in recordings]
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
        shares=shares,
        startups=_quantiles(startups),
        state=max(state for state, _ in sizes),
        row_bytes=max(size for _, size in sizes),
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
