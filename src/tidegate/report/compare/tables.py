"""The tables of a comparison: a row for each policy, with the best figure of each column marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

from tidegate.compare.columns import Column, best
from tidegate.report.compare.page import CellView, ComparisonPage
from tidegate.report.looks import Look
from tidegate.score.estimate import Estimate
from tidegate.units import UNKNOWN, count, share


@dataclass(frozen=True, slots=True)
class PolicyButton:
    """A policy's name with its line. A click hides the policy, or shows it again."""

    key: str
    name: str
    look: Look


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """A figure as text. `half` is half its confidence interval; `never` counts changes that were not followed."""

    text: str
    best: bool = False
    half: str = ""
    never: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    policy: PolicyButton
    scores: tuple[ScoreCell, ...]
    #: what is missing, such as runs that failed
    missing: str = ""
    #: why this is the policy to choose; empty for the others
    recommended: str = ""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    columns: tuple[Column, ...]
    rows: tuple[ScoreRow, ...]

    @property
    def stars(self) -> bool:
        return any(row.recommended for row in self.rows)

    @property
    def bests(self) -> bool:
        return any(score.best for row in self.rows for score in row.scores)

    @property
    def intervals(self) -> bool:
        return any(score.half for row in self.rows for score in row.scores)

    @property
    def nevers(self) -> bool:
        return any(score.never for row in self.rows for score in row.scores)

    @property
    def unknowns(self) -> bool:
        return any(score.text == UNKNOWN for row in self.rows for score in row.scores)

    @property
    def oracle(self) -> bool:
        return any(column.key == "ratio" for column in self.columns)

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Titles over neighbouring columns, each with the number of columns."""
        return [(name, len(list(columns))) for name, columns in groupby(self.columns, key=lambda column: column.group)]


def buttons(page: ComparisonPage) -> dict[str, PolicyButton]:
    return {policy: PolicyButton(page.key(policy), policy, page.look(policy)) for policy in page.policies}


def overall(page: ComparisonPage) -> ScoreTable:
    """Means over all cells. A policy that did not finish every run is not marked as the best."""
    complete = frozenset(policy for policy in page.policies if page.complete(policy))
    figures = [_figures(column, page.overall(column), complete) for column in page.columns(overall=True)]
    rows = (
        ScoreRow(button, _scores(figures, policy), _unfinished(page, policy))
        for policy, button in buttons(page).items()
    )
    return ScoreTable(tuple(figure.column for figure in figures), tuple(rows))


def cell_table(cell: CellView, page: ComparisonPage) -> ScoreTable:
    """Means over the seeds of a cell. A policy with failed runs is not marked as the best of a column."""
    complete = frozenset(policy for policy in page.policies if not cell.failed[policy])
    figures = [
        _figures(column, estimates, complete, _seen(cell) if column.key == "seconds" else {})
        for column in page.columns()
        if (estimates := cell.estimates(column))
    ]
    rows = (
        ScoreRow(button, _scores(figures, policy), _failed(cell, policy), _recommendation(cell, page, policy))
        for policy, button in buttons(page).items()
        if policy in cell.runs or cell.failed[policy]
    )
    return ScoreTable(tuple(figure.column for figure in figures), tuple(rows))


@dataclass(frozen=True, slots=True)
class _ColumnFigures:
    """A column's figures by policy."""

    column: Column
    estimates: Mapping[str, Estimate]
    best: frozenset[str]
    notes: Mapping[str, str]


def _figures(
    column: Column,
    estimates: Mapping[str, Estimate],
    complete: frozenset[str],
    notes: Mapping[str, str] = MappingProxyType({}),
) -> _ColumnFigures:
    contest = {policy: estimate for policy, estimate in estimates.items() if policy in complete}
    return _ColumnFigures(column, estimates, best(column, contest), notes)


def _scores(figures: Sequence[_ColumnFigures], policy: str) -> tuple[ScoreCell, ...]:
    return tuple(_score(figure, policy) for figure in figures)


def _score(figure: _ColumnFigures, policy: str) -> ScoreCell:
    estimate, write = figure.estimates.get(policy), figure.column.write
    if estimate is None:
        return ScoreCell(UNKNOWN)
    return ScoreCell(
        write(estimate.mean),
        best=policy in figure.best,
        half="" if estimate.half is None else write(estimate.half),
        never=0 if estimate.mean == float("inf") else estimate.missed,
        note=figure.notes.get(policy, ""),
    )


def rule(allowed: float) -> str:
    """By which the policy to choose is found, as long as one keeps to it."""
    return f"fewest worker-seconds of those late for at most {share(allowed)}"


def _recommendation(cell: CellView, page: ComparisonPage, policy: str) -> str:
    if cell.recommended is None or cell.recommended.policy != policy:
        return ""
    if cell.recommended.within:
        return f"to choose: {rule(page.allowed)}"
    return f"to choose: fewest late records, as none is late for at most {share(page.allowed)}"


def _seen(cell: CellView) -> dict[str, str]:
    """By policy: worker-seconds are those paid for, so the ones seen are noted beside them."""
    seen = {policy: cell.seen_seconds(policy) for policy in cell.runs}
    return {policy: f"{count(estimate.mean)} seen" for policy, estimate in seen.items() if estimate is not None}


def _unfinished(page: ComparisonPage, policy: str) -> str:
    cells = sum(policy in cell.runs for cell in page.cells)
    failed = sum(cell.failed[policy] for cell in page.cells)
    missing = f"{cells} of {len(page.cells)} cells" if cells < len(page.cells) else ""
    return ", ".join(part for part in (missing, f"{failed} failed" if failed else "") if part)


def _failed(cell: CellView, policy: str) -> str:
    failed = cell.failed[policy]
    return f"{failed} of {failed + len(cell.runs.get(policy, ()))} failed" if failed else ""
