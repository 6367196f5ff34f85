"""Runs the cells of a comparison on a simulator and scores them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tidegate.compare.cells import Cell
from tidegate.compare.curves import RunCurves, curves
from tidegate.core import TidegateError
from tidegate.deployment.simulated import simulate
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import oracles
from tidegate.profiling.profile import cost, with_profile
from tidegate.runs import RunResult
from tidegate.score.convergence import steps_of
from tidegate.score.figures import Objective, Schedule, figures
from tidegate.score.trace import RunTrace

#: times at which the load jumps
Steps = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """The simulators, or replacements for them in tests.

    `oracles` is called with experiments of one job under one workload, one per seed. `extend` can add further figures
    to a result.
    """

    simulate: Callable[[Experiment], RunTrace]
    oracles: Callable[[Sequence[Experiment]], Sequence[Schedule]]
    extend: Callable[[RunResult, RunTrace, Experiment], RunResult] = lambda result, trace, e: result


@dataclass(frozen=True, slots=True)
class CellResult:
    """The result of a run, and its curves if a report may show them."""

    run: RunResult
    curves: RunCurves | None = None


def simulators() -> Bench:
    return Bench(profiled, oracles)


def profiled(e: Experiment) -> RunTrace:
    """Simulate a run. A policy that lacks a profile it needs gets one from profiling runs on the same simulator."""
    return simulate(with_profile(e))


def simulated(cells: Sequence[Cell], bench: Bench) -> Iterator[CellResult]:
    """Run cells of one job under one workload, whose oracles are computed together. A failed run is a result too."""
    experiments = {cell.seed: cell.experiment for cell in reversed(cells)}
    try:
        limits = dict(zip(experiments, bench.oracles(list(experiments.values())), strict=True))
    except Exception as error:
        yield from (CellResult(failed(cell, error)) for cell in cells)
        return
    steps_by_seed: dict[int, Steps] = {}
    for cell in cells:
        try:
            trace = bench.simulate(cell.experiment)
            # shared by all policies of a seed, since detecting them costs as much as all other scoring
            if cell.seed not in steps_by_seed:
                steps_by_seed[cell.seed] = steps_of(trace)
            yield _measured(cell, trace, (limits[cell.seed], steps_by_seed[cell.seed]), bench)
        except Exception as error:
            yield CellResult(failed(cell, error))


def _measured(cell: Cell, trace: RunTrace, limit: tuple[Schedule, Steps], bench: Bench) -> CellResult:
    e, (oracle, steps) = cell.experiment, limit
    scored = figures(trace, Objective(e.slo, e.price), oracle, steps)
    result = replace(
        named(cell, "done"),
        duration=min(trace.until, e.duration),
        offered=round(trace.arrivals.whole),
        figures=scored,
        profiling=cost(e),
    )
    return CellResult(bench.extend(result, trace, e), curves(cell, trace, oracle) if cell.drawn else None)


def named(cell: Cell, status: str) -> RunResult:
    """A result with the labels of its cell and no figures yet."""
    e = cell.experiment
    return labelled(cell, replace(RunResult.of(cell.key, status, e), source=e.source_kind))


def labelled(cell: Cell, result: RunResult) -> RunResult:
    """The result under the key and the labels of its cell."""
    return replace(result, run=cell.key, job=cell.job, workload=cell.workload, policy=cell.policy, seed=cell.seed)


def failed(cell: Cell, error: BaseException) -> RunResult:
    text = str(error) if isinstance(error, TidegateError) else f"{type(error).__name__}: {error}"
    return replace(named(cell, "failed"), error=text)
