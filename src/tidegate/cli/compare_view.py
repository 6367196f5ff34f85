"""A comparison in the terminal: the table and its legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from tidegate.cli.layout import Column as Place
from tidegate.cli.layout import Laid, Line, lay_out
from tidegate.compare.columns import TERMINAL, Column
from tidegate.compare.ranking import ALLOWED
from tidegate.compare.results import Row, summary
from tidegate.runs import RunResult
from tidegate.score.estimate import Estimate
from tidegate.units import UNKNOWN

#: columns that show a confidence interval: more do not fit into 80 characters; the files have all of them
WITH_INTERVAL = ("ratio", "p95")
#: columns for which a narrow terminal has no room, the first to go last; others go before them
DROPPED: Mapping[str, int] = {"seconds": 0, "violated": 0, "ratio": 1, "p95": 2, "rescales": 3, "workers": 4}
#: a run's figure of 0 in these columns means that it is not known: no record takes no time
NEVER_ZERO = ("p50", "p95", "p99", "max")


def rows(runs: Sequence[RunResult], allowed: float = ALLOWED, width: int = 80) -> Laid:
    """A line for each job, workload and policy. Bold marks the best value of a column, ★ the policy to choose.

    What does not fit goes in this order: confidence intervals, then columns.
    """
    rows = summary(runs, allowed)
    full = _laid(rows, width, intervals=True)
    return _laid(rows, width, intervals=False) if full.dropped else full


def _laid(rows: Sequence[Row], width: int, *, intervals: bool) -> Laid:
    titles = [column.terminal_title or column.title for column in TERMINAL]
    places = [Place(title, drop=DROPPED.get(column.key, 9)) for title, column in zip(titles, TERMINAL, strict=True)]
    lines: list[Line] = []
    cell: tuple[str, str] | None = None
    for row in rows:
        if cell != (row.job, row.workload):
            lines += [] if cell is None else [Text()]
            cell = (row.job, row.workload)
            lines.append(Text.assemble((row.job, "bold"), " under ", row.workload))
        lines.append([_policy(row), *(_cell(row, column, intervals) for column in TERMINAL)])
    return lay_out([Place("policy", right=False, elide=True), *places], lines, width)


def _policy(row: Row) -> Text:
    failures = f" ({row.failed} failed)" if row.failed else ""
    return Text.assemble(starred(row.policy, row.best), (failures, "red"))


def starred(policy: str, best: bool) -> Text:
    """A policy's name, with ★ before the one to choose; `legend` explains it."""
    return Text.assemble("★ " if best else "  ", (policy, "bold green" if best else ""))


def _cell(row: Row, column: Column, intervals: bool) -> Text:
    text = written(row.figures.get(column.key), column, intervals)
    return Text(text, "bold" if column.key in row.leads else "")


def written(estimate: Estimate | None, column: Column, intervals: bool = True) -> str:
    """
    >>> by_key = {column.key: column for column in TERMINAL}
    >>> written(Estimate(1.234, 0.036, 4), by_key["ratio"]), written(Estimate(0.051, 0.01, 4), by_key["violated"])
    ('1.23 ±0.10', '5.1%')
    >>> written(Estimate(0.0), by_key["p95"])
    '—'
    """
    if estimate is None or (column.key in NEVER_ZERO and not estimate.mean):
        return UNKNOWN
    write = column.terminal or column.write
    shown = intervals and estimate.half is not None and column.key in WITH_INTERVAL
    return f"{write(estimate.mean)} ±{write(estimate.half)}" if shown and estimate.half else write(estimate.mean)


def legend(allowed: float, ratios: Sequence[float | None] = ()) -> list[str]:
    """Explains ★, and a ratio below 1 where there is one."""
    star = [
        f"★ the fewest worker-seconds of those late for at most {100 * allowed:g} % of the records;",
        "  if there is none, the fewest late records",
    ]
    if not any(ratio is not None and ratio < 1 for ratio in ratios):
        return star
    return [
        *star,
        "÷ oracle below 1: fewer worker-seconds than the cheapest schedule that keeps",
        "  the SLO; compare the late records",
    ]


def ratios(runs: Sequence[RunResult]) -> list[float | None]:
    """Worker-seconds against the oracle's, of each policy on each job under each workload."""
    means = [row.figures.get("ratio") for row in summary(runs)]
    return [None if mean is None else mean.mean for mean in means]


def profiles(runs: Sequence[RunResult]) -> list[str]:
    """A line for each job and policy that needed a profile: what its profiling runs cost."""
    spent = {(run.job, run.policy): run.profiling.worker_seconds for run in runs if run.profiling}
    return [
        f"{policy} on {job}: {seconds / 3600:,.1f} worker-hours of profiling runs, not counted above"
        for (job, policy), seconds in spent.items()
    ]
