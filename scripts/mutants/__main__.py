"""Mutation testing: how many of a seeded sample of one-line mutants do the tests without Spark kill?

    python scripts/mutants [--seed 1] [--count 150] [--threshold 0.85] [--survivors]
    python scripts/mutants --rooms score capacity --tests tests/score tests/capacity  # less, and sooner

Works in copies of the tree. The suite runs once as it is, to see which test files call which functions; then each
mutant meets those that call the function it is in. Results are kept in `.tidegate/mutants`, and a run that was broken
off goes on where it was, unless sources or tests have changed; with `--survivors`, only what survived last time is
tried again. Exit code 1 if fewer are killed than the threshold asks for.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from types import FrameType

from baseline import Baseline, digest, measure
from copies import HERE, ROOT, Copy, kill_all
from rich.console import Console
from rich.table import Table
from sample import Chosen, choose

#: where decisions are made, and what they rest on
ROOMS = (
    "control",
    "policies",
    "capacity",
    "score",
    "progress.py",
    "spark/actuator.py",
    "spark/pool.py",
    "spark/reports.py",
    "spark/report.py",
    "spark/offsets.py",
)
CANARY = "raise RuntimeError('the copy is what is tested')\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`outcome` is killed, timeout (which counts as killed) or survived; `tree` a digest of sources and tests."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str
    by: str
    tree: str

    @property
    def change(self) -> tuple[str, str, str]:
        return self.file, self.before, self.after

    @property
    def room(self) -> str:
        return self.file.split("/")[0]

    @property
    def killed(self) -> bool:
        return self.outcome != "survived"


def main() -> int:
    given = arguments()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, _end)
    kept = ROOT / ".tidegate/mutants"
    kept.mkdir(parents=True, exist_ok=True)
    results = kept / f"seed-{given.seed}.jsonl"
    with tempfile.TemporaryDirectory(prefix="tidegate-mutants-") as folder:
        copies = [Copy.made(Path(folder) / str(number)) for number in range(given.jobs)]
        root = copies[0].root
        tree = digest([*(root / "src").rglob("*.py"), *(root / "tests").rglob("*.py")])
        chosen = choose(root / "src/tidegate", given.rooms, given.seed, given.count, HERE / "ignored.toml")
        known = remembered(results, tree, keep_killed=given.survivors)
        todo = [one for one in chosen if one.change not in known]
        print(f"{len(chosen)} mutants, {len(todo)} to try", flush=True)
        with results.open("a") as file:
            for outcome in outcomes(copies, todo, measure(copies, given.tests, kept), tree) if todo else ():
                known[outcome.change] = outcome
                file.write(json.dumps(asdict(outcome)) + "\n")
                file.flush()
    return summary([known[one.change] for one in chosen], given.threshold)


def _end(number: int, frame: FrameType | None) -> None:
    kill_all()
    sys.exit(128 + number)  # and so the copies are removed


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--threshold", type=float, default=0.85)
    parser.add_argument("--rooms", nargs="+", default=ROOMS)
    parser.add_argument(
        "--tests", nargs="+", default=["src", "tests"], help="files and folders of tests; src: doctests"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--survivors", action="store_true", help="keep what was killed before, try the others again")
    return parser.parse_args()


def remembered(results: Path, tree: str, keep_killed: bool) -> dict[tuple[str, str, str], Outcome]:
    rows = [Outcome(**json.loads(line)) for line in results.read_text().splitlines()] if results.exists() else []
    return {row.change: row for row in rows if row.tree == tree or (keep_killed and row.killed)}


def outcomes(copies: Sequence[Copy], todo: Sequence[Chosen], baseline: Baseline, tree: str) -> Iterator[Outcome]:
    """Each as soon as it is known, with a line for the terminal."""
    free = SimpleQueue[Copy]()
    failed, every = baseline.failed, baseline.seconds(baseline.files)
    print(f"{every:.0f} s of tests; {len(failed)} fail without a mutant {', '.join(failed[:3])}", flush=True)
    if copies[0].meet("core/__init__.py", CANARY, ["tests/control"], 300)[0] != "killed":
        sys.exit("the tests do not import the copy of the tree")
    for copy in copies:
        free.put(copy)

    def attempt(one: Chosen) -> Outcome:
        copy, tests = free.get(), baseline.tests(one.file, one.function)
        chosen = [*(f"--deselect={test}" for test in failed), *tests]
        limit = 60 + 5 * baseline.seconds(tests)
        try:
            outcome, by = copy.meet(one.file, one.mutant.source, chosen, limit) if tests else ("survived", "")
        finally:
            free.put(copy)
        mutant = one.mutant
        return Outcome(one.file, mutant.line, mutant.operator, mutant.before, mutant.after, outcome, by, tree)

    began = time.monotonic()
    with ThreadPoolExecutor(len(copies)) as pool:
        for done, outcome in enumerate(pool.map(attempt, todo), start=1):
            left = (time.monotonic() - began) / done * (len(todo) - done) / 60
            place = f"{outcome.file}:{outcome.line}"
            print(f"{done}/{len(todo)} {left:.0f} min left  {outcome.outcome:8} {place} {outcome.operator}", flush=True)
            yield outcome


def summary(tried: Sequence[Outcome], threshold: float) -> int:
    console = Console()
    for kind in ("room", "operator"):
        every: Counter[str] = Counter(getattr(row, kind) for row in tried)
        killed: Counter[str] = Counter(getattr(row, kind) for row in tried if row.killed)
        table = Table(kind, "mutants", "killed", "share")
        for name, count in sorted(every.items()):
            table.add_row(name, str(count), str(killed[name]), f"{killed[name] / count:.0%}")
        console.print(table)
    for row in tried:
        if not row.killed:
            print(f"survived  src/tidegate/{row.file}:{row.line}  {row.operator}\n  - {row.before}\n  + {row.after}")
    share = sum(row.killed for row in tried) / len(tried)
    slow = sum(row.outcome == "timeout" for row in tried)
    print(f"{share:.1%} of {len(tried)} mutants killed ({slow} by the time limit); {threshold:.0%} are asked for")
    return 0 if share >= threshold else 1


if __name__ == "__main__":
    sys.exit(main())
