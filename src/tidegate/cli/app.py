"""The commands. Results go to standard output, everything else to standard error.

Exit codes: 0 success, 1 result not verified or a run of a comparison failed, 2 invalid input, 3 a requirement is
missing, 4 the query failed, 5 a threshold of `--fail-if` is broken, 130 interrupted.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from tidegate import __version__
from tidegate.cli.backtest import backtest
from tidegate.cli.calibrate import calibrate, record, validate
from tidegate.cli.compare import compare
from tidegate.cli.console import AsJson, Output, complain, out, print_json
from tidegate.cli.kafka import broker, produce, sample
from tidegate.cli.plan import plan
from tidegate.cli.policies import policies
from tidegate.cli.profile import profile
from tidegate.cli.run import demo, run
from tidegate.cli.stored import report, runs
from tidegate.cli.trace import trace
from tidegate.cli.workloads import workloads
from tidegate.core import TidegateError

app = typer.Typer(
    help="Scale the executors of Spark streaming queries. Try `tidegate demo` first.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)


def main() -> None:
    """Run the command line. A user's mistake ends in an error message, never in a stack trace."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except TidegateError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except Exception as error:
        format_message = getattr(error, "format_message", None)  # errors of the argument parser have it
        if format_message is None:
            raise
        complain(format_message())
        sys.exit(2)


for _command in (
    demo,
    run,
    compare,
    backtest,
    plan,
    profile,
    calibrate,
    validate,
    record,
    report,
    runs,
    policies,
    workloads,
    trace,
    produce,
    sample,
    broker,
):
    app.command()(_command)


@app.command()
def doctor(output: AsJson = Output.text) -> None:
    """Check Java, Spark, cores, memory and quotas, and show how to get what is missing.

    [bold]tidegate doctor[/bold]

    Exits with code 3 if a requirement is missing.
    """
    from tidegate.cli.doctor import findings  # noqa: PLC0415

    checked = findings()
    if output is Output.json:
        print_json([asdict(finding) for finding in checked])
    else:
        for finding in checked:
            mark = {True: "[green]✓[/green]", False: "[red]✗[/red]", None: "[yellow]·[/yellow]"}[finding.ok]
            advice = f"  ({finding.advice})" if finding.advice else ""
            out.print(f"{mark} {escape(f'{finding.what:11} {finding.found}{advice}')}", soft_wrap=True, highlight=False)
    if any(finding.ok is False for finding in checked):
        raise typer.Exit(3)


def _version(requested: bool) -> None:
    if requested:
        out.print(f"tidegate {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
