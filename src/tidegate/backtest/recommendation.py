"""Evaluation of the runs of a backtest: one row per policy, and the policy to choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tidegate.compare.ranking import ALLOWED, best
from tidegate.core import Options
from tidegate.runs import LateStretch, RunResult
from tidegate.score.estimate import over_seeds
from tidegate.score.figures import Figures

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Row:
    """A policy, averaged over its seeds; `worst` are the longest late stretches under the first seed."""

    policy: str
    options: Options
    seconds: float
    cost: float | None
    #: worker-seconds divided by those of the oracle and of the static reference; None without them
    oracle: float | None
    static: float | None
    late: float
    p95: float
    #: per day
    rescales: float
    worst: Sequence[LateStretch] = ()
    #: worker-seconds of the profiling runs that it needed
    profiling: float | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """The oracle: what would have been enough with the whole trace known in advance."""

    seconds: float
    late: float
    cost: float | None


def rows(runs: Iterable[RunResult], static: str) -> list[Row]:
    """One row per policy, in order of first appearance, without failed runs. `static` is the label of the reference."""
    by_policy: dict[str, list[RunResult]] = {}
    for run in runs:
        figures = run.figures
        if run.status == "done" and figures and figures.workers and figures.latency:
            by_policy.setdefault(run.policy, []).append(run)
    reference = _mean(by_policy[static], _seconds) if static in by_policy else None
    return [_row(policy, policy_runs, reference) for policy, policy_runs in by_policy.items()]


def _row(policy: str, runs: Sequence[RunResult], static: float | None) -> Row:
    first, seconds = runs[0], _mean(runs, _seconds) or 0.0
    ratios = [figures.oracle.ratio if figures.oracle else None for figures in _figures(runs)]
    return Row(
        policy,
        first.options,
        seconds,
        _mean(runs, lambda figures: figures.cost),
        None if None in ratios else _mean(runs, lambda figures: figures.oracle.ratio if figures.oracle else None),
        seconds / static if static else None,
        _mean(runs, lambda figures: figures.slo.violated) or 0.0,
        _mean(runs, lambda figures: figures.latency.p95 if figures.latency else None) or 0.0,
        (_mean(runs, lambda figures: figures.rescales.count) or 0.0) * DAY / (first.duration or DAY),
        first.late or (),
        first.profiling.worker_seconds if first.profiling else None,
    )


def _figures(runs: Sequence[RunResult]) -> list[Figures]:
    return [run.figures for run in runs if run.figures is not None]


def _seconds(figures: Figures) -> float | None:
    return figures.workers.seconds if figures.workers else None


def _mean(runs: Sequence[RunResult], value: Callable[[Figures], float | None]) -> float | None:
    estimate = over_seeds(value(figures) for figures in _figures(runs))
    return None if estimate is None else estimate.mean


def limit(runs: Iterable[RunResult], price: float | None) -> Limit | None:
    """The oracle, averaged over seeds; all policies of a seed share it."""
    done = [run for run in runs if run.status == "done" and run.figures]
    oracles = {run.seed: run.figures.oracle for run in done if run.figures is not None and run.figures.oracle}
    seconds = over_seeds(oracle.seconds for oracle in oracles.values())
    late = over_seeds(oracle.violated for oracle in oracles.values())
    if seconds is None or late is None:
        return None
    return Limit(seconds.mean, late.mean, None if price is None else seconds.mean / 3600 * price)


def chosen(candidates: Sequence[Row], allowed: float = ALLOWED) -> Row | None:
    """The cheapest policy with few enough late records, or the one with the fewest late records if there is none."""
    return best(candidates, lambda row: (row.late, row.seconds), allowed)
