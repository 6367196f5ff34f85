"""Whether anything grows: the memory of driver, executors and controller through a run at a constant rate.

Resident memory of the controller (this Python), the driver's JVM, and each executor with its Python workers, read
every 10 s from /proc. The figure is the last two minutes' median over that of minutes three and four; the first two
are left to warming up.

    python benchmarks/memory.py [--minutes 10] [--job q11] [--rate 40000]
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tidegate.core import Tick
from tidegate.experiment import Experiment, run
from tidegate.store import Store

PAGE = os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    try:
        threads = Path(f"/proc/{pid}/task").iterdir()
        found = [int(p) for t in threads for p in (t / "children").read_text().split()]
    except OSError:
        return []
    return found


def below(pid: int) -> list[int]:
    return [d for child in children(pid) for d in (child, *below(child))]


def resident(pid: int) -> float:
    """MB."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def kind(pid: int) -> str:
    words = command(pid)
    if "CoarseGrainedExecutorBackend" in words:
        return "executors"
    if "pyspark" in words and "daemon" in words:
        return "Python workers"
    return "driver JVM" if "SparkSubmit" in words or "java" in words else "other"


class Watch:
    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._start, self._next = time.monotonic(), 0.0

    def __call__(self, tick: Tick) -> None:
        now = time.monotonic() - self._start
        if now < self._next:
            return
        self._next = now + 10
        sums = {"controller": resident(os.getpid())}
        for pid in below(os.getpid()):
            sums[kind(pid)] = sums.get(kind(pid), 0.0) + resident(pid)
        for name, size in sums.items():
            self.seen[name].append((now, size))

    def table(self, minutes: float) -> None:
        end = minutes * 60
        for name, points in self.seen.items():
            early = [size for at, size in points if 120 <= at < 240]
            late = [size for at, size in points if end - 120 <= at <= end]
            if early and late:
                a, b = statistics.median(early), statistics.median(late)
                print(f"{name:15} {a:7.0f} MB in minutes 3 and 4, {b:7.0f} MB in the last two: {b / a:.3f} x")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--job", default="q11")
    parser.add_argument("--rate", type=float, default=40_000)
    given = parser.parse_args()
    steady = Experiment(
        job=given.job,
        workload="constant",
        policy="static",
        options={"executors": 2},
        duration=given.minutes * 60,
        peak=given.rate,
        maximum=2,
        initial=2,
        verify=False,
    )
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "runs.db") as store:
        result = run(steady, store, print, watch).result
    print(f"{given.job} at {given.rate:,.0f}/s: {result['processed']:,} records, p95 {result['latency']['p95']:.1f} s")
    watch.table(given.minutes)


if __name__ == "__main__":
    main()
