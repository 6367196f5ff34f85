"""Cost of `tidegate trace`: time on one and on two cores, and peak memory of its processes.

Generates a day of events as Parquet (random order, a Zipf-distributed key, a payload) and runs the command on it, once
per number of cores. The processes are pinned to these cores, because the JVM's compiler and garbage collector would use
others. Memory of Python and the JVM is read from /proc during the run.

    python benchmarks/trace.py [--rows 50000000] [--cores 1 2] [--key]
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import functions as F

from tidegate.cluster.processes import tree, tree_cpu_seconds
from tidegate.cluster.session import workspace
from tidegate.traces.session import Machine, batch_session

FILES = 16
DAY = 1_714_521_600  # 2024-05-01, UTC


@dataclass(frozen=True, slots=True)
class Taken:
    seconds: float
    #: of the step that reads the logs, by the command's own account of its steps
    counting: float
    #: CPU time of that step
    cpu: float
    #: the most at any time, MiB
    python: float
    jvm: float
    told: dict[str, object]


def make(rows: int, folder: Path, scratch: Path) -> None:
    """Density over the day like a tide: low at night, high at noon. `exp` of a uniform number follows Zipf's law."""
    with batch_session(Machine(), scratch) as spark:
        part = "rand(1) AS u, rand(2) AS v, rand(3) AS w"
        drawn = spark.range(0, rows, 1, FILES).select("id", *[F.expr(one) for one in part.split(", ")])
        moment = f"{DAY} + 86400 * (u + 0.13 * sin(2 * pi() * u))"
        drawn.select(
            F.expr(f"timestamp_micros(bigint(({moment}) * 1000000))").alias("time"),
            F.expr("concat('user-', int(exp(v * ln(1000000))))").alias("user"),
            F.expr("hex(bigint(w * 9e18))").alias("payload"),
        ).write.parquet(str(folder))


def run(logs: Path, folder: Path, cores: int, key: bool) -> Taken:
    words = [sys.executable, "-m", "tidegate", "trace", str(logs), "--time", "time", "--cores", str(cores)]
    words += ["-o", str(folder / "trace.parquet"), "--output", "json", *(["--key", "user"] if key else [])]
    steps, result = folder / "steps", folder / "result"
    began, seen, most = time.monotonic(), {}, {}
    with steps.open("wb") as log, result.open("wb") as out, subprocess.Popen(words, stdout=out, stderr=log) as process:
        os.sched_setaffinity(process.pid, sorted(os.sched_getaffinity(0))[:cores])
        while process.poll() is None:
            for one in tree(process.pid):
                most[one] = max(most.get(one, 0.0), resident(one))
            for step in set(steps.read_text().splitlines()) - seen.keys():
                seen[step] = time.monotonic(), tree_cpu_seconds(process.pid)
            time.sleep(0.05)
    if process.returncode:
        sys.exit(steps.read_text())
    seconds = time.monotonic() - began
    (start, cpu), (end, used) = seen["counting records per second"], seen["filling the gaps"]
    python = most.pop(process.pid)
    return Taken(seconds, end - start, used - cpu, python, sum(most.values()), json.loads(result.read_text()))


def resident(process: int) -> float:
    """Resident MiB."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--key", action="store_true", help="with the skew of keys, which reads everything once more")
    given = parser.parse_args()
    with workspace() as folder:
        logs = folder / "logs"
        # in a process of its own: its JVM ends with it
        maker = multiprocessing.get_context("spawn").Process(target=make, args=(given.rows, logs, folder))
        maker.start()
        maker.join()
        size = sum(file.stat().st_size for file in logs.glob("*.parquet"))
        print(
            f"{given.rows:,} rows, {FILES} files, {size / 1e6:,.0f} MB of Parquet{', with --key' if given.key else ''}"
        )
        print("cores  command, s  counting, s  CPU of it, s  records/s  Python, MiB  JVM, MiB")
        for cores in given.cores:
            taken = run(logs, folder, cores, given.key)
            rate = given.rows / taken.counting
            times = f"{cores:5}  {taken.seconds:10.1f}  {taken.counting:11.1f}  {taken.cpu:12.1f}  {rate:9,.0f}"
            print(f"{times}  {taken.python:11,.0f}  {taken.jvm:8,.0f}", flush=True)
            assert taken.told["rows"] == given.rows, taken.told


if __name__ == "__main__":
    main()
