"""`tidegate runs` and `tidegate report`: earlier runs from the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.console import AsJson, Output, StorePath, out, print_json, show
from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tidegate.runs import RunResult
    from tidegate.store import Run, Store


def report(
    run: Annotated[str, typer.Argument(help="id of a stored run, or `last`")] = "last",
    to: Annotated[
        Path | None, typer.Option("--to", "-o", help="HTML file; default: in reports/ beside the store")
    ] = None,
    output: AsJson = Output.text,
    store: StorePath = STORE,
) -> None:
    """Write the report of a stored run: a single HTML file that also opens offline.

    [bold]tidegate report last --to run.html[/bold]
    """
    with existing(store) as database:
        run_id = database.run(run).id
        path = write_report(database, run_id, store, to)
    show(output, {"run": run_id, "report": str(path)}, escape(f"report: {path}"))


def runs(output: AsJson = Output.text, store: StorePath = STORE) -> None:
    """List the stored runs.

    [bold]tidegate runs --output json[/bold]
    """
    from rich.table import Table  # noqa: PLC0415

    with existing(store) as database:
        stored = database.runs()
    if output is Output.json:
        print_json([_plain(run) for run in stored])
        return
    table = Table("run", "status", "job", "workload", "policy", "p95", "executors", "verified")
    for run in stored:
        names = (run.spec.job or "-", run.spec.workload or "-", run.spec.policy)
        table.add_row(run.id, run.status, *map(escape, names), *_figures(run.result))
    out.print(table)


def _plain(run: Run) -> dict[str, Any]:
    from tidegate.runs import encode  # noqa: PLC0415

    spec, result = encode(run.spec), None if run.result is None else encode(run.result)
    return {"id": run.id, "created": run.created, "status": run.status, "spec": spec, "result": result}


def _figures(result: RunResult | None) -> tuple[str, str, str]:
    figures = None if result is None else result.figures
    latency, workers = (figures.latency, figures.workers) if figures else (None, None)
    verified = {True: "yes", False: "no", None: "-"}[None if result is None else result.verified]
    return (
        f"{latency.p95:.1f} s" if latency else "-",
        f"{workers.mean:.1f}" if workers else "-",
        verified,
    )


def write_report(store: Store, run: str, beside: Path, to: Path | None) -> Path:
    """Write a run's report to `to`, or to a folder beside the store's file."""
    from tidegate.report import write  # noqa: PLC0415

    path = to or beside.parent / "reports" / f"{run}.html"
    try:
        return write(store.run(run), (tick for _, tick in store.ticks(run)), path)
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {path}: {error.strerror}") from None


def existing(path: Path) -> AbstractContextManager[Store]:
    """Open a store that exists; a command that only reads must not create one."""
    from tidegate.store import Store  # noqa: PLC0415

    if not path.exists():
        raise InvalidInput(f"there are no runs in {path} yet: `tidegate demo` makes one")
    return Store.open(path)
