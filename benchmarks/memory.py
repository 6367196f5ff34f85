"""Memory of driver, executors and controller during a run at a constant rate, to find leaks.

Resident memory of the controller (this process), the driver's JVM, and all executors with their Python workers, read
every 10 s from /proc; the output is the median of every two minutes. A JVM uses more heap than it needs, up to its
limit, so the live heap after a full collection (`jcmd`) is printed as well, at the fourth minute and near the end.

    python benchmarks/memory.py [--minutes 10] [--job q11] [--rate 40000]
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tidegate.control.sinks import Callback
from tidegate.core import Tick
from tidegate.experiment import Experiment
from tidegate.runner import run
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


def live_heap(pid: int) -> float:
    """MB of live objects in a JVM's heap after a full collection."""
    try:
        subprocess.run(["jcmd", str(pid), "GC.run"], check=True, capture_output=True)
        told = subprocess.run(["jcmd", str(pid), "GC.heap_info"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0.0
    heap = told.split("Metaspace")[0]
    return sum(int(used) for used in re.findall(r"(?:generation|heap)\s+total \d+K, used (\d+)K", heap)) / 1000


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
    def __init__(self, minutes: float) -> None:
        self.seen: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._start, self._next = time.monotonic(), 0.0
        self._collections = [240.0, 60 * minutes - 30]
        self.live: dict[str, list[float]] = defaultdict(list)

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
        if self._collections and now >= self._collections[0]:
            self._collections.pop(0)
            self._collect()

    def _collect(self) -> None:
        held: dict[str, float] = defaultdict(float)
        for pid in below(os.getpid()):
            if kind(pid) in {"driver JVM", "executors"}:
                held[kind(pid)] += live_heap(pid)
        for name, size in held.items():
            self.live[name].append(size)

    def table(self) -> None:
        for name, points in self.seen.items():
            spans: dict[int, list[float]] = defaultdict(list)
            for at, size in points:
                spans[int(at // 120)].append(size)
            medians = [statistics.median(sizes) for _, sizes in sorted(spans.items())]
            print(f"{name:15} {' '.join(f'{size:6.0f}' for size in medians)} MB resident, by two minutes")
        for name, sizes in self.live.items():
            print(f"{name:15} {' -> '.join(f'{size:.1f}' for size in sizes)} MB live after a full collection")


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
    watch = Watch(given.minutes)
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "runs.db") as store:
        result = run(steady, store, print, (Callback(watch),)).result
    scored = result.figures if result else None
    if scored and scored.latency:
        print(f"{given.job} at {given.rate:,.0f}/s: {scored.processed:,} records, p95 {scored.latency.p95:.1f} s")
    watch.table()


if __name__ == "__main__":
    main()
