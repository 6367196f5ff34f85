"""What is in the report of a comparison: its runs by cell and policy, and the mean of each policy over the cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tidegate.report.compare.columns import COLUMNS, Column, Record
from tidegate.report.compare.estimate import Estimate, over_cells
from tidegate.report.facts import pick, text
from tidegate.report.looks import BLUE, GREEN, GREY, INK, PURPLE, RED, SKY, Dash, Look

Key = TypeVar("Key")

# Okabe and Ito's colours but yellow, which is hard to see on white; where they end they begin again with dashes
COLOURS = (BLUE, RED, GREEN, PURPLE, "#e69f00", SKY, INK)
DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted")
ORACLE = Look(GREY, "dashed", 2.5, steps=True)
SLO = Look(INK, "dotted", 1.5)


class Compared(Protocol):
    """What is needed of a comparison: `tidegate.compare.results.Comparison` has it."""

    @property
    def title(self) -> str: ...
    @property
    def spec(self) -> dict[str, Any]: ...
    @property
    def runs(self) -> list[dict[str, Any]]: ...
    @property
    def series(self) -> list[dict[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Cell:
    """One job under one workload. `runs` and `series` are by policy; runs that failed are only counted."""

    job: str
    workload: str
    runs: Mapping[str, tuple[Record, ...]]
    failed: Mapping[str, int]
    series: Mapping[str, Record]

    @property
    def target(self) -> float | None:
        """The SLO."""
        return next((slo for run in self._all() if (slo := pick(run, "slo.target")) is not None), None)

    @property
    def oracle(self) -> Estimate | None:
        """Its worker-seconds: one value for each seed, whichever policy's run tells it."""
        return Column("", "", "oracle.seconds", str, "").estimate(next(iter(self.runs.values()), ()))

    def estimates(self, column: Column) -> dict[str, Estimate]:
        """By policy; those without the figure are left out."""
        found = {policy: column.estimate(runs) for policy, runs in self.runs.items()}
        return {policy: estimate for policy, estimate in found.items() if estimate is not None}

    def _all(self) -> Iterable[Record]:
        return (run for runs in self.runs.values() for run in runs)


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    spec: Record
    policies: tuple[str, ...]
    cells: tuple[Cell, ...]
    done: tuple[Record, ...]
    failed: tuple[Record, ...]

    def look(self, policy: str) -> Look:
        """The same in every chart of the page."""
        return look(self.policies.index(policy))

    def whole(self, policy: str) -> bool:
        """It finished every run of every cell: only then are its means those of the others."""
        return all(cell.runs.get(policy) and not cell.failed.get(policy) for cell in self.cells)

    def overall(self, column: Column) -> dict[str, Estimate]:
        """Means over the cells that have the figure, by policy."""
        cells = [cell.estimates(column) for cell in self.cells]
        means = {policy: over_cells([one[policy] for one in cells if policy in one]) for policy in self.policies}
        return {policy: mean for policy, mean in means.items() if mean is not None}

    def columns(self, overall: bool = False) -> list[Column]:
        """Those that any run has a figure for."""
        asked = (column for column in COLUMNS if column.overall or not overall)
        return [column for column in asked if any(cell.estimates(column) for cell in self.cells)]


def look(index: int) -> Look:
    """
    >>> look(0).colour == look(7).colour, look(0).dash, look(7).dash
    (True, 'solid', 'dashed')
    """
    return Look(COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)], 1.75, steps=True)


def page(comparison: Compared) -> Page:
    """Policies and cells keep the order in which they are first met."""
    done = tuple(run for run in comparison.runs if run.get("status") == "done")
    failed = tuple(run for run in comparison.runs if run.get("status") != "done")
    places = unique((text(run.get("job")), text(run.get("workload"))) for run in comparison.runs)
    policies = unique(text(run.get("policy")) for run in comparison.runs)
    cells = tuple(_cell(comparison, policies, place) for place in places)
    return Page(comparison.title, comparison.spec, policies, cells, done, failed)


def _cell(comparison: Compared, policies: Sequence[str], place: tuple[str, str]) -> Cell:
    here = [run for run in comparison.runs if _place(run) == place]
    done: dict[str, tuple[Record, ...]] = dict.fromkeys(policies, ())
    failed = dict.fromkeys(policies, 0)
    for run in here:
        policy = text(run.get("policy"))
        if run.get("status") == "done":
            done[policy] += (run,)
        else:
            failed[policy] += 1
    kept = {policy: runs for policy, runs in done.items() if runs}
    series = {text(one.get("policy")): one for one in comparison.series if _place(one) == place and one.get("times")}
    return Cell(*place, kept, failed, {policy: series[policy] for policy in policies if policy in series})


def _place(record: Record) -> tuple[str, str]:
    return text(record.get("job")), text(record.get("workload"))


def unique(items: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(dict.fromkeys(items))
