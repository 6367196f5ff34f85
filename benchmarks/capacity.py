"""Capacity of q1 with 1, 2, 4 and 8 executors under CPU quotas, and the cost of a rescale.

One query on the embedded cluster processes batches of a fixed size back to back. The capacity for a number of executors
is records divided by duration of the median batch, once batch times have settled. The cost of a rescale is the longest
batch between the request and the settled state, as a multiple of a settled batch before it.

    python benchmarks/capacity.py [--quota 0.15] [--limit 1200000] [--rounds 1]
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from tidegate.cluster.quota import Quotas, quotas
from tidegate.cluster.session import Cluster, session, workspace
from tidegate.core import Batch, Decision
from tidegate.jobs import job
from tidegate.sources.embedded import register
from tidegate.spark.engine import SparkEngine, Watching
from tidegate.workloads import Constant

STEPS = (1, 2, 4, 8, 2)


@dataclass(frozen=True)
class Settled:
    executors: int
    #: records/s of the median batch
    capacity: float
    #: seconds of the median batch, and of the longest since the request
    batch: float
    longest: float
    reruns: int


@contextmanager
def watched_query(spark: SparkSession, limit: int, folder: Path) -> Iterator[tuple[SparkEngine, Quotas]]:
    options = {
        "workload": json.dumps(Constant(36_000, level=1e8).spec()),
        "partitions": "16",
        "maxRowsPerTrigger": str(limit),
    }
    records = spark.readStream.format("tidegate").options(**options).load()
    writer = job("q1").build(records).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        with quotas(str(spark.sparkContext.applicationId), given.quota) as kept:
            if kept is None:
                sys.exit("capacity: this benchmark needs CPU quotas (see tidegate doctor)")
            with closing(SparkEngine(spark, query, Watching(quotas=kept, base=0))) as engine:
                yield engine, kept
        failure = query.exception()
        if failure is not None:
            sys.exit(f"capacity: a batch failed: {failure}")
    finally:
        query.stop()


def batches(engine: SparkEngine, kept: Quotas) -> Iterator[tuple[Batch, int, int]]:
    """Each finished batch, with the number of executors under their quota and the tasks rerun so far."""
    while True:
        obs = engine.observe()
        bound = sum(kept.allowance(sample.id, 1) < 1 for sample in obs.per_executor)
        for batch in obs.batches:
            yield batch, bound if bound == obs.executors else -1, obs.rerun_tasks
        time.sleep(0.2)


def settle(engine: SparkEngine, kept: Quotas, executors: int, need: int = 5) -> Settled:
    """Rescale, then wait for `need` consecutive batches with that many executors, the last half of which agree within
    a fifth.
    """
    engine.scale(Decision(executors, "benchmark"))
    since, spans, reruns = time.time(), [], None
    longest = 0.0
    for batch, running, again in batches(engine, kept):
        reruns = again if reruns is None else reruns
        if batch.finished < since:
            continue
        span = batch.finished - batch.planned
        longest = max(longest, span)
        spans = [*spans, span] if running == executors else []
        last = spans[-need // 2 :]
        if len(spans) >= need and max(last) < 1.2 * min(last):
            middle = statistics.median(last)
            return Settled(executors, given.limit / middle, middle, longest, again - reruns)
    raise AssertionError("endless")


def main() -> None:
    found: list[Settled] = []
    with workspace() as folder, session(Cluster(initial=1, maximum=max(STEPS)), folder) as spark:
        register(spark)
        with watched_query(spark, given.limit, folder) as (engine, kept):
            for _ in range(given.rounds):
                for executors in STEPS:
                    found.append(settle(engine, kept, executors))
                    tell(found)


def tell(found: list[Settled]) -> None:
    last = found[-1]
    one = statistics.median(s.capacity for s in found if s.executors == 1)
    line = f"{last.executors} executors: {last.capacity / 1e3:6.0f} k records/s, {last.capacity / one:4.2f} x one,"
    line += f" batch {last.batch:5.2f} s, {last.reruns} tasks run again"
    if len(found) > 1:
        line += f", longest batch {last.longest:.1f} s = {last.longest / found[-2].batch:.1f} x the settled one before"
    print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quota", type=float, default=0.15)
    parser.add_argument("--limit", type=int, default=1_200_000)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    main()
