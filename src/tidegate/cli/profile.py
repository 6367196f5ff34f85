"""`tidegate profile`: profiling runs in a simulator, for policies that need a profile of the job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.console import AsJson, Output, show
from tidegate.core import InvalidInput, amounts

#: of what the most executors can do, the rate that the query's batches are made for where none is given
FILLED = 0.8


def profile(
    to: Annotated[Path, typer.Option("--to", "-o", help="the file to write")] = Path("profile.csv"),
    job: Annotated[str, typer.Option(help="like q1; of the papers with --engine operators")] = "q1",
    model: Annotated[str, typer.Option(help="a file of `tidegate calibrate`; if not given, the job's own")] = "",
    engine: Annotated[str, typer.Option(help="sim (micro-batches) or operators (as in the papers)")] = "sim",
    min_executors: Annotated[int, typer.Option(help="never fewer")] = 1,
    max_executors: Annotated[int, typer.Option(help="never more")] = 8,
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "10s",
    rate: Annotated[str | None, typer.Option(help="highest rate that will be offered, like 250k")] = None,
    output: AsJson = Output.text,
) -> None:
    """Profile a job in the simulator for phoebe and twres: up to eight numbers of executors, rising rates, overload.

    [bold]tidegate profile --model q1.json --max-executors 4 --to profile.csv[/bold]
    [bold]tidegate run --policy phoebe -p profile=profile.csv[/bold]

    It tells what the same runs would cost on a cluster. Simulated runs of these policies make their profile themselves.
    """
    from dataclasses import replace  # noqa: PLC0415

    from tidegate.experiment.settings import Experiment  # noqa: PLC0415
    from tidegate.experiment.simulation import capacity  # noqa: PLC0415
    from tidegate.profiling.profile import profile as make  # noqa: PLC0415

    if engine == "spark":
        raise InvalidInput("profile: the runs are simulated: need engine sim or operators, got spark")
    numbers: dict[str, Any] = {"minimum": min_executors, "maximum": max_executors, "trigger": amounts.duration(trigger)}
    asked = Experiment(job=job, model=model, engine=engine, policy="static", **numbers)
    highest = FILLED * capacity(asked, max_executors) if rate is None else amounts.rate(rate)
    found = make(replace(asked, peak=highest))
    try:
        to.write_text(found.text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {to}: {error.strerror}") from None
    values = {"file": str(to), "points": len(found.points), "seconds": found.seconds}
    spent = f"{found.seconds / 3600:.1f} h one after another, {found.worker_seconds / 3600:.1f} worker-hours"
    told = f"{to}: {len(found.points)} points; on a cluster they would take {spent}"
    show(output, {**values, "worker_seconds": found.worker_seconds}, escape(told))
