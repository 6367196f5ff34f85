"""`tidegate runs` and `tidegate report`: earlier runs from the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.console import AsJson, Output, StorePath, out, print_json, print_table, show
from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

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
        database.close_abandoned()
        run_id = database.run(run).id
        path = write_report(database, run_id, store, to)
    show(output, {"run": run_id, "report": str(path)}, escape(f"report: {path}"))


def runs(
    output: AsJson = Output.text,
    json: Annotated[bool, typer.Option("--json", help="short for --output json")] = False,
    store: StorePath = STORE,
) -> None:
    """List the stored runs, those of attached queries included: when, how long, what scaled them, and how they ended.

    [bold]tidegate runs[/bold]
    [bold]tidegate runs --json | jq '.[] | select(.status == "running") | .id'[/bold]

    A narrow terminal shows fewer columns, and ids always in full. [bold]running[/bold] is
    a run that still writes to the store, [bold]abandoned[/bold] one whose driver went away.
    """
    from tidegate.cli.runs_view import runs_table  # noqa: PLC0415

    with existing(store) as database:
        database.close_abandoned()
        stored = database.runs()
    if json or output is Output.json:
        print_json([_plain(run) for run in stored])
        return
    print_table(runs_table(stored, out.width))


def _plain(run: Run) -> dict[str, Any]:
    from tidegate.runs import encode  # noqa: PLC0415

    return {
        "id": run.id,
        "created": run.created,
        "status": run.status,
        "spec": encode(run.spec),
        "result": None if run.result is None else encode(run.result),
        "health": run.health or None,
        "conditions": None if run.conditions is None else dict(run.conditions),
        "seen": run.seen,
        "ended": run.ended,
    }


def write_report(store: Store, run: str, beside: Path, to: Path | None) -> Path:
    """Write a run's report to `to`, or to a folder beside the store's file."""
    from tidegate.report import ticks_needed, write  # noqa: PLC0415

    path = to or beside.parent / "reports" / f"{run}.html"
    stored = store.run(run)
    try:
        return write(stored, (tick for _, tick in store.ticks(run, at_most=ticks_needed(stored))), path)
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {path}: {error.strerror}") from None


def existing(path: Path) -> AbstractContextManager[Store]:
    """Open a store that exists; a command that only reads must not create one."""
    from tidegate.store import Store  # noqa: PLC0415

    if not path.exists():
        raise InvalidInput(f"there are no runs in {path} yet: `tidegate demo` makes one")
    return Store.open(path)
