"""The results of a comparison, summarised over seeds, with the best marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from tidegate.compare.columns import BY_KEY, TERMINAL
from tidegate.compare.curves import RunCurves
from tidegate.compare.grid import Grid
from tidegate.compare.ranking import ALLOWED, best, leaders
from tidegate.runs import RunResult
from tidegate.score.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings shared by all runs of a comparison; None if they differ or are not set."""

    duration: float | None = None
    slo: float | None = None
    minimum: int | None = None
    maximum: int | None = None
    engine: str | None = None

    @classmethod
    def of(cls, grid: Grid) -> Settings:
        """The settings that a grid makes for all its runs."""
        return cls(**{field.name: grid.shared.get(field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything a report needs; `curves` exist for some runs only."""

    title: str
    runs: tuple[RunResult, ...]
    curves: tuple[RunCurves, ...] = ()
    settings: Settings = field(default_factory=Settings)
    #: share of records that may be late with the recommended policy
    allowed: float = ALLOWED


@dataclass(frozen=True, slots=True)
class Row:
    """A policy on a job under a workload, over its seeds.

    `leads` holds the keys of the columns in which no policy is better. `best` marks the policy to choose: the fewest
    worker-seconds among those with few enough late records, or the fewest late records if there is none.
    """

    job: str
    workload: str
    policy: str
    figures: Mapping[str, Estimate]
    failed: int = 0
    leads: frozenset[str] = frozenset()
    best: bool = False


def summary(runs: Iterable[RunResult], allowed: float = ALLOWED) -> list[Row]:
    """One row per job, workload and policy, in order of first appearance."""
    cells: dict[tuple[str, str], dict[str, list[RunResult]]] = {}
    for run in runs:
        cells.setdefault((run.job, run.workload or ""), {}).setdefault(run.policy, []).append(run)
    return [row for cell, policies in cells.items() for row in _rows(cell, policies, allowed)]


def _rows(cell: tuple[str, str], policies: Mapping[str, Sequence[RunResult]], allowed: float) -> list[Row]:
    means = {policy: _estimates(runs) for policy, runs in policies.items()}
    chosen = winner(means, allowed)
    leading = {
        column.key: leaders(
            {policy: estimates[column.key].mean for policy, estimates in means.items() if column.key in estimates}
        )
        for column in TERMINAL
    }
    return [
        Row(
            *cell,
            policy,
            means[policy],
            failed=sum(run.status == "failed" for run in runs),
            leads=frozenset(key for key, leading_policies in leading.items() if policy in leading_policies),
            best=policy == chosen,
        )
        for policy, runs in policies.items()
    ]


def _estimates(runs: Sequence[RunResult]) -> dict[str, Estimate]:
    """Estimates by column key, without columns for which no run has a figure."""
    estimates = {column.key: column.estimate(runs) for column in (*TERMINAL, BY_KEY["seconds"], BY_KEY["violated"])}
    return {key: estimate for key, estimate in estimates.items() if estimate is not None}


def winner(means: Mapping[str, Mapping[str, Estimate]], allowed: float = ALLOWED) -> str | None:
    """The policy to choose in a cell; None if none has figures."""
    complete = [policy for policy, figures in means.items() if {"violated", "seconds"} <= figures.keys()]
    return best(complete, lambda policy: (means[policy]["violated"].mean, means[policy]["seconds"].mean), allowed)
