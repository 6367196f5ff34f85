"""Downsampled curves of a run for plots: offered load, executors, latency and backlog over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tidegate.compare.cells import Cell
from tidegate.core import InvalidInput
from tidegate.score.figures import Schedule, distribution
from tidegate.score.latency import done
from tidegate.score.trace import Array, RunTrace

POINTS = 240
#: points of the latency distribution
STEPS = 60

Curve = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RunCurves:
    """Values for equal intervals of a run that begin at `times`; `ecdf` holds latencies and the share of records that
    do not exceed them.
    """

    key: str
    job: str
    workload: str
    policy: str
    seed: int
    times: Curve
    offered: Curve
    executors: Curve
    latency: Curve
    backlog: Curve
    oracle: Curve | None = None
    ecdf: tuple[tuple[float, float], ...] = ()


def plain(curves: RunCurves) -> dict[str, Any]:
    """The curves as values for JSON."""
    return asdict(curves)


def parse(values: Mapping[str, Any], place: str) -> RunCurves:
    """The inverse of `plain`."""
    names = ("times", "offered", "executors", "latency", "backlog", "oracle")
    try:
        lists = {name: None if values[name] is None else tuple(map(float, values[name])) for name in names}
        ecdf = tuple((float(latency), float(share)) for latency, share in values["ecdf"])
        return RunCurves(**{**values, **lists, "ecdf": ecdf})
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidInput(f"{place}: these are no curves that Tidegate wrote: {error}") from None


def curves(cell: Cell, trace: RunTrace, oracle: Schedule | None, points: int = POINTS) -> RunCurves:
    """Curves of a run. In each interval, the rate is the mean, executors are those in the middle, the backlog is that
    at the end, and the latency is that of the oldest record finished, or of the oldest waiting if none was finished.
    """
    edges = np.linspace(0.0, trace.until, points + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    return RunCurves(
        cell.key,
        cell.job,
        cell.workload,
        cell.policy,
        cell.seed,
        times=_rounded(edges[:-1]),
        offered=_rounded(np.diff(trace.arrivals.by(edges)) * points / trace.until),
        executors=_rounded(_held(trace.times, trace.executors, middles)),
        oracle=None if oracle is None else _rounded(_planned(oracle, cell.experiment.period, middles)),
        latency=_rounded(_oldest(trace, edges)),
        backlog=_rounded(trace.arrivals.by(edges[1:]) - _finished_by(trace, edges[1:])),
        ecdf=_ecdf(trace),
    )


def _rounded(values: Array) -> Curve:
    """Round to four digits, which is more than a plot shows."""
    return tuple(float(f"{value:.4g}") for value in values.tolist())


def _held(times: Array, values: Array, at: Array) -> Array:
    """Step function at given times: each value holds until the next time; the first also before it."""
    if not len(times):
        return np.zeros(len(at))
    return np.asarray(values[np.maximum(np.searchsorted(times, at, side="right") - 1, 0)])


def _planned(oracle: Schedule, step: float, at: Array) -> Array:
    plan = np.asarray(oracle.executors, dtype=np.float64)
    return _held(np.arange(len(plan), dtype=np.float64) * step, plan, at)


def _finished_by(trace: RunTrace, times: Array) -> Array:
    """Records finished by each time."""
    portions = done(trace)
    order = np.argsort(portions.times, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum((portions.ends - portions.begins)[order])])
    return np.asarray(sums[np.searchsorted(portions.times[order], times, side="right")])


def _oldest(trace: RunTrace, edges: Array) -> Array:
    portions, count = done(trace), len(edges) - 1
    ages = portions.times - portions.first_created(trace.arrivals)
    interval = np.clip(np.searchsorted(edges, portions.times, side="left") - 1, 0, count - 1)
    oldest = np.full(count, -1.0)
    np.maximum.at(oldest, interval, ages)
    finished = _finished_by(trace, edges[1:])
    is_waiting = trace.arrivals.by(edges[1:]) - finished >= 1.0
    waiting = np.where(is_waiting, edges[1:] - trace.arrivals.when(finished), 0.0)
    return np.where(oldest >= 0, oldest, waiting)


def _ecdf(trace: RunTrace) -> tuple[tuple[float, float], ...]:
    latencies = distribution(trace)
    if latencies is None:
        return ()
    return tuple((float(f"{latency:.5g}"), round(share, 5)) for latency, share in latencies.ecdf(STEPS))
