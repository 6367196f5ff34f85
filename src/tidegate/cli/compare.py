"""`tidegate compare`: policies side by side, on simulated or real runs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.compare_view import profiles, progress, rows
from tidegate.cli.console import AsJson, Output, StorePath, complain, err, interrupt_once, out, print_json
from tidegate.core import InvalidInput, UnknownName
from tidegate.store import DEFAULT_PATH

if TYPE_CHECKING:
    from tidegate.compare.cells import Cell
    from tidegate.compare.execution import Outcome, Work
    from tidegate.compare.folder import Folder

#: compared where nothing is said
USUAL = {"policies": ["static", "hpa-cpu", "ds2", "daedalus"], "jobs": ["q1"], "workloads": ["tide"], "seeds": 3}
ROOT = DEFAULT_PATH.parent / "compare"


def compare(
    file: Annotated[Path | None, typer.Argument(help="an experiment as TOML; flags go before what it says")] = None,
    policies: Annotated[str | None, typer.Option(help="names of `tidegate policies`, like ds2,daedalus")] = None,
    jobs: Annotated[str | None, typer.Option(help="like q1,q5; of the papers with --engine operators")] = None,
    workloads: Annotated[str | None, typer.Option(help="names of `tidegate workloads`, or trace:FILE")] = None,
    seeds: Annotated[str | None, typer.Option(help="how many, or which: 5, or 0,7,12; 0 is as documented")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-p", help="of one of the policies: POLICY:NAME=VALUE")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="sim (micro-batches), operators (as in the papers) or spark (real)")
    ] = None,
    duration: Annotated[str | None, typer.Option(help="of a run; if not given, 2h, or a trace's own")] = None,
    rate: Annotated[
        str | None, typer.Option(help="highest offered rate, like 250k; if not given, 80 % of what the most can do")
    ] = None,
    min_executors: Annotated[int | None, typer.Option(help="never fewer; if not given, 1")] = None,
    max_executors: Annotated[int | None, typer.Option(help="never more; if not given, 8, on Spark 4")] = None,
    slo: Annotated[str | None, typer.Option(help="how long a record may take; if not given, 30s, on Spark 10s")] = None,
    trigger: Annotated[str | None, typer.Option(help="between micro-batches; if not given, 10s, on Spark 4s")] = None,
    period: Annotated[str | None, typer.Option(help="between observations of a simulator; if not given, 15s")] = None,
    price: Annotated[float | None, typer.Option(help="of an executor for an hour")] = None,
    quota: Annotated[
        float | None, typer.Option(help="on Spark: cores that an executor on this machine may really use")
    ] = None,
    model: Annotated[str | None, typer.Option(help="of the simulator, as `tidegate calibrate` writes it")] = None,
    processes: Annotated[int, typer.Option(help="0: one for each core", min=0)] = 0,
    folder: Annotated[Path | None, typer.Option("--out", help="where results are kept", show_default=False)] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="forget what an earlier call has kept there")] = False,
    output: AsJson = Output.text,
    store: StorePath = DEFAULT_PATH,
) -> None:
    """Compare policies on the same jobs under the same loads, with an oracle as the limit.

    [bold]tidegate compare --policies ds2,daedalus --jobs q1,q5 --workloads cosine,steps --seeds 5 --duration 6h[/bold]

    Runs are simulated, on all cores, unless told to use Spark.

    Each is kept when it is done: after an interrupt the same command goes on.

    Figures are means over the seeds, with 95 % confidence intervals. ★ marks the
    fewest worker-seconds of the policies whose p95 keeps the SLO.
    """
    from tidegate.compare.cells import cells  # noqa: PLC0415
    from tidegate.compare.fingerprint import specification  # noqa: PLC0415
    from tidegate.compare.folder import Folder, digest  # noqa: PLC0415
    from tidegate.compare.grid import grid, merged, read  # noqa: PLC0415

    began = time.monotonic()
    lists = {"policies": policies, "jobs": jobs, "workloads": workloads}
    shared = {
        "engine": engine,
        "duration": duration,
        "peak": rate,
        "minimum": min_executors,
        "maximum": max_executors,
        "slo": slo,
        "trigger": trigger,
        "period": period,
        "price": price,
        "quota": quota,
        "model": model,
    }
    flags = {
        **_given({key: None if text is None else _names(text) for key, text in lists.items()}),
        "run": _given(shared),
    }
    if seeds is not None:
        flags["seeds"] = _seeds(seeds)
    place = "compare" if file is None else str(file)
    made = grid(_with_options(merged(USUAL if file is None else read(file), flags), option or []), place)
    found, spec = cells(made, place=place), specification(made)
    path = folder or ROOT / f"{_slug(made.title)}{digest(spec)[:8]}"
    interrupt_once()
    with Folder.open(path, spec, fresh=fresh) as kept:
        outcome = _run(found, kept, processes or _cores(), store)
        _write(made.title or "Comparison", spec, outcome, path)
    if output is Output.json:
        print_json({"runs": outcome.runs})
    else:
        out.print(rows(outcome.runs), highlight=False)
        for line in profiles(outcome.runs):
            out.print(escape(line), soft_wrap=True, highlight=False)
        took = time.monotonic() - began
        out.print(
            escape(f"{len(outcome.runs)} runs, {took:.1f} s; report: {path / 'report.html'}"),
            soft_wrap=True,
            highlight=False,
        )
    _end(outcome, len(found), path)


def _run(cells: list[Cell], folder: Folder, processes: int, store: Path) -> Outcome:
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
    return on_spark(store, lambda told: err.print(escape(told), soft_wrap=True, highlight=False))


def _write(title: str, spec: dict[str, Any], outcome: Outcome, path: Path) -> None:
    from tidegate.compare.results import Comparison, write_tables  # noqa: PLC0415
    from tidegate.report.compare import write  # noqa: PLC0415

    write_tables(path, outcome.runs)
    write(Comparison(title, spec, outcome.runs, outcome.series), path / "report.html")


def _end(outcome: Outcome, wanted: int, path: Path) -> None:
    failed = [run for run in outcome.runs if run["status"] == "failed"]
    if failed:
        complain(f"{len(failed)} of {wanted} runs failed, the first, {failed[0]['run']}: {failed[0]['error']}")
    if outcome.interrupted:
        told = f"{len(outcome.runs) - len(failed)} of {wanted} runs are kept in {path}"
        complain(f"interrupted: {told}; the same command goes on from there")
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _names(text: str) -> list[str]:
    """
    >>> _names("ds2, daedalus,")
    ['ds2', 'daedalus']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def _seeds(text: str) -> int | list[int]:
    """
    >>> _seeds("5"), _seeds("0,7")
    (5, [0, 7])
    """
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*,?\s*", text):
        raise InvalidInput(f"compare: seeds {text!r} are not like 5, or 0,7,12")
    return [int(part) for part in text.split(",") if part.strip()] if "," in text else int(text)


def _with_options(values: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """Policies with the options of the command line; all of a name or label get them."""
    items = [dict(one) if isinstance(one, Mapping) else {"name": one} for one in values.get("policies") or []]
    for text in texts:
        policy, colon, rest = text.partition(":")
        name, equals, value = rest.partition("=")
        if not colon or not equals:
            raise InvalidInput(f"compare: option {text!r} is not POLICY:NAME=VALUE, like hpa-cpu:target=0.8")
        meant = [one for one in items if policy in (one.get("name"), one.get("label"))]
        if not meant:
            raise UnknownName("policy of this comparison", policy, [str(one.get("name")) for one in items])
        for one in meant:
            before = one.get("options", {})
            one["options"] = {**before, name.strip(): value.strip()} if isinstance(before, Mapping) else before
    return {**values, "policies": items} if texts else values


def _slug(title: str) -> str:
    """
    >>> _slug("ICDEW'23, Table I"), _slug("")
    ('icdew-23-table-i-', '')
    """
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f"{words}-" if words else ""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
