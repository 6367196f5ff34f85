"""What policies would have cost on a trace of one's own, and how often they would have missed the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tidegate.backtest.slo_violations import stretches
from tidegate.compare.cell_runner import Bench, Steps, measured
from tidegate.compare.cells import SIMULATED, TRACE
from tidegate.compare.grid import Grid, grid
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import batch_model, capacity, offered, oracles, simulate
from tidegate.profiling.profile import cost
from tidegate.score.latency import LatencyDistribution
from tidegate.score.trace import RunTrace
from tidegate.sim.batch_model import bundled, model
from tidegate.workloads import named

#: by how much more than what comes in the trace's first minute the executors of the start can do
SPARE = 1.2
FIRST = 60.0
#: fields of an experiment that a backtest may be told
FIELDS = ("slo", "minimum", "maximum", "initial", "trigger", "period", "price")


@dataclass(frozen=True, slots=True)
class Backtest:
    """What is asked. `policies` are as in the file of a comparison, `run` are fields of an experiment."""

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
class Beyond:
    """A peak that no allowed number of executors can keep up with: its rate is the mean over the objective's time."""

    rate: float
    #: when it begins, seconds from the trace's start
    at: float
    #: of the most executors, records/s, and for how many seconds more than that arrives
    capacity: float
    seconds: float
    #: executors that could; None where more of them are of no use
    needed: int | None


def experiment(asked: Backtest) -> Experiment:
    """The trace at its own rates and length, without a policy that matters. Bad traces and models are refused here."""
    own = named(asked.workload)
    found = model(asked.model)
    values: dict[str, Any] = {
        **SIMULATED,
        "noise": 0.0,
        **asked.run,
        "duration": float(own.duration),
        "peak": float(own.highest()),
    }
    file = "" if asked.model in bundled() else asked.model
    made = Experiment(**values, job=found.job, model=file, workload=asked.workload, policy="static")
    return made if made.initial is not None else replace(made, initial=start(made))


def start(e: Experiment) -> int:
    """Executors that were there when the trace began: enough for its first minute, with something to spare."""
    span = min(FIRST, e.duration)
    return _least(e, float(offered(e).by(span)) / span * SPARE) or e.maximum


def _least(e: Experiment, rate: float, most: int | None = None) -> int | None:
    numbers = range(e.minimum, (most or e.maximum) + 1)
    return next((n for n in numbers if capacity(e, n) >= rate), None)


def beyond(e: Experiment) -> Beyond | None:
    """Whether the trace's peak is above what the most executors can do. Shorter ones than the objective can wait."""
    arrivals, able = offered(e), capacity(e, e.maximum)
    span = min(e.slo, e.duration)
    begins = arrivals.times[arrivals.times <= e.duration - span]
    means = (arrivals.by(begins + span) - arrivals.by(begins)) / span
    at = int(np.argmax(means))
    if means[at] <= able:
        return None
    steps = np.diff(arrivals.times)
    above = np.diff(arrivals.totals) > able * steps
    needed = _least(e, float(means[at]), batch_model(e).ceiling)
    return Beyond(float(means[at]), float(begins[at]), able, float(steps[above].sum()), needed)


def least_static(e: Experiment, allowed: float) -> int:
    """The fewest executors that, always there, are late for no more than the allowed share; the most if none are."""
    low, high = e.minimum, e.maximum
    while low < high:
        middle = (low + high) // 2
        trial = simulate(replace(e, policy="static", options={"executors": middle}))
        low, high = (low, middle) if LatencyDistribution.of(trial).share_above(e.slo) <= allowed else (middle + 1, high)
    return low


def backtest_grid(asked: Backtest, e: Experiment, static: int) -> Grid:
    """The runs as a comparison: the policies, and `static` beside them."""
    fixed = {"name": "static", "label": label(static), "options": {"executors": static}}
    shared = {name: getattr(e, name) for name in FIELDS if getattr(e, name) is not None}
    values = {
        "title": f"Backtest of {asked.file}",
        "policies": [*asked.policies, fixed],
        "jobs": [{"name": e.job, "model": e.model}],
        "workloads": [{"name": asked.workload, "label": asked.file}],
        "seeds": asked.seeds,
        "run": {**shared, "noise": 0.0},
    }
    return grid(values, "backtest")


def label(static: int) -> str:
    return f"static {static}"


def bench() -> Bench:
    """The simulators, with figures that say when records were late, and what profiling cost."""
    return Bench(simulate, oracles, _figures)


def _figures(trial: RunTrace, e: Experiment, oracle: Any, steps: Steps) -> Mapping[str, Any]:
    return {**measured(trial, e, oracle, steps), "late": stretches(trial, e.slo), **cost(e)}
