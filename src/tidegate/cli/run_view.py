"""The result of a run in the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tidegate.cli.figures_text import known
from tidegate.runs import KafkaCounts, RunResult
from tidegate.score.figures import Figures

#: keeps a number and its unit on one line
NO_BREAK = "\u00a0"
VERDICTS = {True: "yes: stream and batch agree", False: "NO: stream and batch differ", None: "not checked"}


def summary(result: RunResult, maximum: int, report: str) -> Group:
    """The figures of a run, and a sentence about what scaling saved."""
    table = Table(title=escape(f"run {result.run}: {result.status}"), title_justify="left", show_header=False)
    if result.figures is not None:
        _add_figures(table, result, result.figures)
    if result.error:
        table.add_row("error", escape(result.error))
    table.add_row("verified", VERDICTS[result.verified])
    table.add_row("report", escape(report))
    saved = savings(result.figures, maximum) if result.figures and result.mode == "active" else None
    return Group(table, Text(saved, "bold")) if saved else Group(table)


def _add_figures(table: Table, result: RunResult, figures: Figures) -> None:
    offered = "" if result.offered is None else f"{result.offered:,} offered, "
    table.add_row("records", f"{offered}{figures.processed:,} processed, {figures.lost:,} lost")
    if result.kafka:
        table.add_row("topic", _topic(result.kafka))
    if result.sink and result.sink.rows is not None:
        rows = f"{result.sink.rows:,} rows, {result.sink.duplicates:,} duplicates, {result.sink.losses:,} missing"
        table.add_row("sink", f"{escape(result.sink.topic)}: {rows}")
    if figures.latency and known(figures.latency):
        levels = (f"{level} {getattr(figures.latency, level):.1f} s" for level in ("p50", "p95", "p99", "max"))
        table.add_row("latency", ", ".join(level.replace(" ", NO_BREAK) for level in levels))
        table.add_row("SLO", f"{figures.slo.violated or 0:.1%} of records took longer than {figures.slo.target:g} s")
    else:
        table.add_row("latency", "not known: nothing tells when records arrived")
    if workers := figures.workers:
        mean = f"{workers.mean:.2f} on average, {workers.max} at most"
        seen = "" if workers.seen_seconds is None else f" paid, {workers.seen_seconds:.0f} seen"
        table.add_row("executors", f"{mean}, {workers.seconds:.0f} executor-seconds{seen}")
    rescales = figures.rescales
    table.add_row("rescales", f"{rescales.up} up, {rescales.down} down; {figures.rerun_tasks} tasks ran again")


def _topic(counts: KafkaCounts) -> str:
    read = f"{escape(counts.topic)}: {counts.read:,} rows read, {counts.malformed:,} of them malformed"
    if counts.produced is None:
        return read
    checked = f"{counts.duplicates:,} duplicates, {counts.losses:,} losses of {counts.produced:,} produced"
    return f"{read}; {checked}; producer at most {counts.behind or 0:.1f} s behind"


def savings(figures: Figures, maximum: int) -> str | None:
    """Savings against running the maximum number of executors all the time.

    >>> from tidegate.score.figures import Latency, Rescales, Slo, Throughput, Workers
    >>> figures = Figures(
    ...     100, 0, Latency(2.0, 2.0, 6.5, 8.0, 9.0), Slo(15.0, 0.004), Workers(1.8, 3, 324.0), Rescales(), None,
    ...     Throughput(None, None, None),
    ... )
    >>> savings(figures, 3)
    '40 % fewer executor-seconds than 3 executors all the time, p95 latency 6.5 s, 0.4 % of records above 15 s.'
    """
    workers, latency = figures.workers, figures.latency
    if workers is None or latency is None or not known(latency):
        return None
    change = workers.mean / maximum - 1
    saved = f"{abs(change):.0%}".replace("%", " %") + (" fewer" if change <= 0 else " more")
    late = f"{figures.slo.violated or 0:.1%}".replace("%", " %")
    return (
        f"{saved} executor-seconds than {maximum} executors all the time, p95 latency {latency.p95:.1f} s,"
        f" {late} of records above {figures.slo.target:g} s."
    )
