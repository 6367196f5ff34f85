"""A run as curves for a picture: what was offered, executors, latency and backlog over time, in few points."""

from __future__ import annotations

from typing import Any

import numpy as np

from tidegate.compare.cells import Cell
from tidegate.score.latency import LatencyDistribution, done
from tidegate.score.trace import Array, RunTrace

POINTS = 240
#: of the latencies' distribution
STEPS = 60


def series(cell: Cell, trial: RunTrace, oracle: Any, points: int = POINTS) -> dict[str, Any]:
    """Values of equal parts of the run: rates are means over a part, executors those in its middle, the backlog that
    at its end, the latency that of the oldest record done in it. Where none was done, the oldest that waits counts.
    """
    edges = np.linspace(0.0, trial.until, points + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    names = {"key": cell.key, "job": cell.job, "workload": cell.workload, "policy": cell.policy, "seed": cell.seed}
    return {
        **names,
        "times": _plain(edges[:-1]),
        "offered": _plain(np.diff(trial.arrivals.by(edges)) * points / trial.until),
        "executors": _plain(_held(trial.times, trial.executors, middles)),
        "oracle": None if oracle is None else _plain(_planned(oracle, cell.experiment.period, middles)),
        "latency": _plain(_oldest(trial, edges)),
        "backlog": _plain(trial.arrivals.by(edges[1:]) - _finished_by(trial, edges[1:])),
        "ecdf": _ecdf(trial),
    }


def _plain(values: Array) -> list[float]:
    """Four digits are more than a picture shows."""
    return [float(f"{value:.4g}") for value in values.tolist()]


def _held(times: Array, values: Array, at: Array) -> Array:
    """Values that hold until the next time; before the first, the first."""
    if not len(times):
        return np.zeros(len(at))
    return np.asarray(values[np.maximum(np.searchsorted(times, at, side="right") - 1, 0)])


def _planned(oracle: Any, step: float, at: Array) -> Array:
    plan = np.asarray(oracle.executors, dtype=np.float64)
    return _held(np.arange(len(plan), dtype=np.float64) * step, plan, at)


def _finished_by(trial: RunTrace, times: Array) -> Array:
    """Records done by a time."""
    portions = done(trial)
    order = np.argsort(portions.times, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum((portions.ends - portions.begins)[order])])
    return np.asarray(sums[np.searchsorted(portions.times[order], times, side="right")])


def _oldest(trial: RunTrace, edges: Array) -> Array:
    portions, count = done(trial), len(edges) - 1
    ages = portions.times - trial.arrivals.when(portions.begins)
    part = np.clip(np.searchsorted(edges, portions.times, side="left") - 1, 0, count - 1)
    found = np.full(count, -1.0)
    np.maximum.at(found, part, ages)
    taken = _finished_by(trial, edges[1:])
    waits = trial.arrivals.by(edges[1:]) - taken >= 1.0
    waiting = np.where(waits, edges[1:] - trial.arrivals.when(taken), 0.0)
    return np.where(found >= 0, found, waiting)


def _ecdf(trial: RunTrace) -> list[list[float]]:
    ages = LatencyDistribution.of(trial)
    if not ages.records:
        return []
    return [[float(f"{latency:.5g}"), round(share, 5)] for latency, share in ages.ecdf(STEPS)]
