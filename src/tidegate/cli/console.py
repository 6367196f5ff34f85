"""What every command shares: where it prints, how it complains, text for people or JSON for programs."""

from __future__ import annotations

import json
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
StorePath = Annotated[Path, typer.Option("--store", help="file in which runs are kept", envvar="TIDEGATE_STORE")]


def complain(message: str) -> None:
    err.print(f"[red]tidegate:[/red] {escape(message)}", soft_wrap=True, highlight=False)


def show(output: Output, value: Any, text: Any) -> None:
    """`value` as JSON or `text`, whichever was asked for."""
    if output is Output.json:
        print_json(value)
    else:
        out.print(text, soft_wrap=isinstance(text, str), highlight=False)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def interrupt_once() -> None:
    """The first Ctrl-C (or a polite kill) ends the run; what follows is cleaning up, which further ones must not cut
    short.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
