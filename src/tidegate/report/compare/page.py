"""What the report of a comparison contains: its runs by cell and policy, and the means over the cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tidegate.compare.columns import COLUMNS, Column
from tidegate.compare.curves import RunCurves
from tidegate.compare.results import Comparison, Settings, summary
from tidegate.report.facts import without_untimed
from tidegate.report.looks import AMBER, BLUE, GREEN, GREY, INK, PURPLE, RED, SKY, Dash, Look
from tidegate.runs import RunResult
from tidegate.score.estimate import Estimate, over_cells, over_seeds
from tidegate.score.figures import AgainstOracle
from tidegate.units import UNKNOWN

Key = TypeVar("Key")

# without yellow, which is hard to see on white; they are used again with dashes
COLOURS = (BLUE, RED, GREEN, PURPLE, AMBER, SKY, INK)
DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted")
ORACLE = Look(GREY, "dashed", 2.5, steps=True)
SLO = Look(INK, "dotted", 1.5)


@dataclass(frozen=True, slots=True)
class Recommended:
    """The policy to choose in a cell. `within` says whether its late records are within what is allowed."""

    policy: str
    within: bool


@dataclass(frozen=True, slots=True)
class CellView:
    """One job under one workload. `runs` and `curves` are by policy; runs that failed are only counted."""

    job: str
    workload: str
    runs: Mapping[str, tuple[RunResult, ...]]
    failed: Mapping[str, int]
    curves: Mapping[str, RunCurves]
    recommended: Recommended | None = None

    @property
    def title(self) -> str:
        return f"{self.job or UNKNOWN} · {self.workload or UNKNOWN}"

    @property
    def target(self) -> float | None:
        """The SLO."""
        runs = (run for runs in self.runs.values() for run in runs)
        return next((run.figures.slo.target for run in runs if run.figures is not None), None)

    @property
    def oracle_seconds(self) -> Estimate | None:
        return over_seeds(oracle.seconds for oracle in self._oracles())

    @property
    def oracle_violated(self) -> Estimate | None:
        return over_seeds(oracle.violated for oracle in self._oracles())

    def seen_seconds(self, policy: str) -> Estimate | None:
        """Worker-seconds of the executors that were seen, as opposed to those paid for."""
        workers = (run.figures.workers for run in self.runs.get(policy, ()) if run.figures is not None)
        return over_seeds(spent.seen_seconds for spent in workers if spent is not None)

    def estimates(self, column: Column) -> dict[str, Estimate]:
        """By policy, without those that do not have the figure."""
        estimates = {policy: column.estimate(runs) for policy, runs in self.runs.items()}
        return {policy: estimate for policy, estimate in estimates.items() if estimate is not None}

    def _oracles(self) -> list[AgainstOracle]:
        """One per seed. The oracle is the same for all policies: those of the first policy that has any are enough."""
        by_policy = (
            [run.figures.oracle for run in runs if run.figures is not None and run.figures.oracle is not None]
            for runs in self.runs.values()
        )
        return next((oracles for oracles in by_policy if oracles), [])


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    title: str
    settings: Settings
    #: share of records that may be late for a policy to be recommended
    allowed: float
    policies: tuple[str, ...]
    cells: tuple[CellView, ...]
    done: tuple[RunResult, ...]
    failed: tuple[RunResult, ...]

    def key(self, policy: str) -> str:
        """Stands for the policy in identifiers, as a policy's name can be any text."""
        return f"p{self.policies.index(policy)}"

    def look(self, policy: str) -> Look:
        """The same in every chart of the page."""
        return look(self.policies.index(policy))

    def complete(self, policy: str) -> bool:
        """Whether it finished every run of every cell; only then its means can be compared with those of others."""
        return all(cell.runs.get(policy) and not cell.failed.get(policy) for cell in self.cells)

    def overall(self, column: Column) -> dict[str, Estimate]:
        """Means over the cells that have the figure, by policy."""
        cells = [cell.estimates(column) for cell in self.cells]
        means = {
            policy: over_cells([estimates[policy] for estimates in cells if policy in estimates])
            for policy in self.policies
        }
        return {policy: mean for policy, mean in means.items() if mean is not None}

    def columns(self, overall: bool = False) -> list[Column]:
        """Those for which any run has a figure."""
        columns = (column for column in COLUMNS if column.overall or not overall)
        return [column for column in columns if any(cell.estimates(column) for cell in self.cells)]


def look(index: int) -> Look:
    """
    >>> look(0).colour == look(7).colour, look(0).dash, look(7).dash
    (True, 'solid', 'dashed')
    """
    return Look(COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)], 1.75, steps=True)


def page(comparison: Comparison) -> ComparisonPage:
    """Policies and cells keep the order in which they first appear. Latencies that nobody measured are unknown."""
    comparison = replace(comparison, runs=tuple(without_untimed(run) for run in comparison.runs))
    policies = unique(run.policy for run in comparison.runs)
    recommended = _recommended(comparison)
    places = unique((run.job, run.workload or "") for run in comparison.runs)
    return ComparisonPage(
        title=comparison.title,
        settings=comparison.settings,
        allowed=comparison.allowed,
        policies=policies,
        cells=tuple(_cell(comparison, policies, place, recommended.get(place)) for place in places),
        done=tuple(run for run in comparison.runs if run.status == "done"),
        failed=tuple(run for run in comparison.runs if run.status != "done"),
    )


def _recommended(comparison: Comparison) -> dict[tuple[str, str], Recommended]:
    """By job and workload: the policies that the terminal marks too."""
    return {
        (row.job, row.workload): Recommended(row.policy, row.figures["violated"].mean <= comparison.allowed)
        for row in summary(comparison.runs, comparison.allowed)
        if row.best
    }


def _cell(
    comparison: Comparison, policies: Sequence[str], place: tuple[str, str], recommended: Recommended | None
) -> CellView:
    done: dict[str, tuple[RunResult, ...]] = dict.fromkeys(policies, ())
    failed = dict.fromkeys(policies, 0)
    for run in comparison.runs:
        if (run.job, run.workload or "") != place:
            continue
        if run.status == "done":
            done[run.policy] += (run,)
        else:
            failed[run.policy] += 1
    curves = {
        drawn.policy: drawn for drawn in comparison.curves if (drawn.job, drawn.workload) == place and drawn.times
    }
    return CellView(
        *place,
        runs={policy: runs for policy, runs in done.items() if runs},
        failed=failed,
        curves={policy: curves[policy] for policy in policies if policy in curves},
        recommended=recommended,
    )


def unique(items: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(dict.fromkeys(items))
