"""`tidegate backtest`: what policies would have cost on a recorded trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.bounds import MANY, between
from tidegate.cli.console import (
    AsJson,
    FailIfPolicy,
    Output,
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
from tidegate.core import InvalidInput, UnknownName
from tidegate.core.defaults import STORE

if TYPE_CHECKING:
    from tidegate.backtest.held_out import Tuning
    from tidegate.backtest.recommendation import Row
    from tidegate.backtest.request import Backtest
    from tidegate.compare.cells import Cell
    from tidegate.compare.execution import Outcome
    from tidegate.experiment.settings import Experiment
    from tidegate.runs import RunResult

ROOT = STORE.parent / "backtest"
#: tunes the policy that would be recommended
BEST = "best"


def backtest(
    trace: Annotated[str, typer.Argument(help="CSV or Parquet with time and rate, see `tidegate trace`")],
    policies: Annotated[str, typer.Option(help="see `tidegate policies`")] = "hpa-cpu,ds2,daedalus",
    model: Annotated[str, typer.Option(help="model of the job: a file from `tidegate calibrate`, or a job")] = "q1",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-p", help="policy option: POLICY:NAME=VALUE, like hpa-cpu:target=0.8; repeatable"),
    ] = None,
    slo: Annotated[str, typer.Option(help="latency objective")] = "30s",
    allowed: Annotated[str, typer.Option(help="share of records that may miss the objective")] = "1%",
    min_executors: Annotated[int, typer.Option(help="fewest executors")] = 1,
    max_executors: Annotated[int, typer.Option(help="most executors")] = 8,
    initial: Annotated[
        int | None, typer.Option(help="executors at the start; default: enough for the first minute")
    ] = None,
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "10s",
    price: Annotated[float | None, typer.Option(help="price of an executor per hour")] = None,
    seeds: Annotated[
        int, typer.Option(help="runs of each policy, each with its own random seed", callback=between(1, MANY))
    ] = 1,
    tune: Annotated[str | None, typer.Option(help="tune the settings of this policy, or of the best: `best`")] = None,
    trials: Annotated[int, typer.Option(help="number of settings to try", callback=between(2, MANY))] = 60,
    processes: Annotated[
        int, typer.Option(help="simulate in this many processes; 0: one per core", callback=between(0, MANY))
    ] = 0,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for results; default: one in .tidegate/backtest")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="delete earlier results in that folder")] = False,
    fail_if: FailIfPolicy = None,
    output: AsJson = Output.text,
) -> None:
    """Try policies on recorded traffic: what each would have cost, and how many records would have been late.

    [bold]tidegate trace logs/*.csv.gz --time created_at -o monday.parquet[/bold]
    [bold]tidegate backtest monday.parquet --model q1.json --price 0.12[/bold]
    [bold]tidegate backtest monday.parquet --policies ds2,hpa-cpu --tune best[/bold]
    [bold]tidegate backtest monday.parquet --fail-if "late>1%" --fail-if "cost>12"[/bold]

    Simulates the job under the trace, with a model that `tidegate calibrate`
    fitted to real runs. For reference, it also shows an oracle that knows the
    whole trace, and the fewest static executors that meet the objective.

    --tune searches for settings on the first two thirds of the trace and checks
    them on the last third. After an interrupt, finished runs are not repeated.
    """
    from tidegate.backtest.recommendation import chosen  # noqa: PLC0415
    from tidegate.backtest.request import Backtest, experiment, peak_overload  # noqa: PLC0415
    from tidegate.cli import backtest_view as view  # noqa: PLC0415
    from tidegate.cli.values import share  # noqa: PLC0415
    from tidegate.core.amounts import duration  # noqa: PLC0415

    run = {"minimum": min_executors, "maximum": max_executors, "initial": initial, "price": price}
    times = {"slo": duration(slo), "trigger": duration(trigger)}
    request = Backtest(
        trace, model, _policies(policies, option or []), {**run, **times}, share("backtest: allowed", allowed), seeds
    )
    base = experiment(request)
    excess = peak_overload(base)
    if excess:
        (err if output is Output.json else out).print(view.overload(excess, base), soft_wrap=True, highlight=False)
    runs = _Runs(request, base, folder, processes or cores())
    conditions = thresholds(fail_if, [item.label for item in runs.grid.policies])
    if tune is not None:
        runs.check_tunable(tune)
    interrupt_once()
    outcome, rows = runs.run(fresh)
    best = chosen(rows, request.allowed)
    if output is Output.text:
        _show(runs, outcome, rows, best)
    tuned = runs.tune(tune, trials, rows) if tune is not None and not outcome.interrupted else None
    if output is Output.json:
        tuning = None if tuned is None else view.tuning_values(tuned, best)
        values = _values(runs, outcome, rows, best)
        print_json({"beyond": asdict(excess) if excess else None, **values, "tuning": tuning})
    else:
        if tuned is not None:
            out.print()
            print_table(view.tuning_table(tuned, out.width))
            _print(view.tuning_verdict(tuned, best))
        _print([escape(f"report: {runs.path / 'report.html'}")])
    _end(outcome)
    if tune is not None and (tuned is None or tuned.result.interrupted):
        complain(f"interrupted: settings are the best of {tuned.result.trials if tuned else 0} trials")
        raise typer.Exit(130)
    fail(problems(conditions, _places(outcome, best)))


def _places(outcome: Outcome, best: Row | None) -> list[Place]:
    """The runs of each policy, for thresholds; the oracle is none."""
    groups: dict[str, list[RunResult]] = {}
    for run in outcome.runs:
        groups.setdefault(run.policy, []).append(run)
    return [Place(name, name, best is not None and name == best.policy, runs) for name, runs in groups.items()]


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        out.print(line, soft_wrap=True, highlight=False)


def _show(runs: _Runs, outcome: Outcome, rows: list[Row], best: Row | None) -> None:
    from tidegate.backtest.recommendation import limit  # noqa: PLC0415
    from tidegate.cli import backtest_view as view  # noqa: PLC0415
    from tidegate.cli.compare_view import legend  # noqa: PLC0415

    allowed, oracle = runs.request.allowed, limit(outcome.runs, runs.base.price)
    _print([view.heading(runs.base, runs.request.file, allowed)])
    print_table(view.table(rows, oracle, best, out.width))
    for line in legend(allowed, [row.oracle for row in rows]) if best is not None else ():
        out.print(line, style="dim", soft_wrap=True, highlight=False)
    _print(view.remarks(rows, _origin(runs.request.workload) if any(row.worst for row in rows) else None))
    _print([view.recommendation(best, allowed, runs.static)])


def _origin(workload: str) -> float | None:
    """The date at which a trace begins, in seconds since 1970; None if its times only count from its start."""
    from tidegate.cli.times import dated  # noqa: PLC0415
    from tidegate.workloads.trace import PREFIX  # noqa: PLC0415
    from tidegate.workloads.tracefile import read  # noqa: PLC0415

    times = read(workload.removeprefix(PREFIX).partition("?")[0]).times
    return times[0] if times and dated(times[0]) else None


def _values(runs: _Runs, outcome: Outcome, rows: list[Row], best: Row | None) -> dict[str, Any]:
    from tidegate.backtest.recommendation import limit  # noqa: PLC0415
    from tidegate.cli.backtest_view import advice  # noqa: PLC0415
    from tidegate.runs import encode  # noqa: PLC0415

    request, oracle = runs.request, limit(outcome.runs, runs.base.price)
    return {
        "trace": request.workload,
        "model": request.model,
        "slo": runs.base.slo,
        "allowed": request.allowed,
        "policies": [asdict(row) for row in rows],
        "static": runs.static,
        "oracle": asdict(oracle) if oracle else None,
        "recommendation": advice(best, request.allowed),
        "runs": [encode(run) for run in outcome.runs],
        "report": str(runs.path / "report.html"),
    }


class _Runs:
    """The runs of a back-test, and the folder of their results."""

    def __init__(self, request: Backtest, base: Experiment, folder: Path | None, processes: int) -> None:
        from tidegate.backtest.request import backtest_grid, label, least_static  # noqa: PLC0415
        from tidegate.cli.values import folder_name  # noqa: PLC0415
        from tidegate.compare.cells import cells  # noqa: PLC0415
        from tidegate.compare.fingerprint import specification  # noqa: PLC0415
        from tidegate.compare.folder import digest  # noqa: PLC0415

        self.request, self.base, self.processes = request, base, processes
        # invalid policies are refused here, before anything is simulated
        cells(backtest_grid(request, base, base.maximum), place="backtest")
        static = least_static(base, request.allowed)
        self.static = label(static)
        self.grid = backtest_grid(request, base, static)
        self.cells: list[Cell] = cells(self.grid, place="backtest")
        self.spec = specification(self.grid)
        self.path = folder or ROOT / folder_name(request.file, digest(self.spec))

    def run(self, fresh: bool) -> tuple[Outcome, list[Row]]:
        from tidegate.backtest.recommendation import rows  # noqa: PLC0415
        from tidegate.backtest.request import bench  # noqa: PLC0415
        from tidegate.cli.progress import progress  # noqa: PLC0415
        from tidegate.compare.execution import compare, on_simulators  # noqa: PLC0415
        from tidegate.compare.folder import Folder  # noqa: PLC0415
        from tidegate.compare.results import Comparison, Settings  # noqa: PLC0415
        from tidegate.compare.tables import write_tables  # noqa: PLC0415
        from tidegate.report.compare import write  # noqa: PLC0415

        with Folder.open(self.path, self.spec, fresh=fresh) as results:
            with progress(len(self.cells)) as watch:
                outcome = compare(self.cells, results, on_simulators(bench(), self.processes), watch)
            write_tables(self.path, outcome.runs)
            settings, allowed = Settings.of(self.grid), self.request.allowed
            comparison = Comparison(self.grid.title, outcome.runs, outcome.curves, settings, allowed)
            write(comparison, self.path / "report.html")
        return outcome, rows(outcome.runs, self.static)

    def check_tunable(self, name: str) -> None:
        """Refuse, before anything runs, a policy or a trace that cannot be tuned."""
        from tidegate.backtest.held_out import check  # noqa: PLC0415
        from tidegate.backtest.search_space import knobs  # noqa: PLC0415

        experiments = self._experiments()
        if name != BEST and name not in experiments:
            raise UnknownName("policy of this backtest (--tune)", name, [*experiments, BEST])
        if not any(knobs(e.policy, e.options) for policy, e in experiments.items() if name in (policy, BEST)):
            raise InvalidInput(f"backtest: --tune {name}: there are no settings to search for")
        check(self.base)

    def tune(self, name: str, trials: int, rows: list[Row]) -> Tuning | None:
        """Tune a policy, or the best of those that have settings; None if interrupted before the first result."""
        from tidegate.backtest.held_out import tuning  # noqa: PLC0415
        from tidegate.backtest.recommendation import chosen  # noqa: PLC0415
        from tidegate.backtest.search_space import knobs  # noqa: PLC0415
        from tidegate.backtest.tune import Aim, Execution  # noqa: PLC0415
        from tidegate.cli.progress import progress  # noqa: PLC0415

        experiments = self._experiments()
        candidates = [row for row in rows if row.policy in experiments and name in (row.policy, BEST)]
        tunable = [row for row in candidates if knobs(experiments[row.policy].policy, row.options)]
        best = chosen(tunable, self.request.allowed)
        if best is None:
            raise InvalidInput(f"backtest: --tune {name}: no run succeeded")
        with progress(trials, "tuning", "trials") as watch:
            execution = Execution(range(self.request.seeds), self.processes, watch)
            return tuning(experiments[best.policy], self.path / "parts", Aim(self.request.allowed, trials), execution)

    def _experiments(self) -> dict[str, Experiment]:
        """By policy, without the static reference."""
        return {cell.policy: cell.experiment for cell in reversed(self.cells) if cell.policy != self.static}


def _end(outcome: Outcome) -> None:
    """Exit with the code for failed or interrupted runs."""
    failed = outcome.failed
    if failed:
        complain(f"{len(failed)} runs failed, the first, {failed[0].run}: {failed[0].error}")
    if outcome.interrupted:
        complain("interrupted: what was done is kept; the same command goes on from there")
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


def _policies(names: str, options: Iterable[str]) -> list[dict[str, Any]]:
    """Policies with their options, in the form of an experiment file. A repeated name counts once.

    >>> _policies("ds2, hpa-cpu", ["hpa-cpu:target=0.8"])
    [{'name': 'ds2'}, {'name': 'hpa-cpu', 'options': {'target': '0.8'}}]
    """
    from tidegate.cli import values  # noqa: PLC0415

    policies = list(dict.fromkeys(values.names(names)))
    if not policies:
        raise InvalidInput(f"backtest: need a policy or more, got {names!r}")
    return values.with_options(policies, options, "backtest", "backtest")
