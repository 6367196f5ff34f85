"""The runs of a backtest: policies on a user's own trace, simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tidegate.backtest.slo_violations import late_stretches
from tidegate.compare.cell_runner import Bench, profiled
from tidegate.compare.cells import SIMULATED, TRACE
from tidegate.compare.grid import Grid, grid
from tidegate.deployment.simulated import simulate
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import batch_model, capacity, offered, oracles
from tidegate.runs import RunResult
from tidegate.score.latency import LatencyDistribution
from tidegate.score.trace import RunTrace
from tidegate.sim.batch_model import bundled, model
from tidegate.workloads import named

#: capacity of the initial executors, as a multiple of the load in the trace's first minute
SPARE = 1.2
FIRST = 60.0
#: fields of an experiment that a backtest may set
FIELDS = ("slo", "safe", "minimum", "maximum", "initial", "trigger", "period", "price")


@dataclass(frozen=True, slots=True)
class Backtest:
    """A request. `policies` have the form of a comparison's file, `run` holds fields of an experiment."""

    trace: str
    model: str
    policies: Sequence[Any]
    run: Mapping[str, Any] = field(default_factory=dict)
    #: share of records that may be late
    allowed: float = 0.01
    seeds: int = 1

    @property
    def workload(self) -> str:
        return self.trace if self.trace.startswith(TRACE) else TRACE + self.trace

    @property
    def file(self) -> str:
        return self.workload.removeprefix(TRACE).rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Overload:
    """A peak above the capacity of the maximum number of executors; `rate` is its mean over the SLO's time."""

    rate: float
    #: its begin, in seconds from the trace's start
    at: float
    #: capacity of the maximum number of executors in records/s, and seconds in which more arrives
    capacity: float
    seconds: float
    #: executors that would be enough; None if no number would
    needed: int | None


def experiment(request: Backtest) -> Experiment:
    """The experiment for a trace at its own rates and length; its policy is a placeholder. Rejects invalid traces and
    models.
    """
    trace = named(request.workload)
    batches = model(request.model)
    values: dict[str, Any] = {
        **SIMULATED,
        "noise": 0.0,
        **request.run,
        "duration": float(trace.duration),
        "peak": float(trace.highest()),
    }
    file = "" if request.model in bundled() else request.model
    e = Experiment(**values, job=batches.job, model=file, workload=request.workload, policy="static")
    return e if e.initial is not None else replace(e, initial=start(e))


def start(e: Experiment) -> int:
    """Initial executors: enough for the first minute of the trace, with some spare capacity."""
    span = min(FIRST, e.duration)
    return _least(e, float(offered(e).by(span)) / span * SPARE) or e.maximum


def _least(e: Experiment, rate: float, most: int | None = None) -> int | None:
    numbers = range(e.minimum, (most or e.maximum) + 1)
    return next((n for n in numbers if capacity(e, n) >= rate), None)


def peak_overload(e: Experiment) -> Overload | None:
    """The trace's highest peak if it exceeds the maximum capacity. Peaks shorter than the SLO can be queued."""
    arrivals, highest = offered(e), capacity(e, e.maximum)
    span = min(e.slo, e.duration)
    begins = arrivals.times[arrivals.times <= e.duration - span]
    means = (arrivals.by(begins + span) - arrivals.by(begins)) / span
    at = int(np.argmax(means))
    if means[at] <= highest:
        return None
    steps = np.diff(arrivals.times)
    above = np.diff(arrivals.totals) > highest * steps
    needed = _least(e, float(means[at]), batch_model(e).ceiling)
    return Overload(float(means[at]), float(begins[at]), highest, float(steps[above].sum()), needed)


def least_static(e: Experiment, allowed: float) -> int:
    """The smallest constant number of executors with at most the allowed share of late records; else the maximum."""
    low, high = e.minimum, e.maximum
    while low < high:
        middle = (low + high) // 2
        trace = simulate(replace(e, policy="static", options={"executors": middle}))
        low, high = (low, middle) if LatencyDistribution.of(trace).share_above(e.slo) <= allowed else (middle + 1, high)
    return low


def backtest_grid(request: Backtest, e: Experiment, static: int) -> Grid:
    """The runs as the grid of a comparison: the policies, and `static` executors as a reference."""
    fixed = {"name": "static", "label": label(static), "options": {"executors": static}}
    shared = {name: getattr(e, name) for name in FIELDS if getattr(e, name) is not None}
    values = {
        "title": f"Backtest of {request.file}",
        "policies": [*request.policies, fixed],
        "jobs": [{"name": e.job, "model": e.model}],
        "workloads": [{"name": request.workload, "label": request.file}],
        "seeds": request.seeds,
        "run": {**shared, "noise": 0.0},
    }
    return grid(values, "backtest")


def label(static: int) -> str:
    return f"static {static}"


def bench() -> Bench:
    """The simulators, with late stretches added to the results."""
    return Bench(profiled, oracles, _with_stretches)


def _with_stretches(result: RunResult, trace: RunTrace, e: Experiment) -> RunResult:
    return replace(result, late=late_stretches(trace, e.slo))
