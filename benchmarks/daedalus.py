"""Daedalus on real Spark: estimated against measured capacity, predicted against measured recovery times.

Capacity, for 4, 3, 2 and 1 executors under CPU quotas: the load swings between 45 and 95 % of capacity while a new
Daedalus watches for two loops and makes its estimate. Then the load exceeds capacity, and the throughput is measured. A
saturated batch holds the arrivals of 1.1 trigger intervals: larger ones cost less per record, but a query that waits
for them is late.

Recovery: at 55 % of the capacity of three executors, the number of executors is changed repeatedly. Each change records
the policy's prediction and the time until the backlog is back at its level of the seconds before.

    python benchmarks/daedalus.py [--job q1] [--executors 4 3 2 1] [--quota 0.3] [--rescales 10] [--batch 8e6]
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from tidegate.cluster.quota import Quotas, quotas
from tidegate.cluster.session import Cluster, session, workspace
from tidegate.core import Batch, Decision, Limits, Observation
from tidegate.jobs import job
from tidegate.policies import Daedalus
from tidegate.sources.embedded import register
from tidegate.spark.engine import SparkEngine, Watching
from tidegate.workloads import Constant, Shape, Steps

#: 12 tasks fill the slots of 1, 2, 3 and 4 executors evenly
MOST, TRIGGER, WIDTH = 4, 4.0, 12
LIMITS = Limits(1, MOST)
#: seconds until the first batches of a new query are over, of a policy's watching, and of the measurement after it
SETTLE, WATCH, MEASURE = 20.0, 125.0, 40.0
#: executors after each rescale; it begins with the last one
PATH = (3, 4, 2, 3, 2)


@dataclass
class Bench:
    spark: SparkSession
    kept: Quotas
    folder: Path
    queries: int = 0

    @contextmanager
    def query(self, load: Shape, most: float) -> Iterator[SparkEngine]:
        """A new query under a load that starts now, with at most `most` records per batch."""
        self.queries += 1
        options = {
            "workload": json.dumps(load.spec()),
            "partitions": str(WIDTH),
            "maxRowsPerTrigger": str(int(most)),
            "eventRate": "100000",
            "start": repr(time.time()),
        }
        records = self.spark.readStream.format("tidegate").options(**options).load()
        writer = job(given.job).build(records).writeStream.format("noop")
        place = writer.option("checkpointLocation", str(self.folder / f"checkpoint-{self.queries}"))
        query = place.trigger(processingTime=f"{int(TRIGGER)} seconds").start()
        try:
            with closing(SparkEngine(self.spark, query, Watching(quotas=self.kept, base=0))) as engine:
                yield engine
        finally:
            query.stop()

    def bound(self, obs: Observation, executors: int) -> bool:
        """Whether this many executors are running, all under their quota."""
        under = sum(self.kept.allowance(sample.id, 1) < 1 for sample in obs.per_executor)
        return obs.executors == under == executors

    def saturate(self, executors: int, most: float, seconds: float) -> float:
        """Throughput of a saturated query, once it has this many executors under their quota."""
        with self.query(Constant(36_000, level=1e9), most) as engine:
            engine.scale(Decision(executors, "benchmark"))
            watch(engine, 600, until=lambda obs: self.bound(obs, executors))
            found = watch(engine, seconds)
            while sum(len(obs.batches) for obs in found) < 4:
                found += watch(engine, 5)
        seen = [batch for obs in found for batch in obs.batches][1:]
        return (seen[-1].end - seen[0].end) / (seen[-1].finished - seen[0].finished)


def watch(
    engine: SparkEngine,
    seconds: float,
    policy: Daedalus | None = None,
    until: Callable[[Observation], bool] = lambda obs: False,
) -> list[Observation]:
    """Once a second."""
    seen, began = [], time.time()
    while time.time() - began < seconds:
        started = time.time()
        seen.append(engine.observe())
        if policy is not None:
            policy.observe(seen[-1])
        if until(seen[-1]):
            break
        time.sleep(max(0.0, 1 - (time.time() - started)))
    return seen


def capacities(bench: Bench) -> dict[int, float]:
    """Measured capacity by number of executors; prints each with its estimate."""
    found: dict[int, float] = {}
    each = bench.saturate(MOST, given.batch, given.warm) / MOST
    for executors in given.executors:
        policy = Daedalus(limits=LIMITS)
        with bench.query(swing_then_flood(each * executors), 1.1 * TRIGGER * each * executors) as engine:
            engine.scale(Decision(executors, "benchmark"))
            watch(engine, SETTLE)
            watch(engine, WATCH, policy)
            estimate = policy.capacity.capacity(executors)
            seen = [batch for obs in watch(engine, MEASURE) for batch in obs.batches]
        if estimate is None:
            sys.exit(f"daedalus: nothing was estimated for {executors} executors")
        found[executors] = tell_capacity(executors, estimate, seen[2:])  # what came before the flood is over by then
        each = found[executors] / executors
    return found


def swing_then_flood(capacity: float) -> Steps:
    """One level per second."""
    calm = int(SETTLE + WATCH)
    swing = [capacity * (0.7 + 0.25 * math.cos(2 * math.pi * k / 60)) for k in range(calm)]
    levels = [*(round(rate) for rate in swing), *[round(50 * capacity)] * int(2 * MEASURE)]
    return Steps(len(levels), levels=tuple(levels))


def tell_capacity(executors: int, estimate: float, seen: list[Batch]) -> float:
    """Print the capacity measured by the batches beside the estimate."""
    rates = [(batch.end - batch.begin) / (batch.finished - batch.planned) for batch in seen]
    measured = sum(b.end - b.begin for b in seen) / sum(b.finished - b.planned for b in seen)
    print(
        f"{given.job} {executors} executors: estimated {estimate / 1e3:.0f} k/s, measured {measured / 1e3:.0f} k/s"
        f" ({min(rates) / 1e3:.0f} to {max(rates) / 1e3:.0f}, {len(rates)} batches): {estimate / measured - 1:+.1%}",
        flush=True,
    )
    return measured


def recoveries(bench: Bench, capacity: float) -> None:
    policy = Daedalus(limits=LIMITS)
    path = [PATH[k % len(PATH)] for k in range(given.rescales)]
    good = 0
    bench.saturate(PATH[-1], 2 * TRIGGER * capacity, 20)
    with bench.query(Constant(36_000, level=0.55 * capacity), 4 * TRIGGER * 0.55 * capacity) as engine:
        current = PATH[-1]
        watch(engine, 90, policy)
        for wished in path:
            before = [obs.backlog or 0.0 for obs in watch(engine, 10, policy)]
            engine.scale(Decision(wished, "benchmark"))
            asked = time.time()
            seen = watch(engine, 42, policy)
            predicted = policy.predicted
            measured = recovered(seen, asked, max(before))
            good += predicted is not None and predicted >= measured
            told = "unknown" if predicted is None else f"{predicted:.0f} s"
            own = f"{policy.watch.measured:.0f} s" if policy.watch.measured is not None else "still running"
            print(
                f"{given.job} {current} -> {wished}: predicted {told}, measured {measured:.0f} s by backlog;"
                f" the policy's own: {own}",
                flush=True,
            )
            current = wished
    print(f"{given.job}: {good} of {len(path)} predictions not below what was measured")


def recovered(seen: list[Observation], asked: float, normal: float) -> float:
    """Seconds from the rescale until the backlog last exceeded `normal` by more than a tenth."""
    late = [obs.time for obs in seen if (obs.backlog or 0.0) > 1.1 * normal]
    return max(late, default=asked) - asked


def main() -> None:
    with workspace() as folder, session(Cluster(MOST, MOST, shuffle_partitions=WIDTH), folder) as spark:
        register(spark)
        with quotas(str(spark.sparkContext.applicationId), given.quota) as kept:
            if kept is None:
                sys.exit("daedalus: this benchmark needs CPU quotas (see tidegate doctor)")
            bench = Bench(spark, kept, folder)
            found = capacities(bench)
            recoveries(bench, 3 * statistics.mean(rate / n for n, rate in found.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", default="q1")
    parser.add_argument("--executors", type=int, nargs="*", default=[4, 3, 2, 1])
    parser.add_argument("--quota", type=float, default=0.3)
    parser.add_argument("--rescales", type=int, default=10)
    parser.add_argument("--warm", type=float, default=120, help="seconds of full load before anything is measured")
    parser.add_argument("--batch", type=float, default=8e6, help="records that four executors need seconds for")
    given = parser.parse_args()
    main()
