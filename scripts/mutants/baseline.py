"""The suite without a mutant: which test files call which functions, how long they take, what fails anyway."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from copies import Copy

#: seconds of tests that one mutant meets at most, as measured without it
BUDGET = 90.0


@dataclass(frozen=True, slots=True)
class TestFile:
    """What one does; `calls` are (source file, first line of a function)."""

    calls: frozenset[tuple[str, int]]
    seconds: float
    failed: tuple[str, ...]

    def reaches(self, file: str, function: int | None) -> bool:
        """Whether it calls the function, or any of the file for a constant that is in none."""
        return any(source == file and function in {None, line} for source, line in self.calls)


@dataclass(frozen=True, slots=True)
class Baseline:
    files: dict[str, TestFile]

    def tests(self, file: str, function: int | None) -> list[str]:
        """The test files that a mutant meets: first its namesakes and its file's doctests, then the quickest. For a
        file of values, of which nothing is called, those of its room.
        """
        stem, room = Path(file).stem, file.split("/", maxsplit=1)[0]
        fitting = [name for name, test in self.files.items() if test.reaches(file, function)]
        if not fitting and function is None:
            fitting = [name for name in self.files if name.startswith(f"tests/{room}")]
        spent, within = 0.0, list[str]()
        for name in sorted(fitting, key=lambda name: (stem not in Path(name).stem, self.files[name].seconds)):
            spent += self.files[name].seconds
            if spent <= BUDGET or not within:
                within.append(name)
        return within

    def seconds(self, tests: Iterable[str]) -> float:
        return sum(self.files[test].seconds for test in tests)

    @property
    def failed(self) -> list[str]:
        return [test for file in self.files.values() for test in file.failed]


def measure(copies: Sequence[Copy], wanted: Iterable[str], folder: Path) -> Baseline:
    """Test files that have not changed since the last time, and their sources neither, are not run again."""
    root, kept = copies[0].root, folder / "baseline.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    sources = digest([*(root / "src").rglob("*.py"), *(root / "tests").rglob("conftest.py")])
    tests = sorted(path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))
    every = {"src": sources, **{test: sources + digest([root / test]) for test in tests}}
    digests = {
        name: has
        for name, has in every.items()
        if f"{name}/".startswith(tuple(f"{one.rstrip('/')}/" for one in wanted))
    }
    todo = [name for name, has in digests.items() if found.get(name, {}).get("digest") != has]
    with ThreadPoolExecutor() as pool:
        shares = [todo[at :: len(copies)] for at in range(len(copies))]
        for part in pool.map(_measured, copies, shares):
            for name in part:
                found[name] = {"digest": digests[name], "files": part[name]}
    kept.write_text(json.dumps(found))
    files = {file: row for name in digests for file, row in found[name]["files"].items()}
    return Baseline(
        {
            file: TestFile(frozenset((source, line) for source, line in row["calls"]), row["seconds"], row["failed"])
            for file, row in files.items()
        }
    )


def digest(files: Iterable[Path]) -> str:
    return sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]


def _measured(copy: Copy, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By what was asked for, which is a test file or the folder of the doctests."""
    if not names:
        return {}
    report = copy.root / "calls.json"
    code, output = copy.pytest("--continue-on-collection-errors", "--calls", str(report), *names)
    if code not in {0, 1, 5}:
        sys.exit(f"the suite cannot run without a mutant:\n{output[-3000:]}")
    found = json.loads(report.read_text().replace(f"{copy.root}/src/tidegate/", ""))
    return {name: {file: row for file, row in found.items() if file.startswith(name)} for name in names}
