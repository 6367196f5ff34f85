"""A grid, as the runs that it stands for.

Seed 0 is the documented draw of everything. Under seed *k* the engine draws by *k* (noise of what it measures, times
that executors need to come), and so does the noise on the load. Patterns that are drawn themselves (`cosine`, `random`
…) stay as documented, with their noise; `vary = "workload"` draws them anew too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tidegate.compare.grid import Grid, Item
from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment
from tidegate.workloads import NAMED, named

#: of runs on the simulators where nothing else is said; on Spark an experiment's own defaults hold
SIMULATED = {"engine": "sim", "duration": 7200.0, "slo": 30.0, "trigger": 10.0, "maximum": 8, "noise": 0.02}
#: share of what the most executors can do that is offered at the peak where no rate is given
FILLED = 0.8
TRACE = "trace:"

#: records per second that so many executors can process
Capacity = Callable[[Experiment, int], float]


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a comparison; job, workload and policy by their labels."""

    job: str
    workload: str
    policy: str
    seed: int
    experiment: Experiment
    #: whether its curves are kept: of each job, workload and policy those of the first seed
    drawn: bool = True

    @property
    def key(self) -> str:
        return f"{self.job}/{self.workload}/{self.policy}/{self.seed}"


def cells(grid: Grid, capacity: Capacity | None = None, place: str = "compare") -> list[Cell]:
    """All runs of a grid, in its order: jobs, in them workloads, policies, seeds. Bad ones are refused here, before
    anything has run.
    """
    try:
        return list(_cells(grid, capacity or _simulated))
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from error


def _simulated(e: Experiment, executors: int) -> float:
    from tidegate.experiment.simulation import capacity  # noqa: PLC0415, the simulators only for those who use them

    return float(capacity(e, executors))


def _cells(grid: Grid, capacity: Capacity) -> Iterator[Cell]:
    for job in grid.jobs:
        for workload in grid.workloads:
            common = _common(grid, job, workload, capacity)
            varied = [{"seed": seed, "workload_seed": _drawn_by(grid, workload, seed)} for seed in grid.seeds]
            for policy in grid.policies:
                for draws in varied:
                    # a seed of the workload that is written down holds for all
                    values = {**draws, **common, "policy": policy.name, "options": dict(policy.values)}
                    seed, first = int(draws["seed"] or 0), draws is varied[0]
                    yield Cell(job.label, workload.label, policy.label, seed, Experiment(**values), first)


def _common(grid: Grid, job: Item, workload: Item, capacity: Capacity) -> dict[str, Any]:
    """What all runs of a job under a workload share."""
    given = {**grid.shared, **workload.values, **job.values}
    simulated = given.get("engine", "sim") != "spark"
    values = {**(SIMULATED if simulated else {}), **given, "job": job.name, "workload": workload.name}
    values |= _extent(workload.name, given)
    if simulated and "peak" not in values:
        calm = {**values, "workload": "constant", "policy": "static"}
        values["peak"] = _round(FILLED * capacity(Experiment(**calm), _most(values)))
    return values


def _most(values: Mapping[str, Any]) -> int:
    default = next(one.default for one in fields(Experiment) if one.name == "maximum")
    return int(values.get("maximum", default))


def _extent(name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """A trace's own duration and highest rate, where no others are wanted."""
    if not name.startswith(TRACE):
        return {}
    own = named(name)
    found = {"duration": float(own.duration), "peak": float(own.highest())}
    return {key: value for key, value in found.items() if key not in given}


def _round(rate: float) -> float:
    """
    >>> _round(123_456.7)
    123000.0
    """
    return float(f"{rate:.3g}")


def _drawn_by(grid: Grid, workload: Item, seed: int) -> int | None:
    if seed == 0 or (grid.vary == "noise" and _is_drawn(workload.name)):
        return None
    return seed


def _is_drawn(name: str) -> bool:
    """Whether another seed makes another pattern, and not only other noise.

    >>> _is_drawn("cosine"), _is_drawn("steps"), _is_drawn("trace:day.csv")
    (True, False, False)
    """
    pattern = NAMED.get(name)
    return pattern is not None and pattern.make(1) != pattern.make(2)
