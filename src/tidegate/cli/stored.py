"""`tidegate runs` and `tidegate report`: what the store has of earlier runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tidegate.cli.console import AsJson, Output, StorePath, out, print_json, show
from tidegate.core import InvalidInput
from tidegate.store import DEFAULT_PATH, Store


def report(
    run: Annotated[str, typer.Argument(help="a run's id, or last")] = "last",
    to: Annotated[Path | None, typer.Option("--to", "-o", help="the HTML file; if not given, beside the store")] = None,
    output: AsJson = Output.text,
    store: StorePath = DEFAULT_PATH,
) -> None:
    """Write a run's report: one HTML file that opens anywhere, offline."""
    with existing(store) as kept:
        found = kept.run(run)
        path = write_report(kept, found.id, store, to)
    show(output, {"run": found.id, "report": str(path)}, escape(f"report: {path}"))


def runs(output: AsJson = Output.text, store: StorePath = DEFAULT_PATH) -> None:
    """List the stored runs."""
    with existing(store) as kept:
        found = kept.runs()
    if output is Output.json:
        print_json([{**asdict(run)} for run in found])
        return
    table = Table("run", "status", "job", "workload", "policy", "p95", "executors", "verified")
    for run in found:
        result = run.result or {}
        p95, mean = (result.get("latency") or {}).get("p95"), (result.get("workers") or {}).get("mean")
        names = [str(run.spec.get(key, "-")) for key in ("job", "workload", "policy")]
        figures = ["-" if p95 is None else f"{p95:.1f} s", "-" if mean is None else f"{mean:.1f}"]
        table.add_row(run.id, run.status, *names, *figures, str(result.get("verified", "-")))
    out.print(table)


def write_report(store: Store, run: str, beside: Path, to: Path | None) -> Path:
    from tidegate.report import write  # noqa: PLC0415

    path = to or beside.parent / "reports" / f"{run}.html"
    try:
        return write(store.run(run), (tick for _, tick in store.ticks(run)), path)
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {path}: {error.strerror}") from None


def existing(path: Path) -> Any:
    if not path.exists():
        raise InvalidInput(f"there are no runs in {path} yet: `tidegate demo` makes one")
    return Store.open(path)
