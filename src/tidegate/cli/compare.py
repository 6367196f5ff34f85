"""`tidegate compare`: policies side by side, in simulated or real runs."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.application import App, EventTime, Keys, SampleFile, Times, query_of
from tidegate.cli.bounds import MANY, between
from tidegate.cli.console import (
    AsJson,
    FailIfPolicy,
    Output,
    StorePath,
    complain,
    cores,
    err,
    fail,
    interrupt_once,
    out,
    print_json,
    print_table,
)
from tidegate.cli.thresholds import Place, problems, thresholds
from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE

if TYPE_CHECKING:
    from tidegate.compare.cells import Cell
    from tidegate.compare.execution import Outcome, Work
    from tidegate.compare.folder import Folder
    from tidegate.compare.grid import Grid
    from tidegate.runs import RunResult

#: the comparison without a file, unless flags change it
DEFAULTS = {"policies": ["static", "hpa-cpu", "ds2", "daedalus"], "jobs": ["q1"], "workloads": ["tide"], "seeds": 3}
ROOT = STORE.parent / "compare"


def compare(
    file: Annotated[Path | None, typer.Argument(help="experiment file (TOML); flags override it")] = None,
    policies: Annotated[str | None, typer.Option(help="like ds2,daedalus; see `tidegate policies`")] = None,
    jobs: Annotated[str | None, typer.Option(help="like q1,q5; with --engine operators, the papers' jobs")] = None,
    app: App = None,
    sample: SampleFile = None,
    event_time: EventTime = None,
    time_column: Times = None,
    key: Keys = None,
    workloads: Annotated[str | None, typer.Option(help="like cosine,trace:FILE; see `tidegate workloads`")] = None,
    seeds: Annotated[str | None, typer.Option(help="how many, or which: 5, or 0,7,12")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-p", help="policy option: POLICY:NAME=VALUE, like hpa-cpu:target=0.8; repeatable"),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="sim (micro-batches, the default), operators (as in the papers) or spark (real)")
    ] = None,
    duration: Annotated[str | None, typer.Option(help="length of a run; default: 2h, or that of the trace")] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="peak rate in records/s, like 250k; default: 80 % of the capacity of --max-executors"),
    ] = None,
    min_executors: Annotated[int | None, typer.Option(help="fewest executors; default: 1")] = None,
    max_executors: Annotated[int | None, typer.Option(help="most executors; default: 8, on Spark 4")] = None,
    slo: Annotated[str | None, typer.Option(help="latency objective; default: 30s, on Spark 10s")] = None,
    trigger: Annotated[str | None, typer.Option(help="time between micro-batches; default: 10s, on Spark 4s")] = None,
    period: Annotated[str | None, typer.Option(help="time between simulated observations; default: 15s")] = None,
    price: Annotated[float | None, typer.Option(help="price of an executor per hour")] = None,
    allowed: Annotated[str, typer.Option(help="share of records that may miss the objective")] = "1%",
    quota: Annotated[float | None, typer.Option(help="on Spark: CPU limit of a local executor, in cores")] = None,
    model: Annotated[str | None, typer.Option(help="simulator model, a file from `tidegate calibrate`")] = None,
    processes: Annotated[
        int, typer.Option(help="simulate in this many processes; 0: one per core", callback=between(0, MANY))
    ] = 0,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for results; default: one in .tidegate/compare")
    ] = None,
    safe: Annotated[
        bool | None,
        typer.Option(
            "--safe/--as-published",
            help="with the guards of a live query: no scale-in while records are late; default: as published",
            show_default=False,
        ),
    ] = None,
    spread: Annotated[
        bool | None,
        typer.Option(
            "--spread/--no-spread",
            help="on Spark: spread state over the executors, or leave it where Spark has it; default: spread",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="delete earlier results in that folder")] = False,
    fail_if: FailIfPolicy = None,
    output: AsJson = Output.text,
    store: StorePath = STORE,
) -> None:
    """Compare policies on the same jobs under the same loads, with an oracle as the reference.

    [bold]tidegate compare --policies ds2,daedalus --jobs q1,q5 --seeds 5[/bold]
    [bold]tidegate compare experiment.toml --duration 6h --allowed 5%[/bold]
    [bold]tidegate compare --fail-if "late>1%" --fail-if "hpa-cpu:rescales>40"[/bold]

    Runs are simulated on all cores; --engine spark runs them on real Spark.
    Each result is saved as soon as its run ends: after an interrupt, the same
    command continues.

    Figures are means over the seeds with 95 % confidence intervals. ★ marks the
    policy to choose: the fewest worker-seconds of those whose late records are
    within --allowed; if there is none, the fewest late records. The oracle is the
    cheapest schedule that keeps the SLO; a policy that is late can cost less.
    """
    from tidegate.cli.values import folder_name, share  # noqa: PLC0415
    from tidegate.compare.cells import cells as expand  # noqa: PLC0415
    from tidegate.compare.fingerprint import specification  # noqa: PLC0415
    from tidegate.compare.folder import Folder, digest  # noqa: PLC0415
    from tidegate.runs import encode  # noqa: PLC0415

    began, allowed_share = time.monotonic(), share("compare: allowed", allowed)
    own, records = query_of("compare", "", app, sample, event_time, time_column, key)
    run_fields = {
        "sample": records or None,
        "engine": engine,
        "duration": duration,
        "peak": rate,
        "minimum": min_executors,
        "maximum": max_executors,
        "slo": slo,
        "safe": safe,
        "spread": spread,
        "trigger": trigger,
        "period": period,
        "price": price,
        "quota": quota,
        "model": model,
    }
    lists = {"policies": policies, "jobs": own or jobs, "workloads": workloads}
    place = "compare" if file is None else str(file)
    grid = _grid(file, _flags(lists, seeds, run_fields), option or [], place)
    cells, spec = expand(grid, place=place), specification(grid)
    conditions = thresholds(fail_if, [policy.label for policy in grid.policies])
    path = folder or ROOT / folder_name(grid.title, digest(spec))
    interrupt_once()
    with Folder.open(path, spec, fresh=fresh) as results:
        outcome = _run(cells, results, processes or cores(), store)
        _write(grid, allowed_share, outcome, path)
    if output is Output.json:
        print_json({"runs": [encode(run) for run in outcome.runs]})
    else:
        _show(outcome, allowed_share, f"{time.monotonic() - began:.1f} s; report: {path / 'report.html'}")
    _end(outcome, len(cells), path)
    fail(problems(conditions, _places(outcome, allowed_share)))


def _places(outcome: Outcome, allowed: float) -> list[Place]:
    """The runs of each policy on each job under each workload, for thresholds."""
    from tidegate.compare.results import summary  # noqa: PLC0415

    groups: dict[tuple[str, str, str], list[RunResult]] = {}
    for run in outcome.runs:
        groups.setdefault((run.job, run.workload or "", run.policy), []).append(run)
    return [
        Place(
            f"{row.policy} on {row.job} under {row.workload}",
            row.policy,
            row.best,
            groups[row.job, row.workload, row.policy],
        )
        for row in summary(outcome.runs, allowed)
    ]


def _flags(lists: Mapping[str, str | None], seeds: str | None, run: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that were given, in the form of an experiment file.

    >>> _flags({"jobs": "q1,q5", "workloads": None}, "3", {"slo": "5s", "price": None})
    {'jobs': ['q1', 'q5'], 'seeds': 3, 'run': {'slo': '5s'}}
    """
    from tidegate.cli.values import names  # noqa: PLC0415

    flags: dict[str, Any] = {key: names(text) for key, text in lists.items() if text is not None}
    if seeds is not None:
        flags["seeds"] = _seeds(seeds)
    return {**flags, "run": {key: value for key, value in run.items() if value is not None}}


def _grid(file: Path | None, flags: Mapping[str, Any], options: list[str], place: str) -> Grid:
    from tidegate.cli.values import with_options  # noqa: PLC0415
    from tidegate.compare.grid import grid, merged, read  # noqa: PLC0415

    values = merged(DEFAULTS if file is None else read(file), flags)
    if options and isinstance(values.get("policies"), list):
        values["policies"] = with_options(values["policies"], options, "compare", "comparison")
    return grid(values, place)


def _show(outcome: Outcome, allowed: float, summary: str) -> None:
    from tidegate.cli.compare_view import legend, profiles, ratios, rows  # noqa: PLC0415
    from tidegate.compare.differences import state_places  # noqa: PLC0415

    print_table(rows(outcome.runs, allowed, out.width))
    places = state_places(outcome.runs)
    for line in (*legend(allowed, ratios(outcome.runs)), *([f"state: {places}"] if places else [])):
        out.print(line, style="dim", soft_wrap=True, highlight=False)
    for line in (*profiles(outcome.runs), f"{len(outcome.runs)} runs, {summary}"):
        out.print(escape(line), soft_wrap=True, highlight=False)


def _run(cells: list[Cell], folder: Folder, processes: int, store: Path) -> Outcome:
    from tidegate.cli.progress import progress  # noqa: PLC0415
    from tidegate.compare.execution import compare as start  # noqa: PLC0415

    with progress(len(cells)) as watch:
        return start(cells, folder, _work(cells, processes, store), watch)


def _work(cells: list[Cell], processes: int, store: Path) -> Work:
    from tidegate.compare import cell_runner  # noqa: PLC0415
    from tidegate.compare.execution import on_simulators, on_spark  # noqa: PLC0415

    engines = {cell.experiment.engine for cell in cells}
    if "spark" not in engines:
        return on_simulators(cell_runner.simulators(), processes)
    if len(engines) > 1:
        raise InvalidInput(f"compare: need runs all on Spark or all simulated, got {', '.join(sorted(engines))}")
    return on_spark(store, lambda message: err.print(escape(message), soft_wrap=True, highlight=False))


def _write(grid: Grid, allowed: float, outcome: Outcome, path: Path) -> None:
    from tidegate.compare.results import Comparison, Settings  # noqa: PLC0415
    from tidegate.compare.tables import write_tables  # noqa: PLC0415
    from tidegate.report.compare import write  # noqa: PLC0415

    write_tables(path, outcome.runs)
    title = grid.title or "Comparison"
    write(Comparison(title, outcome.runs, outcome.curves, Settings.of(grid), allowed), path / "report.html")


def _end(outcome: Outcome, total: int, path: Path) -> None:
    """Exit with the code for failed or interrupted runs."""
    failed = outcome.failed
    if failed:
        complain(f"{len(failed)} of {total} runs failed, the first, {failed[0].run}: {failed[0].error}")
    if outcome.interrupted:
        saved = f"{len(outcome.runs) - len(failed)} of {total} runs are kept in {path}"
        complain(f"interrupted: {saved}; the same command goes on from there")
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


def _seeds(text: str) -> int | list[int]:
    """
    >>> _seeds("5"), _seeds("0,7")
    (5, [0, 7])
    """
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*,?\s*", text):
        raise InvalidInput(f"compare: seeds {text!r} are not like 5, or 0,7,12")
    return [int(part) for part in text.split(",") if part.strip()] if "," in text else int(text)
