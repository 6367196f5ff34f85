"""`tidegate trace`: turns logs of events into a workload."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.console import AsJson, Output, err, interrupt_once, out, show
from tidegate.cli.progress import Remaining
from tidegate.core import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Group

    from tidegate.traces import Request, Trace


def trace(
    logs: Annotated[list[str], typer.Argument(help="files, folders or glob patterns; CSV, JSON lines or Parquet")],
    time: Annotated[str, typer.Option(help="column with the time of an event; a.b is a nested field")],
    key: Annotated[str | None, typer.Option(help="column that the query groups by, to measure its skew")] = None,
    to: Annotated[Path, typer.Option("--trace", "-o", help="file for the trace; an HTML page goes beside it")] = Path(
        "trace.parquet"
    ),
    format: Annotated[str | None, typer.Option(help="csv, json or parquet; default: from the file names")] = None,
    unit: Annotated[str | None, typer.Option(help="unit of numeric times: s, ms, us, ns; default: detected")] = None,
    separator: Annotated[
        str | None, typer.Option(help="separator of CSV columns; default: comma, or tab in .tsv files")
    ] = None,
    header: Annotated[bool, typer.Option(help="CSV files have a header; otherwise columns are _c0, _c1, …")] = True,
    start: Annotated[str | None, typer.Option("--from", help="skip earlier events, like 2024-05-01T12:00")] = None,
    end: Annotated[str | None, typer.Option("--to", help="skip events at or after this time")] = None,
    earliest: Annotated[str, typer.Option(help="earlier times are errors")] = "1990-01-01",
    latest: Annotated[str | None, typer.Option(help="later times are errors; default: a day from now")] = None,
    max_bad: Annotated[float | None, typer.Option(help="fail if a larger share of the rows is bad")] = None,
    cores: Annotated[int | None, typer.Option(help="cores of this machine to use; default: all")] = None,
    master: Annotated[
        str | None, typer.Option(help="Spark master: spark://…, yarn, k8s://…; default: this machine")
    ] = None,
    output: AsJson = Output.text,
) -> None:
    """Turn logs of events into a workload: records per second, counted by Spark.

    [bold]tidegate trace logs/*.csv.gz --time created_at -o monday.parquet[/bold]
    [bold]tidegate run --workload trace:monday.parquet[/bold]
    """
    from tidegate.cluster.session import workspace  # noqa: PLC0415, imports Spark
    from tidegate.traces import Request, Span  # noqa: PLC0415
    from tidegate.traces.job import check_request  # noqa: PLC0415
    from tidegate.traces.session import Machine, batch_session, interruptible  # noqa: PLC0415

    request = Request(
        logs=tuple(logs),
        time=time,
        key=key,
        output=to,
        format=format,
        unit=unit,
        separator=separator,
        header=header,
        span=Span(_moment(earliest), moment(latest), moment(start), moment(end)),
        max_bad=max_bad,
    )
    machine = Machine(master, cores)
    check_request(request)  # before Spark starts
    interrupt_once()
    with workspace() as folder, batch_session(machine, folder) as spark:
        trace = interruptible(spark, lambda: _counted(spark, request))
    page = _page(trace)
    show(output, document(trace, page), summary(trace, page))
    _warn(trace)


def moment(text: str | None) -> datetime | None:
    """A time as users type it; UTC unless it has a zone.

    >>> moment("2024-05-01"), moment("2024-05-01T12:00+02:00").astimezone(UTC).hour
    (datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc), 10)
    """
    return None if text is None else _moment(text)


def _moment(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"time {text!r} is not like 2024-05-01 or 2024-05-01T12:00:00+02:00") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _counted(spark: SparkSession, request: Request) -> Trace:
    """Count, and show progress: a line that changes in a terminal, a line for each step elsewhere."""
    from tidegate.traces.job import build_trace  # noqa: PLC0415
    from tidegate.traces.progress import watch_tasks  # noqa: PLC0415

    if not err.is_terminal:
        return build_trace(spark, request, lambda step: err.print(escape(step), highlight=False, soft_wrap=True))
    tasks = Tasks()
    with err.status(tasks.text()) as status:

        def show_step(step: str) -> None:
            tasks.begin(step)
            status.update(tasks.text())

        def show_tasks(done: int, total: int) -> None:
            tasks.reach(done, total, monotonic())
            status.update(tasks.text())

        with watch_tasks(spark.sparkContext, show_tasks):
            return build_trace(spark, request, show_step)


class Tasks:
    """The progress of a step in tasks of Spark, with the time that is left of the running stages.

    >>> tasks = Tasks()
    >>> tasks.begin("counting")
    >>> tasks.reach(0, 40, now=100.0)
    >>> tasks.reach(10, 40, now=120.0)
    >>> tasks.text()
    'counting: 10 of 40 tasks, about 1:00 left'
    """

    def __init__(self) -> None:
        self._step, self._tasks = "starting", ""
        self._remaining: Remaining | None = None

    def begin(self, step: str) -> None:
        self._step, self._tasks, self._remaining = step, "", None

    def reach(self, done: int, total: int, now: float) -> None:
        if not total:
            self._tasks, self._remaining = "", None
            return
        if self._remaining is None or self._remaining.total != total:
            self._remaining = Remaining(total)
        self._tasks = f": {done} of {total} tasks, {self._remaining.text(done, now)}"

    def text(self) -> str:
        return escape(f"{self._step}{self._tasks}")


def _page(trace: Trace) -> Path:
    """Write the HTML page beside the trace, and only move it there when it is complete."""
    from tidegate.report.trace import render  # noqa: PLC0415

    path = trace.path.with_suffix(".html")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(render(trace), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidInput(f"the trace is in {trace.path}, but its page cannot be written: {error}") from None
    return path


def _warn(trace: Trace) -> None:
    from tidegate.traces.result import ALARM  # noqa: PLC0415

    if trace.bad_share > ALARM:
        sentence = f"{trace.bad_share:.1%} of the rows are bad and not in the trace"
        err.print(f"[bold red]warning:[/bold red] {escape(sentence)}", highlight=False, soft_wrap=True)
    if trace.left_out:
        names = ", ".join(trace.left_out[:3]) + (" …" if len(trace.left_out) > 3 else "")
        sentence = f"{len(trace.left_out)} files were skipped, because they are empty or of another format: {names}"
        err.print(f"[yellow]note:[/yellow] {escape(sentence)}", highlight=False, soft_wrap=True)


def document(trace: Trace, page: Path) -> dict[str, Any]:
    """All figures but the curve, for JSON."""
    size, skew = trace.size, trace.skew
    rates = {name: getattr(size, name) for name in ("mean", "p50", "p95", "p99", "max", "peak_to_mean")}
    keys = None
    if skew is not None:
        shares = {"top1": skew.hottest_share, "top10": skew.top_share, "useful_tasks": skew.useful_tasks}
        keys = {"column": skew.column, "distinct": skew.keys, **shares, "top": [asdict(hot) for hot in skew.top]}
    return {
        "trace": str(trace.path),
        "page": str(page),
        "files": trace.files,
        "left_out": list(trace.left_out),
        "rows": size.rows,
        "seconds": size.seconds,
        "empty_seconds": size.empty,
        "first": size.first.isoformat(),
        "last": size.last.isoformat(),
        "rate": rates,
        "record_bytes": size.record,
        "times": list(trace.notations),
        "bad": {"rows": trace.bad, "share": trace.bad_share},
        "problems": [
            {"what": problem.what, "rows": problem.rows, "examples": [asdict(example) for example in problem.examples]}
            for problem in trace.problems
        ],
        "keys": keys,
    }


def summary(trace: Trace, page: Path) -> Group:
    """The curve of the highest rates, and the figures."""
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from tidegate.cli.drawing import plot, span  # noqa: PLC0415
    from tidegate.units import count  # noqa: PLC0415

    size, width = trace.size, min(100, max(24, out.width - 12))
    curve = peaks(trace.envelope.high, width)
    files = "file" if trace.files == 1 else "files"
    table = Table.grid(padding=(0, 2))
    table.add_row("records", f"{size.rows:,} in {span(size.seconds)}, of {trace.files:,} {files}")
    table.add_row("from", f"{size.first:%Y-%m-%d %H:%M:%S} to {size.last:%Y-%m-%d %H:%M:%S} UTC")
    quantiles = ", ".join(f"{name} {count(getattr(size, name))}" for name in ("p50", "p95", "p99", "max"))
    table.add_row("rate", f"{count(size.mean)}/s on average, {quantiles}, peak to mean {size.peak_to_mean:.3g}")
    table.add_row(
        "empty", f"{size.empty:,} of {size.seconds:,} seconds have no record ({size.empty / size.seconds:.1%})"
    )
    table.add_row("size", "-" if size.record is None else f"{size.record:,.0f} bytes a record")
    table.add_row("times", escape(", ".join(trace.notations)))
    for label, text in (*_keys(trace), *_problems(trace), ("trace", str(trace.path)), ("page", str(page))):
        table.add_row(label, Text(text))
    drawn = Text("\n".join(plot(curve, max(curve), size.seconds, rows=6)), "cyan", no_wrap=True, overflow="crop")
    return Group(drawn, table)


def peaks(values: tuple[int, ...], columns: int) -> list[float]:
    """The highest value of each column; fewer values than columns are drawn wider.

    >>> peaks((1, 9, 2, 3), 2), peaks((1, 9), 4)
    ([9.0, 3.0], [1.0, 1.0, 9.0, 9.0])
    """
    count = len(values)
    edges = [(k * count // columns, max((k + 1) * count // columns, k * count // columns + 1)) for k in range(columns)]
    return [float(max(values[first:last])) for first, last in edges]


def _keys(trace: Trace) -> list[tuple[str, str]]:
    if trace.skew is None:
        return []
    skew = trace.skew
    hottest = "rows without one" if skew.top[0].key is None else repr(skew.top[0].key[:40])
    shares = f"{skew.hottest_share:.2%}, ten {skew.top_share:.2%}"
    return [
        ("keys", f"{skew.keys:,} in {skew.column}; the hottest, {hottest}, has {shares}"),
        ("", f"grouped by it, more than {skew.useful_tasks:,} tasks at a time cannot help"),
    ]


def _problems(trace: Trace) -> list[tuple[str, str]]:
    if not trace.problems:
        return [("bad rows", "none")]
    lines = [("bad rows", f"{trace.bad:,} ({trace.bad_share:.2%})")]
    for problem in trace.problems:
        lines.append(("", f"{problem.rows:,} {problem.what}"))
        examples = (example for example in problem.examples if example.value is not None)
        lines += [("", f"  {example.value!r} in {example.file}") for example in examples]
    return lines
