"""`tidegate record`, `calibrate` and `validate`: fit the simulator to stored real runs, and check it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.console import AsJson, Output, StorePath, err, out, print_json, print_table, show
from tidegate.cli.progress import progress
from tidegate.cli.stored import existing
from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE

if TYPE_CHECKING:
    from tidegate.cli.layout import Laid
    from tidegate.sim.batch_model import BatchModel
    from tidegate.sim.check import Verdict
    from tidegate.sim.recording import Recording

Runs = Annotated[list[str], typer.Argument(help="ids of stored runs, `last`, or files from `tidegate record`")]


def record(
    run: Annotated[str, typer.Argument(help="id of a stored run, or `last`")],
    to: Annotated[Path, typer.Argument(help="JSON file to write")],
    output: AsJson = Output.text,
    store: StorePath = STORE,
) -> None:
    """Export a stored run to a small file: its batches, executors and load, for `calibrate` and `validate`.

    [bold]tidegate record last day.json[/bold]
    """
    from tidegate.sim.recording import text  # noqa: PLC0415

    recording = _recording(run, store)
    _write(to, text(recording))
    summary = f"{to}: {len(recording.batches)} batches, {recording.until:.0f} s"
    show(output, {"run": recording.name, "file": str(to), "batches": len(recording.batches)}, escape(summary))


def calibrate(
    runs: Runs,
    to: Annotated[Path | None, typer.Option("--to", "-o", help="file for the model; default: JOB.model.json")] = None,
    output: AsJson = Output.text,
    store: StorePath = STORE,
) -> None:
    """Fit the simulator's model of a job to real runs of that job.

    [bold]tidegate calibrate 20261118-101500 20261118-103000 --to q1.json[/bold]

    Give it runs of one job under the same conditions, with different numbers of
    executors and different loads. Half an hour in total is plenty.
    """
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from tidegate.sim.batch_model import text  # noqa: PLC0415
    from tidegate.sim.fit import fit  # noqa: PLC0415

    fitted = fit(_recordings(runs, store))
    model = fitted.model
    path = to or Path(f"{model.job}.model.json")
    _write(path, text(model))
    values = {**asdict(model), "batches": fitted.batches, "error": fitted.error, "worst": fitted.worst}
    table = Table(title=Text(f"model of {model.job}", "italic"), title_justify="left", show_header=False)
    table.add_row("empty batch", f"{model.fixed:.2f} s, plus {model.overhead:.3f} s per wave of tasks")
    table.add_row("one executor", f"{1 / model.cost:,.0f} records/s")
    table.add_row("new executors", f"ready after {model.startup:.1f} s, warm {model.cold:.1f} s later")
    error = f"median {fitted.error:.1%}, 90 % within {fitted.worst:.1%}, of {fitted.batches} batches"
    table.add_row("error of batch time", error)
    table.add_row("file", escape(str(path)))
    show(output, {"file": str(path), **values}, table)


def validate(
    runs: Runs,
    model: Annotated[
        str, typer.Option(help="file from `tidegate calibrate`, or a job; default: the job of each run")
    ] = "",
    output: AsJson = Output.text,
    store: StorePath = STORE,
) -> None:
    """Replay real runs in the simulator, and show its errors.

    [bold]tidegate validate last --model q1.json[/bold]

    Arrivals and executors come from the run; batches, latency and backlog from
    the model. Use runs that the model was not fitted to, of the same job: a model
    of another job is used with a warning.
    """
    from tidegate.sim import batch_model  # noqa: PLC0415
    from tidegate.sim.check import check  # noqa: PLC0415

    recordings = _recordings(runs, store)
    models = [batch_model.model(model or recording.job) for recording in recordings]
    for used, recording in zip(models, recordings, strict=True):
        _warn_about_job(used, recording)
    with progress(len(recordings), "replaying") as watch:
        verdicts: list[Verdict] = []
        for used, recording in zip(models, recordings, strict=True):
            watch(len(verdicts))
            verdicts.append(check(used, recording))
    if output is Output.json:
        jobs = [used.job for used in models]
        plain = [{**_plain(verdict), "model": job} for verdict, job in zip(verdicts, jobs, strict=True)]
        print_json({"runs": plain, "median": _medians(verdicts)})
        return
    about = "relative errors of throughput, batch time, latency (p50 to p99) and backlog"
    out.print(about, soft_wrap=True, highlight=False)
    print_table(_table(verdicts, out.width))


def _warn_about_job(model: BatchModel, recording: Recording) -> None:
    if model.job != recording.job:
        sentence = f"{recording.name} is a run of {recording.job}, the model is one of {model.job}: errors say little"
        err.print(f"[yellow]warning:[/yellow] {escape(sentence)}", soft_wrap=True, highlight=False)


def _plain(verdict: Verdict) -> dict[str, Any]:
    figures = {name: {**asdict(figure), "error": figure.error} for name, figure in verdict.figures.items()}
    return {"run": verdict.run, **figures, "each batch": verdict.batches, "throughput windows": verdict.windows}


def _medians(verdicts: list[Verdict]) -> dict[str, float]:
    """Median absolute errors over the runs."""
    from tidegate.sim.check import FIGURES  # noqa: PLC0415

    errors = {name: median(abs(verdict.figures[name].error) for verdict in verdicts) for name in FIGURES}
    return {**errors, "each batch": median(verdict.batches for verdict in verdicts)}


def _table(verdicts: list[Verdict], width: int) -> Laid:
    """A narrow terminal has no room for p99, p50 and so on, but always for the runs' ids."""
    from rich.text import Text  # noqa: PLC0415

    from tidegate.cli.layout import Column, Line, lay_out  # noqa: PLC0415
    from tidegate.sim.check import FIGURES  # noqa: PLC0415

    drops = {"latency p50": 3, "latency p99": 4, "backlog max": 1}
    titles = {"throughput": "through", "batch time": "batch", "backlog max": "backlog"}
    figures = [Column(titles.get(name, name.removeprefix("latency ")), drop=drops.get(name, 0)) for name in FIGURES]
    lines: list[Line] = []
    for verdict in verdicts:
        errors = (f"{figure.error:+.0%}" for figure in verdict.figures.values())
        lines.append([verdict.run, *errors, f"{verdict.batches:.0%}"])
    medians = (Text(f"{error:.1%}", "bold") for error in _medians(verdicts).values())
    lines.append([Text("median |error|", "bold"), *medians])
    columns = (Column("run", right=False), *figures, Column("each batch", drop=2))
    return lay_out(columns, lines, width)


def _recordings(runs: list[str], store: Path) -> list[Recording]:
    """Read runs; those of a day have many ticks, so the progress is shown."""
    recordings: list[Recording] = []
    with progress(len(runs), "reading") as watch:
        for run in runs:
            watch(len(recordings))
            recordings.append(_recording(run, store))
    return recordings


def _recording(run: str, store: Path) -> Recording:
    """A run from a file of `tidegate record`, or from the store."""
    from tidegate.sim import recording  # noqa: PLC0415

    if run.endswith(".json"):
        try:
            return recording.parse(Path(run).read_text(encoding="utf-8"), run)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{run}: cannot be read: {error}") from None
    with existing(store) as database:
        stored = database.run(run)
        return recording.record(stored.id, stored.spec, [tick for _, tick in database.ticks(stored.id)])


def _write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}") from None
