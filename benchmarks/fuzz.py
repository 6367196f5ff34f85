"""Everything that Tidegate reads, mutated: progress reports, recordings, models, traces, profiles, experiments, bombs.

Every mutant must end in success or in one sentence (`TidegateError`): no other exception, no NaN, no number that makes
no sense, in bounded time and memory. Each kind runs in a process of its own with a limit on its address space, each
mutant has a time limit. Mutated progress reports are followed by good ones, after which all figures must be right.

    python benchmarks/fuzz.py [--seed 0] [--sequences 20000] [--mutants 600] [--kinds progress,models] [--memory 4]

The mutants depend only on the seed. Exits with code 1 if one of them raised, gave NaN or took too long.
"""

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fuzz_files import FILES
from fuzz_progress import sequence
from tidegate.core import TidegateError

#: CPU seconds for one mutant
PATIENCE = 20.0
#: seconds for all mutants of a kind
LONGEST = 3000
#: what an outcome is called in the table
OUTCOMES = REFUSED, ACCEPTED, RAISED, NAN, WRONG, SLOW = "refused", "accepted", "raised", "NaN", "wrong", "too slow"

KINDS: Mapping[str, Callable[[Random, Path], Any]] = {"progress": sequence, **FILES}


class TooSlow(BaseException):
    """Not an Exception, so that nothing that is tried can catch it."""


@dataclass(slots=True)
class Tally:
    """The outcomes of one kind."""

    counts: Counter[str] = field(default_factory=Counter)
    #: how often each failure and each refusal occurred
    failures: Counter[str] = field(default_factory=Counter)
    sentences: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0

    def run(self, make: Callable[[Random, Path], Any], rng: Random, folder: Path) -> None:
        began = time.process_time()
        try:
            with limited(PATIENCE):
                outcome = make(rng, folder) or ACCEPTED
        except TidegateError as error:
            outcome = REFUSED
            self.sentences[str(error)[:160]] += 1
            if len(str(error)) > 2000 or "\n" in str(error).strip():
                outcome = RAISED
                self.failures[f"not one sentence: {str(error)[:150]!r}"] += 1
        except AssertionError as error:
            outcome = NAN if "finite" in str(error) or "NaN" in str(error) else WRONG
            self.failures[f"{error}"] += 1
        except TooSlow:
            outcome = SLOW
            self.failures["too slow at " + place()] += 1
        except BaseException as error:
            outcome = RAISED
            self.failures[f"{type(error).__name__}: {str(error)[:90]} at {place()}"] += 1
        self.slowest = max(self.slowest, time.process_time() - began)
        self.counts[outcome] += 1


def place() -> str:
    """Where in Tidegate the exception that is handled was raised."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    own = [frame for frame in frames if "tidegate" in frame.filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "the fuzzer itself"


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def expire(*_: object) -> None:
        raise TooSlow

    # CPU time: the machine may be busy
    before = signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def work(kind: str, seed: int, count: int, memory: int) -> dict[str, Any]:
    """All mutants of a kind, in this process."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    tally, began = Tally(), time.perf_counter()
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(count):
            tally.run(KINDS[kind], Random(f"{kind}-{seed}-{number}"), Path(folder))
            if time.perf_counter() - began > LONGEST:
                tally.failures[f"stopped after {number + 1} mutants"] += 1
                break
        os.chdir("/")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "kind": kind,
        "mutants": tally.counts.total(),
        **{name: tally.counts[name] for name in OUTCOMES},
        "slowest": tally.slowest,
        "peak": peak / 1024,
        "grown": (peak - base) / 1024,
        "failures": tally.failures.most_common(25),
        "sentences": tally.sentences.most_common(40),
    }


def apart(kind: str, seed: int, count: int, memory: float) -> dict[str, Any]:
    """All mutants of a kind, in a process of their own."""
    command = [sys.executable, __file__, "--seed", str(seed), "--one", kind, "--mutants", str(count)]
    command += ["--memory", str(memory)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LONGEST + 60, check=False)
    if done.returncode != 0:
        lost = dict.fromkeys(OUTCOMES, 0)
        failure = [[f"the process ended with code {done.returncode}", 1]]
        return {"kind": kind, "mutants": count, **lost, RAISED: count, "slowest": math.nan, "peak": math.nan,
                "grown": math.nan, "failures": failure, "sentences": []}  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def show(row: Mapping[str, Any], sentences: bool = False) -> None:
    counts = " | ".join(f"{row[name]:,}" for name in OUTCOMES)
    print(
        f"| {row['kind']} | {row['mutants']:,} | {counts} | {row['slowest']:.2f} s | {row['peak']:.0f} MB |", flush=True
    )
    for failure, times in row["failures"]:
        print(f"    {times} x {failure}", file=sys.stderr, flush=True)
    for sentence, times in row["sentences"] if sentences else ():
        print(f"        {times} x {sentence}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sequences", type=int, default=20_000, help="of progress reports")
    parser.add_argument("--mutants", type=int, default=600, help="of each other kind")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--memory", type=float, default=4.0, help="GB of address space")
    parser.add_argument("--sentences", action="store_true", help="show the most frequent sentences")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(work(args.one, args.seed, args.mutants, int(args.memory * 2**30))))
        return 0
    print("| kind | mutants | refused | accepted | raised | NaN | wrong | too slow | slowest | peak memory |")
    print("| --- " * 10 + "|")
    bad = 0
    for kind in args.kinds.split(","):
        row = apart(kind, args.seed, args.sequences if kind == "progress" else args.mutants, args.memory)
        show(row, args.sentences)
        bad += sum(row[name] for name in (RAISED, NAN, WRONG, SLOW))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
