"""`tidegate record`, `calibrate` and `validate`: from stored real runs to a simulator that can be trusted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from tidegate.cli.console import AsJson, Output, StorePath, show
from tidegate.cli.stored import existing
from tidegate.core import InvalidInput
from tidegate.store import DEFAULT_PATH

if TYPE_CHECKING:
    from tidegate.sim.check import Verdict
    from tidegate.sim.recording import Recording

Runs = Annotated[list[str], typer.Argument(help="ids of stored runs (or last), or files that `tidegate record` wrote")]


def record(
    run: Annotated[str, typer.Argument(help="a run's id, or last")],
    to: Annotated[Path, typer.Argument(help="the file to write")],
    output: AsJson = Output.text,
    store: StorePath = DEFAULT_PATH,
) -> None:
    """Write a stored run as a small file: its batches, executors and load, for `calibrate` and `validate`.

    [bold]tidegate record last day.json[/bold]
    """
    from tidegate.sim.recording import text  # noqa: PLC0415

    found = _recording(run, store)
    _write(to, text(found))
    told = f"{to}: {len(found.batches)} batches, {found.until:.0f} s"
    show(output, {"run": found.name, "file": str(to), "batches": len(found.batches)}, escape(told))


def calibrate(
    runs: Runs,
    to: Annotated[
        Path | None, typer.Option("--to", "-o", help="the model's file; if not given, JOB.model.json")
    ] = None,
    output: AsJson = Output.text,
    store: StorePath = DEFAULT_PATH,
) -> None:
    """Fit the simulator's model of a job to real runs of it.

    It takes runs of one job under the same conditions, with more than one number of executors and more than one load
    among them; half an hour in all is plenty.

    [bold]tidegate calibrate 20261118-101500 20261118-103000 --to q1.json[/bold]
    """
    from tidegate.sim.batch_model import text  # noqa: PLC0415
    from tidegate.sim.fit import fit  # noqa: PLC0415

    found = fit([_recording(run, store) for run in runs])
    path = to or Path(f"{found.model.job}.model.json")
    _write(path, text(found.model))
    values = {**asdict(found.model), "batches": found.batches, "error": found.error, "worst": found.worst}
    table = Table(title=f"model of {found.model.job}", title_justify="left", show_header=False)
    table.add_row("an empty batch", f"{found.model.fixed:.2f} s, and {found.model.overhead:.3f} s a wave of tasks")
    table.add_row("an executor", f"{1 / found.model.cost:,.0f} records/s")
    table.add_row("new executors", f"there after {found.model.startup:.1f} s, warm {found.model.cold:.1f} s later")
    told = f"median {found.error:.1%}, nine of ten within {found.worst:.1%}, of {found.batches} batches"
    table.add_row("error of batch time", told)
    table.add_row("file", escape(str(path)))
    show(output, {"file": str(path), **values}, table)


def validate(
    runs: Runs,
    model: Annotated[
        str, typer.Option(help="a file that `tidegate calibrate` wrote, or a job; if not given, the run's job")
    ] = "",
    output: AsJson = Output.text,
    store: StorePath = DEFAULT_PATH,
) -> None:
    """Play real runs again in the simulator, and say by how much it is wrong.

    Arrivals and executors are those of the run; batches, latency and backlog are the model's. Use runs that the model
    was not fitted to.

    [bold]tidegate validate last --model q1.json[/bold]
    """
    from tidegate.sim import batch_model  # noqa: PLC0415
    from tidegate.sim.check import check  # noqa: PLC0415

    found = [_recording(run, store) for run in runs]
    verdicts = [check(batch_model.model(model or one.job), one) for one in found]
    show(output, {"runs": [_plain(one) for one in verdicts], "median": _medians(verdicts)}, _table(verdicts))


def _plain(verdict: Verdict) -> dict[str, Any]:
    figures = {name: {**asdict(one), "error": one.error} for name, one in verdict.figures.items()}
    return {"run": verdict.run, **figures, "each batch": verdict.batches, "throughput windows": verdict.windows}


def _medians(verdicts: list[Verdict]) -> dict[str, float]:
    """Of the absolute errors."""
    from tidegate.sim.check import FIGURES  # noqa: PLC0415

    found = {name: median(abs(one.figures[name].error) for one in verdicts) for name in FIGURES}
    return {**found, "each batch": median(one.batches for one in verdicts)}


def _table(verdicts: list[Verdict]) -> Table:
    from tidegate.sim.check import FIGURES  # noqa: PLC0415

    title = "by how much the simulator is off; p50 to p99 of latency (--output json: the figures themselves)"
    heads = [name.removeprefix("latency ") for name in FIGURES]
    table = Table("run", *heads, "each batch", title=title, title_justify="left", box=SIMPLE)
    table.columns[0].no_wrap = True
    for one in verdicts:
        table.add_row(escape(one.run), *(f"{c.error:+.0%}" for c in one.figures.values()), f"{one.batches:.0%}")
    table.add_row("median |error|", *(f"{error:.1%}" for error in _medians(verdicts).values()), style="bold")
    return table


def _recording(run: str, store: Path) -> Recording:
    """From a file, or from the store."""
    from tidegate.sim import recording  # noqa: PLC0415

    if run.endswith(".json"):
        try:
            return recording.parse(Path(run).read_text(encoding="utf-8"), run)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{run}: cannot be read: {error}") from None
    with existing(store) as kept:
        found = kept.run(run)
        return recording.record(found.id, found.spec, [tick for _, tick in kept.ticks(found.id)])


def _write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}") from None
