"""How a comparison looks in a terminal: its progress, and its table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tidegate.cli.console import err

if TYPE_CHECKING:
    from tidegate.compare.results import Row
    from tidegate.score.interval import Interval

#: seconds between lines where no terminal shows a bar
QUIET = 10.0
#: figures by their place in a run: title, and how a value is written
COLUMNS: Mapping[str, tuple[str, str]] = {
    "workers.mean": ("workers", "{:.2f}"),
    "workers.seconds": ("worker-s", "{:,.0f}"),
    "oracle.ratio": ("÷ oracle", "{:.2f}"),
    "latency.p95": ("p95 s", "{:.1f}"),
    "slo.violated": ("late", "{:.1%}"),
    "rescales.count": ("rescales", "{:.1f}"),
}
#: whose confidence interval has room in a table of 80 columns; the files have the others
SURE = ("oracle.ratio", "latency.p95")


@contextmanager
def progress(total: int, doing: str = "comparing") -> Iterator[Callable[[int], None]]:
    """Tell it how many runs are done."""
    if not err.is_terminal:
        yield _lines(total, doing)
        return
    shown = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # without a thread of its own: processes are forked while it is there
    with Progress(*shown, console=err, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=total)

        def show(done: int) -> None:
            bar.update(task, completed=done)
            bar.refresh()

        yield show


def _lines(total: int, doing: str) -> Callable[[int], None]:
    last = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= QUIET:
            last = time.monotonic()
            err.print(f"{doing}: {done} of {total} runs are done", highlight=False)

    return tell


def rows(runs: Sequence[Mapping[str, Any]]) -> Table:
    """One line for each job, workload and policy; bold where none is better, ★ at the policy to choose."""
    from tidegate.compare.results import summary  # noqa: PLC0415

    table = Table(
        "policy", *(title for title, _ in COLUMNS.values()), box=None, padding=(0, 2, 0, 0), header_style="dim"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    place: tuple[str, str] | None = None
    for row in summary(runs):
        if place != (row.job, row.workload):
            if place is not None:
                table.add_row()
            place = (row.job, row.workload)
            table.add_row(f"[bold]{escape(row.job)}[/bold] under {escape(row.workload)}")
        table.add_row(_policy(row), *(_cell(row, name) for name in COLUMNS))
    return table


def _policy(row: Row) -> Text:
    told = f" ({row.failed} failed)" if row.failed else ""
    return Text.assemble("★ " if row.best else "  ", (row.policy, "bold green" if row.best else ""), (told, "red"))


def _cell(row: Row, name: str) -> Text:
    return Text(written(row.figures[name], name), "bold" if name in row.leads else "")


def written(value: Interval, name: str) -> str:
    """
    >>> from tidegate.score.interval import Interval
    >>> written(Interval(1.234, 0.1, 5), "oracle.ratio"), written(Interval(0.051, 0.01, 5), "slo.violated")
    ('1.23 ±0.10', '5.1%')
    """
    if value.mean is None:
        return "-"
    form = COLUMNS[name][1]
    half = f" ±{form.format(value.half)}" if value.half is not None and name in SURE else ""
    return f"{form.format(value.mean)}{half}"


def profiles(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What policies that need a profile spent before, a line for each of them and each job."""
    spent = {(run["job"], run["policy"]): run["profiling"]["worker_seconds"] for run in runs if run.get("profiling")}
    return [
        f"{policy} on {job}: {seconds / 3600:,.1f} worker-hours of profiling runs before, not counted above"
        for (job, policy), seconds in spent.items()
    ]
