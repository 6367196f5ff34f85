"""Commands. Results go to standard output, everything else to standard error; the exit code says what happened:
0 done, 1 not verified or a run of a comparison failed, 2 bad input, 3 something is missing, 4 the query failed,
130 interrupted.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from tidegate import __version__
from tidegate.cli.backtest import backtest
from tidegate.cli.calibrate import calibrate, record, validate
from tidegate.cli.compare import compare
from tidegate.cli.console import AsJson, Output, complain, out, print_json
from tidegate.cli.kafka import broker, produce
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
    """Run the command line; what the user did wrong is a sentence, never a stack trace."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except TidegateError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except Exception as error:
        told = getattr(error, "format_message", None)  # what the parser of the command line raises
        if told is None:
            raise
        complain(told())
        sys.exit(2)


for _command in (
    demo,
    run,
    compare,
    backtest,
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
    broker,
):
    app.command()(_command)


@app.command()
def doctor(output: AsJson = Output.text) -> None:
    """Check Java, Spark, cores, memory and quotas, and say how to get what is missing."""
    from tidegate.cli.doctor import findings  # noqa: PLC0415

    found = findings()
    if output is Output.json:
        print_json([asdict(finding) for finding in found])
    else:
        for finding in found:
            mark = {True: "[green]✓[/green]", False: "[red]✗[/red]", None: "[yellow]·[/yellow]"}[finding.ok]
            advice = f"  ({finding.advice})" if finding.advice else ""
            out.print(f"{mark} {finding.what:11} {finding.found}{advice}", soft_wrap=True, highlight=False)
    if any(finding.ok is False for finding in found):
        raise typer.Exit(3)


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"tidegate {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    pass
