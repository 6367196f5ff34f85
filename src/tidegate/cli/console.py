"""Shared by all commands: consoles, error messages, text or JSON output, signals, and the cores to use."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from tidegate.cli.layout import Laid, left_out
from tidegate.cli.thresholds import BROKEN

out = Console()
err = Console(stderr=True)


class Output(StrEnum):
    text = "text"
    json = "json"


AsJson = Annotated[Output, typer.Option("--output", help="text for people, json for programs")]
FailIf = Annotated[
    list[str] | None,
    typer.Option("--fail-if", help='exit with code 5 if a figure is so, like "late>1%" or "p95>30s"; repeatable'),
]
FailIfPolicy = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        help='exit with code 5 if a figure of the ★ policy is so, like "late>1%"; "POLICY:late>1%" for another,'
        ' "*:late>1%" for all; repeatable',
    ),
]
StorePath = Annotated[Path, typer.Option("--store", help="database file of stored runs", envvar="TIDEGATE_STORE")]


def complain(message: str) -> None:
    """Print an error message to standard error."""
    err.print(f"[red]tidegate:[/red] {escape(message)}", soft_wrap=True, highlight=False)


def show(output: Output, value: Any, text: Any) -> None:
    """Print `value` as JSON, or `text`, depending on `--output`."""
    if output is Output.json:
        print_json(value)
    else:
        out.print(text, soft_wrap=isinstance(text, str), highlight=False)


def fail(problems: Sequence[str]) -> None:
    """Exit with the code for broken thresholds if there are any; each is told."""
    for problem in problems:
        complain(problem)
    if problems:
        raise typer.Exit(BROKEN)


def print_table(table: Laid) -> None:
    """Print a table, and on standard error which columns did not fit."""
    for line in table.lines:
        out.print(line, soft_wrap=True, highlight=False)
    for sentence in left_out(table.dropped):
        err.print(sentence, style="dim", soft_wrap=True, highlight=False)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


#: what ends a command: Ctrl-C, `kill` or a service manager, and a terminal that was closed
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def interrupt_once() -> None:
    """Let the first Ctrl-C, SIGTERM or SIGHUP interrupt the run; later ones are ignored, so that clean-up can finish.

    SIGHUP stays ignored where it already is: under `nohup` a run outlives its terminal.
    """

    interrupted = False

    def stop(number: int, frame: FrameType | None) -> None:
        # a flag and not SIG_IGN: Python complains about a signal that is ignored while it is being delivered
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise KeyboardInterrupt

    for ending in ENDING:
        if ending == signal.SIGINT or signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, stop)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
