"""What a scale-out of a stateful query is worth, with state spread over the executors and without.

    python benchmarks/spreading.py [--jobs q11 q5] [--rate 36000] [--quota 0.3] [--batches 8] [--json FILE]

A query runs at a constant rate on the embedded cluster, 1 -> 2 -> 4 -> 2 executors, a rescale after some batches. With
each rescale all executors lose their quota, as new ones would compile for minutes under one, and old ones would be the
only ones that have it; all get it again some batches after they are there (`--warm`). Busy shares are those of the task
slots: in the third batch, and as means over those with a quota, which are settled. For comparison, the same query is
started on 2 and on 4 executors that are there already.

Exit code 1 if a task ran again or a batch failed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tidegate.cluster.jvm import Driver
from tidegate.cluster.status import Status
from tidegate.core import Batch, Decision, Observation
from tidegate.deployment.spark import SparkDeployment, SparkHost, spark_host, warm_up
from tidegate.experiment import Experiment

STEPS = (1, 2, 4, 2)


@dataclass(frozen=True)
class Phases:
    """Batches that executors run before their quota begins to hold, and those that are measured after them."""

    warm: int
    settled: int


@dataclass(frozen=True)
class Step:
    job: str
    spread: bool
    executors: int
    #: whether the query was started with that number
    fresh: bool
    #: seconds of the median settled batch, of the longest one since the request, and until all executors were there
    settled: float
    longest: float
    waited: float
    #: busiest over idlest executor two batches after all executors were there, and over the settled batches
    soon: float
    later: float
    #: mean over the settled batches, by executor
    shares: tuple[float, ...]
    reruns: int


class Watcher:
    """A deployment, its batches, and how long each executor worked on each of them."""

    def __init__(self, deployment: SparkDeployment) -> None:
        context = deployment.host.spark.sparkContext
        self.deployment, self.driver, self.status = deployment, Driver(context), Status(context)
        self.events: list[str] = []
        self._job = -1

    def batches(self) -> Iterator[tuple[Observation, Batch, dict[str, float]]]:
        """Each batch when it is observed, with the slot time of each executor as a share of its duration."""
        while True:
            obs = self.deployment.engine.observe()
            self.events += [f"{event.kind}: {event.message}" for event in obs.events]
            for batch in obs.batches:
                yield obs, batch, self.shares(batch)
            time.sleep(0.05)

    def shares(self, batch: Batch) -> dict[str, float]:
        spent = {executor.id: 0.0 for executor in self.status.executors()}
        jobs = self.status.finished_jobs(str(self.deployment.query.runId), self._job) or []
        for found in jobs:
            self._job = int(found["jobId"])
            if f"batch = {batch.id}" not in str(found.get("description", "")):
                continue
            for stage in found["stageIds"]:
                for executor, summary in self.driver.stage_by_executor(int(stage), 0).items():
                    if executor in spent:
                        spent[executor] += summary["taskTime"] / 1e3
        return {executor: time / (batch.finished - batch.planned) for executor, time in spent.items()}


def uneven(shares: Collection[float]) -> float:
    return max(shares) / min(shares) if shares and min(shares) > 0 else float("inf")


def means(shares: Sequence[dict[str, float]]) -> tuple[float, ...]:
    """Of each executor that is in the last batch, over all batches."""
    return tuple(statistics.mean(each.get(executor, 0.0) for each in shares) for executor in shares[-1])


def measure(watcher: Watcher, executors: int, phases: Phases, *, scale: bool) -> Step:
    e, engine = watcher.deployment.experiment, watcher.deployment.engine
    asked, there, after, longest, reruns = time.time(), 0.0, [], 0.0, None
    if watcher.deployment.host.quotas:
        watcher.deployment.host.quotas.lift()
    if scale:
        engine.scale(Decision(executors, "benchmark"))
    for obs, batch, shares in watcher.batches():
        reruns = obs.rerun_tasks if reruns is None else reruns
        took = batch.finished - batch.planned
        if batch.finished < asked:
            continue
        longest = max(longest, took)
        if obs.executors != executors or len(shares) != executors:
            continue
        there = there or batch.finished
        if batch.planned < there:  # it began with other executors
            continue
        after.append((took, shares))
        print(
            f"  {executors}: batch {batch.id} {took:.1f} s, {' '.join(f'{s:.2f}' for s in shares.values())}", flush=True
        )
        if len(after) == phases.warm and watcher.deployment.host.quotas:
            watcher.deployment.host.quotas.bind_now()
        if len(after) == phases.warm + phases.settled:
            settled = statistics.median(took for took, _ in after[phases.warm :])
            mean = means([shares for _, shares in after[phases.warm :]])
            return Step(
                e.job, e.spread, executors, not scale, settled, longest, there - asked,
                uneven(after[2][1].values()), uneven(mean), mean, obs.rerun_tasks - (reruns or 0),
            )  # fmt: skip
    raise AssertionError("a query has no last batch")


def deployed(host: SparkHost, e: Experiment) -> Watcher:
    deployment = SparkDeployment(host, e)
    deployment.start()
    return Watcher(deployment)


def close(watcher: Watcher) -> None:
    watcher.deployment.end()
    watcher.deployment.close()
    for event in watcher.events:
        print("   ", event)


def run(first: Experiment, phases: Phases, spreads: tuple[bool, ...]) -> list[Step]:
    steps = []
    with tempfile.TemporaryDirectory(prefix="tidegate-spreading-") as work, spark_host(first, Path(work)) as host:
        warm_up(host, first)
        host.bind()
        for spread in spreads:
            watcher = deployed(host, replace(first, spread=spread))
            for number, executors in enumerate(STEPS):
                steps.append(measure(watcher, executors, phases, scale=number > 0))
            close(watcher)
            for executors in (4, 2, 1) if spread else (1,):
                resize(host, first, executors)
                if executors > 1:
                    watcher = deployed(host, replace(first, initial=executors))
                    steps.append(measure(watcher, executors, phases, scale=False))
                    close(watcher)
    return steps


def resize(host: SparkHost, e: Experiment, executors: int) -> None:
    """Change the executors while no query runs, and wait for them."""
    watcher = deployed(host, replace(e, peak=100.0))
    watcher.deployment.engine.scale(Decision(executors, "benchmark"))
    for obs, _, _ in watcher.batches():
        if obs.executors == executors:
            break
    close(watcher)


def show(steps: list[Step]) -> None:
    print("| job | state | executors | settled batch | longest since the request | busiest ÷ idlest, 2 batches after"
          " | settled (busy shares) | tasks run again |")  # fmt: skip
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for s in steps:
        how, state = "started with" if s.fresh else "→", "spread" if s.spread else "as Spark has it"
        shares = " ".join(f"{share:.2f}" for share in s.shares)
        settled, longest = f"{s.settled:.2f} s", f"{s.longest:.1f} s"
        cells = (settled, longest, f"{s.soon:.2f}", f"{s.later:.2f} ({shares})", str(s.reruns))
        print(f"| `{s.job}` | {state} | {how} {s.executors} | {' | '.join(cells)} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", nargs="+", default=["q11", "q5"])
    parser.add_argument("--rates", nargs="+", type=float, default=[36_000, 12_000])
    parser.add_argument("--quota", type=float, default=0.3)
    parser.add_argument("--trigger", type=float, default=4.0)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument(
        "--warm", type=int, default=3, help="batches before the quota holds for new executors, at least 3"
    )
    parser.add_argument("--batches", type=int, default=6, help="settled batches, after those")
    parser.add_argument("--only", choices=["spread", "plain"])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    steps: list[Step] = []
    spreads = {"spread": (True,), "plain": (False,), None: (False, True)}[given.only]
    for job, rate in zip(given.jobs, given.rates, strict=True):
        first = Experiment(
            job=job, workload="constant", duration=36_000, peak=rate, trigger=given.trigger, maximum=4,
            partitions=given.partitions, quota=given.quota, grace=1e6, mode="active", verify=False, slo=10,
        )  # fmt: skip
        steps += run(first, Phases(given.warm, given.batches), spreads)
        show(steps)
    if given.json:
        plain: list[dict[str, Any]] = [asdict(step) for step in steps]
        given.json.write_text(json.dumps(plain, indent=1))
    return 1 if any(step.reruns for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main())
