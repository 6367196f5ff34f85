"""`tidegate profile`: simulated profiling runs, for policies that need a profile of the job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.console import AsJson, Output, show
from tidegate.core import InvalidInput, amounts

#: default of the peak rate that the query's batches are sized for, as a share of the capacity of the most executors
FILLED = 0.8


def profile(
    to: Annotated[Path, typer.Option("--to", "-o", help="CSV file to write")] = Path("profile.csv"),
    job: Annotated[str, typer.Option(help="like q1; with --engine operators, a job of the papers")] = "q1",
    model: Annotated[str, typer.Option(help="file from `tidegate calibrate`; default: the job's model")] = "",
    engine: Annotated[str, typer.Option(help="simulator: sim (micro-batches) or operators (as in the papers)")] = "sim",
    min_executors: Annotated[int, typer.Option(help="fewest executors")] = 1,
    max_executors: Annotated[int, typer.Option(help="most executors")] = 8,
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "10s",
    rate: Annotated[str | None, typer.Option(help="peak rate of later runs in records/s, like 250k")] = None,
    output: AsJson = Output.text,
) -> None:
    """Profile a job in the simulator, for the policies phoebe and twres.

    [bold]tidegate profile --model q1.json --max-executors 4 --to profile.csv[/bold]
    [bold]tidegate run --policy phoebe -p profile=profile.csv[/bold]

    Runs the job with up to eight numbers of executors, each at rising rates up
    to overload, and shows what these runs would cost on a cluster. Simulated
    runs of these policies create their own profile.
    """
    from dataclasses import replace  # noqa: PLC0415

    from tidegate.experiment.settings import Experiment  # noqa: PLC0415
    from tidegate.experiment.simulation import capacity  # noqa: PLC0415
    from tidegate.profiling.profile import profile as make  # noqa: PLC0415

    if engine == "spark":
        raise InvalidInput("profile: the runs are simulated: need engine sim or operators, got spark")
    numbers: dict[str, Any] = {"minimum": min_executors, "maximum": max_executors, "trigger": amounts.duration(trigger)}
    experiment = Experiment(job=job, model=model, engine=engine, policy="static", **numbers)
    peak = FILLED * capacity(experiment, max_executors) if rate is None else amounts.rate(rate)
    profiled = make(replace(experiment, peak=peak))
    try:
        to.write_text(profiled.text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {to}: {error.strerror}") from None
    values = {"file": str(to), "points": len(profiled.points), "seconds": profiled.seconds}
    cost = f"{profiled.seconds / 3600:.1f} h one after another, {profiled.worker_seconds / 3600:.1f} worker-hours"
    summary = f"{to}: {len(profiled.points)} points; on a cluster they would take {cost}"
    show(output, {**values, "worker_seconds": profiled.worker_seconds}, escape(summary))
