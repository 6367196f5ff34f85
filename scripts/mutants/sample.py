"""Which mutants are tried: a seeded sample, in which every line that can be mutated has the same chance.

A line's draw depends on the seed, its file and its text only, so an edit elsewhere leaves the sample as it is.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby, islice
from pathlib import Path

from mutant import Edit, Mutant, edits


@dataclass(frozen=True, slots=True)
class Chosen:
    """`file` is relative to the package, `function` the first line of the function that is mutated."""

    file: str
    function: int | None
    mutant: Mutant

    @property
    def change(self) -> tuple[str, str, str]:
        return self.file, self.mutant.before, self.mutant.after


def choose(package: Path, rooms: Iterable[str], seed: int, count: int, ignored: Path) -> list[Chosen]:
    """`ignored` lists changes that no test can see, each with the reason."""
    entries = tomllib.loads(ignored.read_text())["ignored"]
    spared = {(entry["file"], entry["before"], entry["after"]) for entry in entries}
    files = [file for room in rooms for file in _files(package / room)]
    lines = sorted((line for file in files for line in _lines(package, file, seed)), key=lambda line: line[0])
    made = (Chosen(file, edit.function, edit.mutant((package / file).read_text())) for _, file, edit in lines)
    return list(islice((one for one in made if one.change not in spared), count))


def _files(room: Path) -> list[Path]:
    return sorted(room.rglob("*.py")) if room.is_dir() else [room]


def _lines(package: Path, path: Path, seed: int) -> Iterator[tuple[str, str, Edit]]:
    """(draw, file, edit) of each line; first an operator is drawn among those that fit, then a place for it."""
    source, file, seen = path.read_text(), path.relative_to(package).as_posix(), Counter[str]()
    texts = source.splitlines()
    for number, fitting in groupby(edits(source), key=lambda edit: edit.node.lineno):
        text = texts[number - 1].strip()
        seen[text] += 1
        line = f"{seed} {file} {text} {seen[text]}"
        found = list(fitting)
        operator = min({edit.operator for edit in found}, key=lambda operator: _draw(f"{line} {operator}"))
        places = enumerate(edit for edit in found if edit.operator == operator)
        _, edit = min(places, key=lambda place: _draw(f"{line} {operator} {place[0]}"))
        yield _draw(line), file, edit


def _draw(text: str) -> str:
    return sha256(text.encode()).hexdigest()
