"""Speed and reproducibility of the simulator: 10 reactive policies, 5 jobs, 6 workloads and 5 seeds of 6 hours, 1,500
runs with their oracles, on two processes and on one; then forecasting policies on the same 6 hours.

    python benchmarks/compare.py [--hours 6] [--seeds 5]

Times are for whole runs: workload, engine, policy, figures, and the oracle if there is one. Results are compared byte
by byte.
"""

import argparse
import hashlib
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tidegate.compare.cell_runner import simulators
from tidegate.compare.cells import Cell, cells
from tidegate.compare.execution import compare, on_simulators
from tidegate.compare.folder import Folder
from tidegate.compare.grid import grid
from tidegate.deployment.simulated import simulate
from tidegate.experiment import Experiment
from tidegate.experiment.simulation import capacity
from tidegate.profiling.profile import with_profile
from tidegate.runs import RunResult, encode

REACTIVE = [
    "static", "hpa-cpu", "hpa-varga", "ds2", "dhalion", "flink-reactive", "flink-operator", "keda-lag", "spark-dra",
    "dstreams",
]  # fmt: skip
FORECASTING = ["daedalus", "phoebe", "twres"]
JOBS = ["q1", "q2", "q5", "q8", "q11"]
WORKLOADS = ["cosine", "steps", "random", "spikes", "advertising", "traffic"]


def wanted(hours: float, seeds: int) -> list[Cell]:
    run = {"engine": "sim", "duration": hours * 3600, "slo": 30.0, "trigger": 10.0, "maximum": 8}
    values = {"policies": REACTIVE, "jobs": JOBS, "workloads": WORKLOADS, "seeds": seeds, "run": run}
    return cells(grid(values, "benchmark"), capacity)


def timed(found: Sequence[Cell], processes: int) -> tuple[float, str, Sequence[RunResult]]:
    with tempfile.TemporaryDirectory() as folder, Folder.open(Path(folder), {}, fresh=True) as kept:
        began = time.perf_counter()
        outcome = compare(found, kept, on_simulators(simulators(), processes), lambda done: None)
        took = time.perf_counter() - began
    text = json.dumps([encode(run) for run in outcome.runs])
    return took, hashlib.sha256(text.encode()).hexdigest()[:16], outcome.runs


def forecasting(hours: float) -> None:
    for policy in FORECASTING:
        times = []
        for workload in WORKLOADS:
            e = Experiment(
                job="q1", workload=workload, policy=policy, engine="sim", duration=hours * 3600, trigger=10.0,
                slo=30.0, maximum=8, noise=0.02,
            )  # fmt: skip
            e = replace(e, peak=0.8 * capacity(e, 8))
            began = time.perf_counter()
            simulate(with_profile(e))
            times.append(time.perf_counter() - began)
        print(f"{policy:10} {statistics.median(times):.2f} s a run (most {max(times):.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=6.0)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    found = wanted(given.hours, given.seeds)
    for processes in (2, 2, 1):
        took, digest, runs = timed(found, processes)
        failed = sum(run.status != "done" for run in runs)
        print(f"{len(runs)} runs, {processes} processes: {took:.1f} s, {failed} failed, results {digest}", flush=True)
    forecasting(given.hours)


if __name__ == "__main__":
    main()
