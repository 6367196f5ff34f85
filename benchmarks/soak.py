"""A soak on real Spark: an attached autoscaler at a period of 1 s, while everything around it breaks in turn.

    python benchmarks/soak.py --minutes 60 [--json docs/…]

A query runs on the embedded cluster under a load that goes up and down. Meanwhile its store is locked, deleted, made
read-only, filled up and damaged, its progress reports are dropped, doubled and mangled, executors are killed and
frozen, and the policy raises at every tenth decision. Needs root, for a small file system that can be filled up and for
CPU quotas. At the end:

- after each fault: how long until decisions succeed again, and until the status is what it was;
- the longest time between two ticks, and the rescales;
- whether the result of the query equals that of a batch query over the same records: nothing lost, nothing doubled;
- memory, threads and open files of the driver's Python process and of its JVM, in the first and the last quarter.

Exit code 1 if a fault was not overcome within 30 s, the result is wrong, or something grew by more than a tenth.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import logging
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark import SparkContext

import tidegate
from tidegate.attachment import Attachment
from tidegate.cluster.processes import find_executors
from tidegate.core import Decision, Observation, Policy, Tick
from tidegate.deployment.spark import SparkDeployment, SparkHost, spark_host, warm_up
from tidegate.experiment import Experiment
from tidegate.policies.hpa import HpaCpu
from tidegate.workloads import Constant

#: seconds within which scaling must go on again
LIMIT = 30.0
#: records per second, in turn: work for one executor and for three
LOADS = (500, 70_000)
#: CPU of each executor, and the share of a core to aim at (an attached autoscaler does not know the quota)
QUOTA, TARGET = 0.25, 0.18


@dataclass
class Unreliable:
    """A policy that raises at every tenth decision."""

    policy: Policy
    count: int = 0

    @property
    def interval(self) -> float:
        return self.policy.interval

    def observe(self, obs: Observation) -> None:
        self.policy.observe(obs)

    def decide(self, obs: Observation) -> Decision:
        self.count += 1
        if self.count % 10 == 0:
            raise RuntimeError("every tenth decision fails")
        return self.policy.decide(obs)


class Mangling(deque[str]):
    """The queue of a listener, on whose way reports are dropped, doubled and mangled while `active`."""

    active = False
    random = random.Random(1)

    def append(self, report: str) -> None:
        if not self.active:
            super().append(report)
            return
        match self.random.choice(("drop", "double", "cut", "null", "untimed", "keep")):
            case "double":
                super().append(report)
                super().append(report)
            case "cut":
                super().append(report[: self.random.randrange(len(report))])
            case "null":
                super().append(json.dumps(dict.fromkeys(json.loads(report))))
            case "untimed":
                super().append(json.dumps({k: v for k, v in json.loads(report).items() if k != "timestamp"}))
            case "keep":
                super().append(report)


@dataclass
class Fault:
    name: str
    began: float
    ended: float = 0.0
    #: seconds from its end, or its beginning if decisions went on, to the next decision that succeeded
    decided: float | None = None
    #: seconds from its end until the status was `scaling` again
    healthy: float | None = None
    #: longest time between two ticks from its beginning until it was overcome
    gap: float = 0.0
    #: rescales from its beginning until 30 s after its end
    rescales: int = 0


@dataclass
class Sample:
    time: float
    rss: float
    threads: int
    files: int
    jvm_rss: float
    jvm_threads: int
    jvm_files: int


@dataclass
class Soak:
    deployment: SparkDeployment
    attachment: Attachment
    store: Path
    faults: list[Fault] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    ticks: list[tuple[float, bool, bool]] = field(default_factory=list)
    statuses: list[tuple[float, str]] = field(default_factory=list)

    @property
    def application(self) -> str:
        return str(self.deployment.host.spark.sparkContext.applicationId)

    def locked(self) -> Iterator[None]:
        with contextlib.closing(sqlite3.connect(self.store, isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN EXCLUSIVE")
            yield
            other.execute("ROLLBACK")

    def deleted(self) -> Iterator[None]:
        for path in self.store.parent.glob("runs.db*"):
            path.unlink()
        yield

    def read_only(self) -> Iterator[None]:
        # a file system that somebody writes to cannot be made read-only: another one is mounted over it
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(self.store.parent)], check=True)
        yield
        subprocess.run(["umount", "-l", str(self.store.parent)], check=True)

    def full(self) -> Iterator[None]:
        filler = self.store.parent / "filler"
        with contextlib.suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(b"\0" * 65_536)
                file.flush()
        yield
        filler.unlink()

    def damaged(self) -> Iterator[None]:
        for path in (self.store, Path(f"{self.store}-wal")):
            size = path.stat().st_size if path.exists() else 0
            if size:
                with path.open("r+b") as file:
                    file.write(b"\x2a" * min(size, 65_536))
        yield

    def mangled(self) -> Iterator[None]:
        reports = self.attachment._engine._listener._reports
        assert isinstance(reports, Mangling)
        reports.active = True
        yield
        reports.active = False

    def killed(self) -> Iterator[None]:
        for process in list(find_executors(self.application).values())[:1]:
            os.kill(process, signal.SIGKILL)
        yield

    def frozen(self) -> Iterator[None]:
        processes = list(find_executors(self.application).values())[:1]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        yield
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)

    def take(self, tick: Tick) -> None:
        failed = any(step.error for step in tick.steps)
        self.ticks.append((time.time(), bool(tick.steps) and not failed, tick.acted))
        self.statuses.append((time.time(), self.attachment.status))

    name = "soak"


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of 64 MiB of our own."""
    folder = Path(tempfile.mkdtemp(prefix="tidegate-soak-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
        folder.rmdir()


def usage(process: int) -> tuple[float, int, int]:
    """Resident MiB, threads and open files."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), len(os.listdir(f"/proc/{process}/fd"))


def jvm() -> int:
    gateway: Any = SparkContext._gateway
    # the gateway's process is a shell that became the JVM, or its parent
    pid = int(gateway.proc.pid)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return pid if "java" in Path(f"/proc/{pid}/comm").read_text() else int(children[0])


def judge(soak: Soak, fault: Fault) -> None:
    """When decisions succeeded again, and when the status was right again. Every tenth decision fails on purpose."""
    decided = [t for t, good, _ in soak.ticks if good and t > fault.ended]
    fault.decided = decided[0] - fault.ended if decided else None
    healthy = [t for t, status in soak.statuses if t > fault.ended and status == "scaling"]
    fault.healthy = healthy[0] - fault.ended if healthy else None
    fault.rescales = sum(acted and fault.began <= t <= fault.ended + LIMIT for t, _, acted in soak.ticks)
    until = max(decided[0] if decided else 0, fault.ended)
    times = [t for t, _, _ in soak.ticks if fault.began - 2 <= t <= until + 2]
    fault.gap = max((b - a for a, b in itertools.pairwise(times)), default=0.0)


def run(minutes: float, every: float, lasting: float) -> dict[str, Any]:
    experiment = Experiment(
        job="q11", workload="constant", duration=minutes * 60 + 120, peak=LOADS[1], trigger=4, maximum=3, partitions=6,
        quota=QUOTA, grace=25, mode="monitor",
    )  # fmt: skip
    with (
        tempfile.TemporaryDirectory(prefix="tidegate-soak-work-") as work,
        small_disk() as disk,
        spark_host(experiment, Path(work)) as host,
    ):
        warm_up(host, experiment)
        host.bind()
        return _run(host, experiment, disk, (minutes, every, lasting))


def _run(host: SparkHost, experiment: Experiment, disk: Path, pace: tuple[float, float, float]) -> dict[str, Any]:
    deployment = SparkDeployment(host, experiment)
    deployment.start()
    policy = Unreliable(HpaCpu(target=TARGET, interval=5, window=10, readiness=20))
    attachment = tidegate.attach(
        deployment.query, policy, max_executors=3, period=1.0, slo="30s", store=disk / "runs.db"
    )
    attachment._engine._listener._reports = Mangling(maxlen=10_000)
    soak = Soak(deployment, attachment, disk / "runs.db")
    stop = threading.Event()
    followers = [
        threading.Thread(target=watch, args=(soak, stop)),
        threading.Thread(target=sample, args=(soak, stop)),
        threading.Thread(target=feed, args=(soak, stop, pace[1] / 2)),
    ]
    for thread in followers:
        thread.start()
    try:
        inject(soak, *pace)
    finally:
        stop.set()
        for thread in followers:
            thread.join()
    began = time.monotonic()
    attachment.detach()
    detached = time.monotonic() - began
    deployment.end()
    deployment.stop()
    host.release()
    print("verifying", flush=True)
    agrees = deployment.agrees()
    deployment.close()
    for fault in soak.faults:
        judge(soak, fault)
    return summary(soak, agrees, detached, pace[0])


def watch(soak: Soak, stop: threading.Event) -> None:
    """Show the attachment's ticks to the soak, and drain the deployment's own engine, by which the run is verified."""
    seen = 0.0
    while not stop.wait(0.2):
        for tick in list(soak.attachment.ticks)[-10:]:
            if tick.observation.time > seen:
                seen = tick.observation.time
                soak.take(tick)
        with contextlib.suppress(Exception):
            soak.deployment.engine.observe()


def sample(soak: Soak, stop: threading.Event) -> None:
    while not stop.wait(10):
        soak.samples.append(Sample(time.time(), *usage(os.getpid()), *usage(jvm())))


def feed(soak: Soak, stop: threading.Event, every: float) -> None:
    """A load that goes up soon after a fault begins, and down after its end."""
    turn = 0
    soak.deployment.offer(Constant(100_000, level=LOADS[0]))
    while not stop.wait(every):
        turn += 1
        soak.deployment.offer(Constant(100_000, level=LOADS[turn % len(LOADS)]))


def inject(soak: Soak, minutes: float, every: float, lasting: float) -> None:
    faults: list[Callable[[], Iterator[None]]] = [
        soak.locked, soak.mangled, soak.deleted, soak.killed, soak.read_only, soak.frozen, soak.full, soak.damaged,
    ]  # fmt: skip
    end, turn = time.time() + minutes * 60, 0
    time.sleep(min(60, every))
    while time.time() + every < end:
        make = faults[turn % len(faults)]
        fault = Fault(make.__name__, time.time())
        soak.faults.append(fault)
        broken = make()
        next(broken)
        time.sleep(lasting)
        with contextlib.suppress(StopIteration):
            next(broken)
        fault.ended = time.time()
        turn += 1
        left = (end - time.time()) / 60
        rescales = sum(acted for _, _, acted in soak.ticks)
        clock = time.strftime("%H:%M:%S")
        print(f"{clock} {fault.name}: {soak.attachment!r}, {rescales} rescales, {left:.0f} min left", flush=True)
        time.sleep(max(0.0, every - lasting))
    time.sleep(max(0.0, end - time.time()))


def quarter(samples: list[Sample], name: str) -> tuple[float, float]:
    """The median of the second and of the last quarter; the first one has the start."""
    values = [getattr(sample, name) for sample in samples]
    size = max(1, len(values) // 4)
    return statistics.median(values[size : 2 * size] or values), statistics.median(values[-size:])


def summary(soak: Soak, agrees: bool, detached: float, minutes: float) -> dict[str, Any]:
    times = [t for t, _, _ in soak.ticks]
    names = ("rss", "threads", "files", "jvm_rss", "jvm_threads", "jvm_files")
    growth = {name: quarter(soak.samples, name) for name in names}
    result = {
        "minutes": minutes,
        "agrees": agrees,
        "ticks": len(times),
        "longest_gap": max((b - a for a, b in itertools.pairwise(times)), default=0.0),
        "rescales": sum(acted for _, _, acted in soak.ticks),
        "detached": detached,
        "growth": growth,
        "faults": [asdict(fault) for fault in soak.faults],
        "statuses": {text: sum(s == text for _, s in soak.statuses) for text in {s for _, s in soak.statuses}},
    }
    overcome = all(f.decided is not None and f.decided <= LIMIT and f.healthy is not None for f in soak.faults)
    flat = all(last <= first * 1.1 + 2 for name, (first, last) in growth.items() if not name.startswith("jvm_rss"))
    result["passed"] = agrees and overcome and flat
    return result


def show(result: dict[str, Any]) -> None:
    print(f"{'fault':<12}{'decided':>10}{'healthy':>10}{'gap':>10}{'rescales':>10}")
    for fault in result["faults"]:
        cells = ("-" if fault[key] is None else f"{fault[key]:.1f} s" for key in ("decided", "healthy", "gap"))
        print(f"{fault['name']:<12}" + "".join(f"{cell:>10}" for cell in cells) + f"{fault['rescales']:>10}")
    for name, (first, last) in result["growth"].items():
        print(f"{name:<12}{first:>10.1f}{last:>10.1f}")
    brief = {key: value for key, value in result.items() if key not in ("faults", "growth", "statuses")}
    print(json.dumps(brief))
    for text, count in sorted(result["statuses"].items(), key=lambda item: -item[1]):
        print(f"{count:>6} {text[:110]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=140, help="seconds from fault to fault")
    parser.add_argument("--lasting", type=float, default=40, help="seconds that a fault lasts")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    result = run(options.minutes, options.every, options.lasting)
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
