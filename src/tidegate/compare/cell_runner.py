"""What runs a cell of a comparison and measures it, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.compare.cells import Cell
from tidegate.compare.curves import series
from tidegate.core import TidegateError
from tidegate.experiment.settings import Experiment
from tidegate.score.convergence import steps_of
from tidegate.score.figures import Aims, figures
from tidegate.score.trace import RunTrace

#: when the load jumps
Steps = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """The simulators and the figures, or what a test puts in their place.

    `oracles` is given experiments of one job under one workload, one for each seed.
    """

    simulate: Callable[[Experiment], RunTrace]
    oracles: Callable[[Sequence[Experiment]], Sequence[Any]]
    figures: Callable[[RunTrace, Experiment, Any, Steps], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Result:
    """`run` has the keys of a run's JSON, `series` the curves where a picture may show them."""

    run: Mapping[str, Any]
    series: Mapping[str, Any] | None = None


def simulators() -> Bench:
    from tidegate.experiment.simulation import oracles, simulate  # noqa: PLC0415, only for those who use them

    return Bench(simulate, oracles, measured)


def measured(trial: RunTrace, e: Experiment, oracle: Any, steps: Steps) -> Mapping[str, Any]:
    from tidegate.profiling.profile import cost  # noqa: PLC0415, it simulates

    return {**figures(trial, Aims(e.slo, e.price), oracle, steps), **cost(e)}


def simulated(cells: Sequence[Cell], bench: Bench) -> Iterator[Result]:
    """Runs of one job under one workload, whose oracles are found together. A run that fails is a result too."""
    firsts = {cell.seed: cell.experiment for cell in reversed(cells)}
    try:
        limits = dict(zip(firsts, bench.oracles(list(firsts.values())), strict=True))
    except Exception as error:
        yield from (Result(failed(cell, error)) for cell in cells)
        return
    jumps: dict[int, Steps] = {}
    for cell in cells:
        try:
            trial = bench.simulate(cell.experiment)
            # of the load, which all policies share: finding them costs as much as all else that is measured
            steps = jumps[cell.seed] if cell.seed in jumps else jumps.setdefault(cell.seed, steps_of(trial))
            yield _result(cell, trial, (limits[cell.seed], steps), bench)
        except Exception as error:
            yield Result(failed(cell, error))


def _result(cell: Cell, trial: RunTrace, known: tuple[Any, Steps], bench: Bench) -> Result:
    e, (oracle, steps) = cell.experiment, known
    length, offered = min(trial.until, e.duration), round(trial.arrivals.whole)
    found = bench.figures(trial, e, oracle, steps)
    run = {**lead(cell, "done"), "duration": length, "offered": offered, **found, "verified": None}
    return Result(run, series(cell, trial, oracle) if cell.drawn else None)


def lead(cell: Cell, status: str) -> dict[str, Any]:
    """What every run's JSON begins with."""
    e = cell.experiment
    return {
        "run": cell.key,
        "status": status,
        "job": cell.job,
        "workload": cell.workload,
        "policy": cell.policy,
        "engine": e.engine,
        "mode": e.mode,
        "source": e.source,
        "seed": cell.seed,
        "options": dict(e.options),
    }


def failed(cell: Cell, error: BaseException) -> dict[str, Any]:
    told = str(error) if isinstance(error, TidegateError) else f"{type(error).__name__}: {error}"
    return {**lead(cell, "failed"), "error": told}
