"""A comparison in the terminal: progress, the table, and its legend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tidegate.cli.console import err
from tidegate.compare.columns import TERMINAL, Column
from tidegate.compare.ranking import ALLOWED
from tidegate.compare.results import Row, summary
from tidegate.runs import RunResult
from tidegate.score.estimate import Estimate

#: seconds between lines of progress where there is no terminal for a bar
LINE_INTERVAL = 10.0
#: columns that show a confidence interval: more do not fit into 80 characters; the files have all of them
WITH_INTERVAL = ("ratio", "p95")


@contextmanager
def progress(total: int, doing: str = "comparing") -> Iterator[Callable[[int], None]]:
    """Show progress: call what this yields with the number of finished runs."""
    if not err.is_terminal:
        yield _lines(total, doing)
        return
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # without a thread of its own, because processes are forked while the bar is shown
    with Progress(*columns, console=err, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=total)

        def show(done: int) -> None:
            bar.update(task, completed=done)
            bar.refresh()

        yield show


def _lines(total: int, doing: str) -> Callable[[int], None]:
    last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_INTERVAL:
            last = time.monotonic()
            err.print(f"{doing}: {done} of {total} runs are done", highlight=False)

    return show


def rows(runs: Sequence[RunResult], allowed: float = ALLOWED) -> Table:
    """A line for each job, workload and policy. Bold marks the best value of a column, ★ the policy to choose."""
    titles = (column.terminal_title or column.title for column in TERMINAL)
    table = Table("policy", *titles, box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in table.columns[1:]:
        column.justify = "right"
    place: tuple[str, str] | None = None
    for row in summary(runs, allowed):
        if place != (row.job, row.workload):
            if place is not None:
                table.add_row()
            place = (row.job, row.workload)
            table.add_row(f"[bold]{escape(row.job)}[/bold] under {escape(row.workload)}")
        table.add_row(_policy(row), *(_cell(row, column) for column in TERMINAL))
    return table


def _policy(row: Row) -> Text:
    failures = f" ({row.failed} failed)" if row.failed else ""
    return Text.assemble(starred(row.policy, row.best), (failures, "red"))


def starred(policy: str, best: bool) -> Text:
    """A policy's name, with ★ before the one to choose; `legend` explains it."""
    return Text.assemble("★ " if best else "  ", (policy, "bold green" if best else ""))


def _cell(row: Row, column: Column) -> Text:
    return Text(written(row.figures.get(column.key), column), "bold" if column.key in row.leads else "")


def written(estimate: Estimate | None, column: Column) -> str:
    """
    >>> by_key = {column.key: column for column in TERMINAL}
    >>> written(Estimate(1.234, 0.036, 4), by_key["ratio"]), written(Estimate(0.051, 0.01, 4), by_key["violated"])
    ('1.23 ±0.10', '5.1%')
    """
    if estimate is None:
        return "-"
    write = column.terminal or column.write
    half = f" ±{write(estimate.half)}" if estimate.half is not None and column.key in WITH_INTERVAL else ""
    return f"{write(estimate.mean)}{half}"


def legend(allowed: float) -> str:
    """Explains ★."""
    return (
        f"★ the fewest worker-seconds of those late for at most {100 * allowed:g} % of the records;\n"
        "  if there is none, the fewest late records"
    )


def profiles(runs: Sequence[RunResult]) -> list[str]:
    """A line for each job and policy that needed a profile: what its profiling runs cost."""
    spent = {(run.job, run.policy): run.profiling.worker_seconds for run in runs if run.profiling}
    return [
        f"{policy} on {job}: {seconds / 3600:,.1f} worker-hours of profiling runs, not counted above"
        for (job, policy), seconds in spent.items()
    ]
