"""The runs that a grid stands for.

Seed 0 gives the documented workloads. Seed *k* seeds the engine (measurement noise, start-up times of executors) and
the noise on the load. Randomly generated patterns (`cosine`, `random` …) stay as documented, including their noise,
unless `vary = "workload"` generates them from the seed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tidegate.compare.grid import Grid, Item
from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import capacity as simulated_capacity
from tidegate.workloads import NAMED, named

#: defaults for runs on the simulators; runs on Spark use those of Experiment
SIMULATED = {"engine": "sim", "duration": 7200.0, "slo": 30.0, "trigger": 10.0, "maximum": 8, "noise": 0.02}
#: policies are compared as their authors published them, on any engine
AS_PUBLISHED = {"safe": False}
#: default peak of the load, as a share of the capacity of the maximum number of executors
FILLED = 0.8
TRACE = "trace:"
#: on Spark, this policy means Spark's own dynamic allocation: the baseline that every user has
NATIVE = "spark-dra"

#: records per second that a number of executors can process
Capacity = Callable[[Experiment, int], float]


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a comparison; `job`, `workload` and `policy` are labels."""

    job: str
    workload: str
    policy: str
    seed: int
    experiment: Experiment
    #: whether its curves are kept: only for the first seed of each job, workload and policy
    drawn: bool = True

    @property
    def key(self) -> str:
        return f"{self.job}/{self.workload}/{self.policy}/{self.seed}"


def cells(grid: Grid, capacity: Capacity = simulated_capacity, place: str = "compare") -> list[Cell]:
    """All runs of a grid, ordered by job, workload, policy and seed. Invalid ones are rejected here, before anything
    runs.
    """
    try:
        return list(_cells(grid, capacity))
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from error


def _cells(grid: Grid, capacity: Capacity) -> Iterator[Cell]:
    for job in grid.jobs:
        for workload in grid.workloads:
            common = _common(grid, job, workload, capacity)
            seeds = [{"seed": seed, "workload_seed": _workload_seed(grid, workload, seed)} for seed in grid.seeds]
            for policy in grid.policies:
                for seeded in seeds:
                    # an explicit seed of the workload applies to all runs
                    values = {**seeded, **common, "policy": policy.name, "options": dict(policy.values)}
                    if policy.name == NATIVE:  # Spark leaves state where it is, in a simulation too
                        values["spread"] = False
                    seed, first = int(seeded["seed"] or 0), seeded is seeds[0]
                    yield Cell(job.label, workload.label, policy.label, seed, Experiment(**values), first)


def _common(grid: Grid, job: Item, workload: Item, capacity: Capacity) -> dict[str, Any]:
    """Fields that all runs of a job under a workload share."""
    settings = {**grid.shared, **workload.values, **job.values}
    simulated = settings.get("engine", "sim") != "spark"
    defaults = {**(SIMULATED if simulated else {}), **AS_PUBLISHED}
    values = {**defaults, **settings, "job": job.name, "workload": workload.name}
    values |= _extent(workload.name, settings)
    if simulated and "peak" not in values:
        calm = {**values, "workload": "constant", "policy": "static"}
        values["peak"] = _round(FILLED * capacity(Experiment(**calm), _maximum(values)))
    return values


def _maximum(values: Mapping[str, Any]) -> int:
    default = next(field.default for field in fields(Experiment) if field.name == "maximum")
    return int(values.get("maximum", default))


def _extent(name: str, settings: Mapping[str, Any]) -> dict[str, float]:
    """Duration and highest rate of a trace, unless the settings override them."""
    if not name.startswith(TRACE):
        return {}
    trace = named(name)
    extent = {"duration": float(trace.duration), "peak": float(trace.highest())}
    return {key: value for key, value in extent.items() if key not in settings}


def _round(rate: float) -> float:
    """
    >>> _round(123_456.7)
    123000.0
    """
    return float(f"{rate:.3g}")


def _workload_seed(grid: Grid, workload: Item, seed: int) -> int | None:
    if seed == 0 or (grid.vary == "noise" and _is_random(workload.name)):
        return None
    return seed


def _is_random(name: str) -> bool:
    """Whether another seed gives another pattern, not only other noise.

    >>> _is_random("cosine"), _is_random("steps"), _is_random("trace:day.csv")
    (True, False, False)
    """
    pattern = NAMED.get(name)
    return pattern is not None and pattern.make(1) != pattern.make(2)
