"""`tidegate backtest`: what policies would have done on a trace of one's own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli import backtest_view as told
from tidegate.cli.compare_view import progress
from tidegate.cli.console import AsJson, Output, complain, err, interrupt_once, out, print_json
from tidegate.core import InvalidInput, UnknownName
from tidegate.store import DEFAULT_PATH

if TYPE_CHECKING:
    from tidegate.backtest.held_out import Tuning
    from tidegate.backtest.recommendation import Row
    from tidegate.backtest.request import Backtest
    from tidegate.compare.cells import Cell
    from tidegate.compare.execution import Outcome
    from tidegate.experiment.settings import Experiment

ROOT = DEFAULT_PATH.parent / "backtest"
#: of the best policy, whichever it is
BEST = "best"


def backtest(
    trace: Annotated[str, typer.Argument(help="CSV or Parquet with time and rate, as `tidegate trace` writes it")],
    policies: Annotated[str, typer.Option(help="names of `tidegate policies`")] = "hpa-cpu,ds2,daedalus",
    model: Annotated[str, typer.Option(help="of the job: a file of `tidegate calibrate`, or a job's name")] = "q1",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-p", help="of one of the policies: POLICY:NAME=VALUE")
    ] = None,
    slo: Annotated[str, typer.Option(help="how long a record may take")] = "30s",
    allowed: Annotated[str, typer.Option(help="share of records that may take longer")] = "1%",
    min_executors: Annotated[int, typer.Option(help="never fewer")] = 1,
    max_executors: Annotated[int, typer.Option(help="never more")] = 8,
    initial: Annotated[int | None, typer.Option(help="at the start; if not given, enough for the first minute")] = None,
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "10s",
    price: Annotated[float | None, typer.Option(help="of an executor for an hour")] = None,
    seeds: Annotated[int, typer.Option(help="runs of each policy, with other draws of the simulator", min=1)] = 1,
    tune: Annotated[str | None, typer.Option(help="search settings of this policy, or of the best")] = None,
    trials: Annotated[int, typer.Option(help="settings that are tried", min=2)] = 60,
    processes: Annotated[int, typer.Option(help="0: one for each core", min=0)] = 0,
    folder: Annotated[Path | None, typer.Option("--out", help="where results are kept", show_default=False)] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="forget what an earlier call has kept there")] = False,
    output: AsJson = Output.text,
) -> None:
    """Try policies on last week's traffic before trusting them: what each would have cost, and how often records would
    have been late.

    [bold]tidegate trace logs/*.csv.gz --time created_at -o monday.parquet[/bold]
    [bold]tidegate backtest monday.parquet --policies hpa-cpu,ds2 --model q1.json --slo 30s --price 0.12[/bold]
    [bold]tidegate backtest monday.parquet --policies hpa-cpu,ds2 --model q1.json --tune best[/bold]

    Simulates the job (by a model that `tidegate calibrate` has fitted to real runs of it) under the trace, beside an
    oracle that knows the whole trace, and the fewest executors that are enough if they are always there. `--tune`
    searches settings on the first two thirds of the trace, and tells what they are worth on the last.
    """
    from tidegate.backtest.recommendation import chosen  # noqa: PLC0415
    from tidegate.backtest.request import Backtest, beyond, experiment  # noqa: PLC0415
    from tidegate.core.amounts import duration  # noqa: PLC0415

    run = {"minimum": min_executors, "maximum": max_executors, "initial": initial, "price": price}
    times = {"slo": duration(slo), "trigger": duration(trigger)}
    asked = Backtest(trace, model, _policies(policies, option or []), {**run, **times}, _share(allowed), seeds)
    base = experiment(asked)
    high = beyond(base)
    if high:
        (err if output is Output.json else out).print(told.peak(high, base), soft_wrap=True, highlight=False)
    runs = _Runs(asked, base, folder, processes or _cores())
    if tune is not None:
        runs.check(tune)
    interrupt_once()
    outcome, rows = runs.all(fresh)
    best = chosen(rows, asked.allowed)
    if output is Output.text:
        _show(asked, runs, outcome, rows)
    tuned = runs.tune(tune, trials, rows) if tune is not None and not outcome.interrupted else None
    if output is Output.json:
        print_json(
            {"beyond": asdict(high) if high else None} | _values(asked, runs, outcome, rows) | _tuning(tuned, best)
        )
    else:
        _say([] if tuned is None else ["", told.tuning_table(tuned), *told.tuning_verdict(tuned, best)])
        _say([escape(f"report: {runs.path / 'report.html'}")])
    _end(outcome)
    if tune is not None and (tuned is None or tuned.found.interrupted):
        complain(f"interrupted: settings are the best of {tuned.found.trials if tuned else 0} trials")
        raise typer.Exit(130)


def _say(lines: Iterable[Any]) -> None:
    for line in lines:
        out.print(line, soft_wrap=isinstance(line, str), highlight=False)


def _show(asked: Backtest, runs: _Runs, outcome: Outcome, rows: list[Row]) -> None:
    from tidegate.backtest.recommendation import chosen, limit  # noqa: PLC0415

    _say([told.heading(runs.base, asked.file, asked.allowed), told.table(rows, limit(outcome.runs, runs.base.price))])
    _say(told.remarks(rows))
    _say([told.recommendation(chosen(rows, asked.allowed), asked.allowed, runs.static)])


def _values(asked: Backtest, runs: _Runs, outcome: Outcome, rows: list[Row]) -> dict[str, Any]:
    from tidegate.backtest.recommendation import chosen, limit  # noqa: PLC0415

    oracle = limit(outcome.runs, runs.base.price)
    return {
        "trace": asked.workload,
        "model": asked.model,
        "slo": runs.base.slo,
        "allowed": asked.allowed,
        "policies": [asdict(row) for row in rows],
        "static": runs.static,
        "oracle": asdict(oracle) if oracle else None,
        "recommendation": told.advice(chosen(rows, asked.allowed), asked.allowed),
        "runs": outcome.runs,
        "report": str(runs.path / "report.html"),
    }


def _tuning(tuned: Tuning | None, best: Row | None) -> dict[str, Any]:
    return {"tuning": None if tuned is None else told.tuning_values(tuned, best)}


class _Runs:
    """The runs of a backtest in their folder."""

    def __init__(self, asked: Backtest, base: Experiment, folder: Path | None, processes: int) -> None:
        from tidegate.backtest.request import backtest_grid, label, least_static  # noqa: PLC0415
        from tidegate.compare.cells import cells  # noqa: PLC0415
        from tidegate.compare.fingerprint import specification  # noqa: PLC0415
        from tidegate.compare.folder import digest  # noqa: PLC0415

        self.asked, self.base, self.processes = asked, base, processes
        # policies are refused before anything is simulated
        cells(backtest_grid(asked, base, base.maximum), place="backtest")
        static = least_static(base, asked.allowed)
        self.static = label(static)
        self.grid = backtest_grid(asked, base, static)
        self.cells: list[Cell] = cells(self.grid, place="backtest")
        self.spec = specification(self.grid)
        self.path = folder or ROOT / f"{_slug(asked.file)}-{digest(self.spec)[:8]}"

    def all(self, fresh: bool) -> tuple[Outcome, list[Row]]:
        from tidegate.backtest.recommendation import rows  # noqa: PLC0415
        from tidegate.backtest.request import bench  # noqa: PLC0415
        from tidegate.compare.execution import compare, on_simulators  # noqa: PLC0415
        from tidegate.compare.folder import Folder  # noqa: PLC0415
        from tidegate.compare.results import Comparison, write_tables  # noqa: PLC0415
        from tidegate.report.compare import write  # noqa: PLC0415

        with Folder.open(self.path, self.spec, fresh=fresh) as kept:
            with progress(len(self.cells)) as watch:
                outcome = compare(self.cells, kept, on_simulators(bench(), self.processes), watch)
            write_tables(self.path, outcome.runs)
            write(Comparison(self.grid.title, self.spec, outcome.runs, outcome.series), self.path / "report.html")
        return outcome, rows(outcome.runs, self.static)

    def check(self, name: str) -> None:
        """Refuse what cannot be tuned before anything runs."""
        from tidegate.backtest.held_out import check  # noqa: PLC0415
        from tidegate.backtest.search_space import knobs  # noqa: PLC0415

        known = self._known()
        if name != BEST and name not in known:
            raise UnknownName("policy of this backtest (--tune)", name, [*known, BEST])
        if not any(knobs(e.policy, e.options) for policy, e in known.items() if name in (policy, BEST)):
            raise InvalidInput(f"backtest: --tune {name}: there are no settings to search for")
        check(self.base)

    def tune(self, name: str, trials: int, found: list[Row]) -> Tuning | None:
        """Of the best those that have settings."""
        from tidegate.backtest.held_out import tuning  # noqa: PLC0415
        from tidegate.backtest.recommendation import chosen  # noqa: PLC0415
        from tidegate.backtest.search_space import knobs  # noqa: PLC0415
        from tidegate.backtest.tune import Aim, Means  # noqa: PLC0415

        known = self._known()
        able = [row for row in found if row.policy in known and knobs(known[row.policy].policy, row.options)]
        best = chosen([row for row in able if name in (row.policy, BEST)], self.asked.allowed)
        if best is None:
            raise InvalidInput(f"backtest: --tune {name}: no run of it has ended well")
        with progress(trials, "tuning") as watch:
            means = Means(range(self.asked.seeds), self.processes, watch)
            return tuning(known[best.policy], self.path / "parts", Aim(self.asked.allowed, trials), means)

    def _known(self) -> dict[str, Experiment]:
        return {cell.policy: cell.experiment for cell in reversed(self.cells) if cell.policy != self.static}


def _end(outcome: Outcome) -> None:
    failed = [run for run in outcome.runs if run["status"] == "failed"]
    if failed:
        complain(f"{len(failed)} runs failed, the first, {failed[0]['run']}: {failed[0]['error']}")
    if outcome.interrupted:
        complain("interrupted: what was done is kept; the same command goes on from there")
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


def _policies(names: str, options: Iterable[str]) -> list[dict[str, Any]]:
    """As in the file of a comparison.

    >>> _policies("ds2, hpa-cpu", ["hpa-cpu:target=0.8"])
    [{'name': 'ds2', 'options': {}}, {'name': 'hpa-cpu', 'options': {'target': '0.8'}}]
    """
    found: dict[str, dict[str, Any]] = {
        name.strip(): {"name": name.strip(), "options": {}} for name in names.split(",") if name.strip()
    }
    if not found:
        raise InvalidInput(f"backtest: need a policy or more, got {names!r}")
    for text in options:
        policy, colon, rest = text.partition(":")
        name, equals, value = rest.partition("=")
        if not colon or not equals:
            raise InvalidInput(f"backtest: option {text!r} is not POLICY:NAME=VALUE, like hpa-cpu:target=0.8")
        if policy not in found:
            raise UnknownName("policy of this backtest", policy, found)
        found[policy]["options"][name.strip()] = value.strip()
    return list(found.values())


def _share(text: str) -> float:
    """
    >>> _share("1%"), _share("0.02"), _share("0")
    (0.01, 0.02, 0.0)
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    if re.fullmatch(r"\d+(\.\d+)?", number.strip()):
        value = float(number) / (100 if percent else 1)
        if value < 1:
            return value
    raise InvalidInput(f"backtest: allowed {text!r} is no share of records below 1, like 1% or 0.01")


def _slug(name: str) -> str:
    """
    >>> _slug("monday.csv?gaps=zero")
    'monday-csv-gaps-zero'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
