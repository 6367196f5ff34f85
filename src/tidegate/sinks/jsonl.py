"""`jsonl:FILE`: every tick as a line of JSON, for other programs to follow."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tidegate.core import InvalidInput, Tick


@dataclass(slots=True)
class JsonLines:
    """Appends; the file is opened for each tick, so that it may be rotated away at any time."""

    path: Path
    name: str = "jsonl"

    def take(self, tick: Tick) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(tick)) + "\n")


def make(argument: str) -> JsonLines:
    if not argument:
        raise InvalidInput("sink jsonl: need a file, like jsonl:ticks.jsonl")
    return JsonLines(Path(argument))


SINKS = {"jsonl": make}
