"""Shared by all commands: consoles, error messages, text or JSON output, signals, and the cores to use."""

from __future__ import annotations

import json
import os
import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

out = Console()
err = Console(stderr=True)


class Output(StrEnum):
    text = "text"
    json = "json"


AsJson = Annotated[Output, typer.Option("--output", help="text for people, json for programs")]
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


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def interrupt_once() -> None:
    """Let the first Ctrl-C (or SIGTERM) interrupt the run; later ones are ignored, so that clean-up can finish."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
