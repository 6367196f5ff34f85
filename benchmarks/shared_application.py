"""Three queries in one application, each under a policy of its own, for ten minutes on real Spark.

    python benchmarks/shared_application.py --minutes 10

Each query has a load that goes up and down at its own pace. Every half second the total that Spark keeps is read. A
change of it must follow a decision of one of the policies, and the total must stay within the common bounds. Exit code
1 if it does not. Needs root for CPU quotas.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import tidegate
from tidegate.attachment import Attachment
from tidegate.cluster.jvm import Driver
from tidegate.cluster.status import Status
from tidegate.deployment.spark import SparkDeployment, SparkHost, spark_host, warm_up
from tidegate.experiment import Experiment
from tidegate.workloads import Constant

MAXIMUM = 6
#: name, policy with its options, loads in records per second, and seconds of each
QUERIES: tuple[tuple[str, str, dict[str, Any], tuple[int, int], float], ...] = (
    ("q1", "hpa-cpu", {"interval": "5s", "window": "10s", "down-window": "30s"}, (3_000, 30_000), 90),
    ("q11", "ds2", {"interval": "10s"}, (2_000, 12_000), 120),
    ("q5", "keda-lag", {"interval": "10s"}, (2_000, 8_000), 75),
)


def run(minutes: float) -> bool:
    first = Experiment(
        job="q1", workload="constant", duration=minutes * 60, peak=3_000, trigger=2, maximum=MAXIMUM, initial=2,
        partitions=6, quota=0.25, grace=25, mode="monitor", verify=False,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="tidegate-shared-") as work, spark_host(first, Path(work)) as host:
        warm_up(host, first)
        host.bind()
        return watched(host, first, minutes)


def watched(host: SparkHost, first: Experiment, minutes: float) -> bool:
    driver, status = Driver(host.spark.sparkContext), Status(host.spark.sparkContext)
    totals: list[tuple[float, int, int]] = []
    with ExitStack() as open_:
        deployments, attachments = {}, {}
        for job, policy, options, loads, _ in QUERIES:
            deployment = SparkDeployment(host, replace(first, job=job, peak=loads[0]))
            open_.callback(deployment.close)
            deployment.start()
            deployments[job] = deployment
            attachments[job] = open_.enter_context(
                tidegate.attach(deployment.query, policy, max_executors=MAXIMUM, options=options, store=None)
            )
        began = time.time()
        turns = dict.fromkeys(deployments, 0)
        while time.time() < began + minutes * 60:
            totals.append((time.time(), driver.requested_total() or 0, len(status.executors())))
            for job, _, _, loads, seconds in QUERIES:
                turn = int((time.time() - began) / seconds)
                if turn != turns[job]:
                    turns[job] = turn
                    deployments[job].offer(Constant(100_000, level=loads[turn % 2]))
            time.sleep(0.5)
        for deployment in deployments.values():
            deployment.engine.observe()
    return judged(totals, attachments)


def judged(totals: list[tuple[float, int, int]], attachments: dict[str, Attachment]) -> bool:
    decided = sorted(
        (tick.observation.time, job, tick.observation.requested, tick.steps[-1].decision)
        for job, attachment in attachments.items()
        for tick in attachment.ticks
        if tick.acted
    )
    swings = [
        (at, before, after)
        for (_, before, _), (at, after, _) in pairwise(totals)
        # killing executors lowers the total for an instant, before it is declared again
        if before != after and not any(at - 30 <= moment <= at for moment, *_ in decided)
    ]
    for moment, job, before, decision in decided:
        clock = time.strftime("%H:%M:%S", time.localtime(moment))
        print(f"{clock} {job}: {before} -> {decision.executors}, {decision.reason[:90]}")
    most = max(total for _, total, _ in totals)
    seen = max(present for _, _, present in totals)
    changes = sum(a[1] != b[1] for a, b in pairwise(totals))
    events = [event for a in attachments.values() for tick in a.ticks for event in tick.observation.events]
    foreign = [event for event in events if event.kind in ("ForeignChange", "ExecutorLost")]
    print(f"{len(decided)} decisions carried out, {changes} changes of the total, {len(swings)} that nobody asked for")
    print(f"total at most {most} of {MAXIMUM}, executors seen at most {seen}, foreign or lost: {len(foreign)}")
    print({job: attachment.status for job, attachment in attachments.items()})
    return not swings and most <= MAXIMUM and not foreign


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    return 0 if run(parser.parse_args().minutes) else 1


if __name__ == "__main__":
    sys.exit(main())
