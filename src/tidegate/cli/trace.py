"""`tidegate trace`: a log of events becomes a workload."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tidegate.cli.console import AsJson, Output, err, interrupt_once, out, show
from tidegate.cli.drawing import plot, short, span
from tidegate.core import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.traces import Request, Trace


def trace(
    logs: Annotated[list[str], typer.Argument(help="files, folders or patterns; CSV, JSON lines or Parquet")],
    time: Annotated[str, typer.Option(help="column of the events' times; a.b is a field of a column")],
    key: Annotated[str | None, typer.Option(help="column that the query groups by: tells how uneven it is")] = None,
    to: Annotated[Path, typer.Option("--trace", "-o", help="the trace; its page is beside it")] = Path("trace.parquet"),
    format: Annotated[str | None, typer.Option(help="csv, json, parquet; if not given, by the names' ends")] = None,
    unit: Annotated[str | None, typer.Option(help="of numbers: s, ms, us, ns; if not given, by their size")] = None,
    separator: Annotated[str | None, typer.Option(help="of CSV columns; if not given, comma, and tab in .tsv")] = None,
    header: Annotated[bool, typer.Option(help="CSV has one; if not, columns are _c0, _c1, …")] = True,
    start: Annotated[str | None, typer.Option("--from", help="leave out what is before, like 2024-05-01T12:00")] = None,
    end: Annotated[str | None, typer.Option("--to", help="leave out this time and what is after")] = None,
    earliest: Annotated[str, typer.Option(help="what is before cannot be true")] = "1990-01-01",
    latest: Annotated[str | None, typer.Option(help="what is after cannot be true; if not given, in a day")] = None,
    max_bad: Annotated[float | None, typer.Option(help="share of bad rows above which there is no trace")] = None,
    cores: Annotated[int | None, typer.Option(help="of this machine; if not given, all")] = None,
    master: Annotated[str | None, typer.Option(help="spark://…, yarn, k8s://…; if not given, this machine")] = None,
    output: AsJson = Output.text,
) -> None:
    """Turn logs of events into a workload: records per second, counted by Spark.

    [bold]tidegate trace logs/*.csv.gz --time created_at --key user -o monday.parquet[/bold]
    [bold]tidegate run --workload trace:monday.parquet[/bold]
    """
    from tidegate.cluster.session import workspace  # noqa: PLC0415, Spark only for those who use it
    from tidegate.traces import Machine, Request, Span, batch_session, check, interruptible  # noqa: PLC0415

    request = Request(
        logs=tuple(logs),
        time=time,
        key=key,
        output=to,
        format=format,
        unit=unit,
        separator=separator,
        header=header,
        span=Span(_known(earliest), moment(latest), moment(start), moment(end)),
        max_bad=max_bad,
    )
    machine = Machine(master, cores)
    check(request)  # before anything is started
    interrupt_once()
    with workspace() as folder, batch_session(machine, folder) as spark:
        made = interruptible(spark, lambda: _counted(spark, request))
    page = _page(made)
    show(output, document(made, page), summary(made, page))
    _warn(made)


def moment(text: str | None) -> datetime | None:
    """A time as a user writes it; without a zone it is UTC.

    >>> moment("2024-05-01"), moment("2024-05-01T12:00+02:00").astimezone(UTC).hour
    (datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc), 10)
    """
    return None if text is None else _known(text)


def _known(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"time {text!r} is not like 2024-05-01 or 2024-05-01T12:00:00+02:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _counted(spark: SparkSession, request: Request) -> Trace:
    """With a sign of life for who waits: a line that changes in a terminal, a line for each step elsewhere."""
    from tidegate.traces import trace as count  # noqa: PLC0415
    from tidegate.traces.progress import watched  # noqa: PLC0415

    if not err.is_terminal:
        return count(spark, request, lambda step: err.print(step, highlight=False, soft_wrap=True))
    doing = "starting"
    with err.status(doing) as status:

        def say(step: str) -> None:
            nonlocal doing
            doing = step
            status.update(doing)

        def tasks(done: int, among: int) -> None:
            status.update(f"{doing}: {done} of {among} tasks" if among else doing)

        with watched(spark.sparkContext, tasks):
            return count(spark, request, say)


def _page(made: Trace) -> Path:
    """Beside the trace, put in place when it is whole."""
    from tidegate.report.trace import render  # noqa: PLC0415

    path = made.path.with_suffix(".html")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(render(made), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidInput(f"the trace is in {made.path}, but its page cannot be written: {error}") from None
    return path


def _warn(made: Trace) -> None:
    from tidegate.traces.result import ALARM  # noqa: PLC0415

    if made.bad_share > ALARM:
        sentence = f"{made.bad_share:.1%} of the rows are bad and not in the trace"
        err.print(f"[bold red]warning:[/bold red] {sentence}", highlight=False, soft_wrap=True)
    if made.left_out:
        names = ", ".join(made.left_out[:3]) + (" …" if len(made.left_out) > 3 else "")
        sentence = f"{len(made.left_out)} files were not read, being empty or of another kind: {names}"
        err.print(f"[yellow]note:[/yellow] {escape(sentence)}", highlight=False, soft_wrap=True)


def document(made: Trace, page: Path) -> dict[str, Any]:
    """All but the curve, for programs."""
    size, skew = made.size, made.skew
    rates = {name: getattr(size, name) for name in ("mean", "p50", "p95", "p99", "max", "peak_to_mean")}
    keys = None
    if skew is not None:
        shares = {"top1": skew.hottest, "top10": skew.ten, "useful_tasks": skew.useful}
        keys = {"column": skew.column, "distinct": skew.keys, **shares, "top": [asdict(hot) for hot in skew.top]}
    return {
        "trace": str(made.path),
        "page": str(page),
        "files": made.files,
        "left_out": list(made.left_out),
        "rows": size.rows,
        "seconds": size.seconds,
        "empty_seconds": size.empty,
        "first": size.first.isoformat(),
        "last": size.last.isoformat(),
        "rate": rates,
        "record_bytes": size.record,
        "times": list(made.notations),
        "bad": {"rows": made.bad, "share": made.bad_share},
        "problems": [
            {"what": one.what, "rows": one.rows, "examples": [asdict(example) for example in one.examples]}
            for one in made.problems
        ],
        "keys": keys,
    }


def summary(made: Trace, page: Path) -> Group:
    """The curve of the highest rates and the figures, for people."""
    size, width = made.size, min(100, max(24, out.width - 12))
    curve = peaks(made.envelope.high, width)
    files = "file" if made.files == 1 else "files"
    table = Table.grid(padding=(0, 2))
    table.add_row("records", f"{size.rows:,} in {span(size.seconds)}, of {made.files:,} {files}")
    table.add_row("from", f"{size.first:%Y-%m-%d %H:%M:%S} to {size.last:%Y-%m-%d %H:%M:%S} UTC")
    quantiles = ", ".join(f"{name} {short(getattr(size, name))}" for name in ("p50", "p95", "p99", "max"))
    table.add_row("rate", f"{short(size.mean)}/s on average, {quantiles}, peak to mean {size.peak_to_mean:.3g}")
    table.add_row(
        "empty", f"{size.empty:,} of {size.seconds:,} seconds have no record ({size.empty / size.seconds:.1%})"
    )
    table.add_row("size", "-" if size.record is None else f"{size.record:,.0f} bytes a record")
    table.add_row("times", ", ".join(made.notations))
    for lead, told in (*_keys(made), *_problems(made), ("trace", str(made.path)), ("page", str(page))):
        table.add_row(lead, Text(told))
    drawn = Text("\n".join(plot(curve, max(curve), size.seconds, rows=6)), "cyan", no_wrap=True, overflow="crop")
    return Group(drawn, table)


def peaks(values: tuple[int, ...], columns: int) -> list[float]:
    """The highest of what falls into each column; fewer values than columns are drawn wider.

    >>> peaks((1, 9, 2, 3), 2), peaks((1, 9), 4)
    ([9.0, 3.0], [1.0, 1.0, 9.0, 9.0])
    """
    count = len(values)
    edges = [(k * count // columns, max((k + 1) * count // columns, k * count // columns + 1)) for k in range(columns)]
    return [float(max(values[first:last])) for first, last in edges]


def _keys(made: Trace) -> list[tuple[str, str]]:
    if made.skew is None:
        return []
    skew = made.skew
    hottest = "rows without one" if skew.top[0].key is None else repr(skew.top[0].key[:40])
    return [
        ("keys", f"{skew.keys:,} in {skew.column}; the hottest, {hottest}, has {skew.hottest:.2%}, ten {skew.ten:.2%}"),
        ("", f"grouped by it, more than {skew.useful:,} tasks at a time cannot help"),
    ]


def _problems(made: Trace) -> list[tuple[str, str]]:
    if not made.problems:
        return [("bad rows", "none")]
    lines = [("bad rows", f"{made.bad:,} ({made.bad_share:.2%})")]
    for one in made.problems:
        lines.append(("", f"{one.rows:,} {one.what}"))
        lines += [("", f"  {shown.value!r} in {shown.file}") for shown in one.examples if shown.value is not None]
    return lines
