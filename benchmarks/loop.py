"""Cost of the controller: time to observe and decide beside a busy query, and CPU of its thread.

python benchmarks/loop.py [--executors 4] [--seconds 90] [--job q11]
"""

import argparse
import json
import statistics
import time
from contextlib import closing

from tidegate.cluster.quota import quotas
from tidegate.cluster.session import Cluster, session, workspace
from tidegate.core import Limits
from tidegate.jobs import job
from tidegate.presets import autoscaler
from tidegate.sources.embedded import register
from tidegate.spark.clock import WallClock
from tidegate.spark.engine import SparkEngine, Watching
from tidegate.workloads import Constant


def measure(engine: SparkEngine, seconds: float) -> tuple[list[float], float]:
    """Wall time of each turn, and the share of one core that the thread used."""
    scaler = autoscaler("hpa-cpu", Limits(1, 8), {"interval": 1})
    clock, turns = WallClock(), []
    began, used = time.monotonic(), time.thread_time()
    while time.monotonic() - began < seconds:
        started = time.time()
        obs = engine.observe()
        scaler.observe(obs)
        scaler.decide(obs)
        turns.append(time.time() - started)
        clock.sleep_until(started + 1)
    return turns, (time.thread_time() - used) / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--executors", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--job", default="q11")
    given = parser.parse_args()
    kind = job(given.job)
    load = json.dumps(Constant(3600, level=60_000).spec())
    options = {"workload": load, "partitions": "8", "maxRowsPerTrigger": "200000", "eventRate": "60000"}
    with (
        workspace() as folder,
        session(Cluster(initial=given.executors, maximum=given.executors), folder) as spark,
        quotas(str(spark.sparkContext.applicationId), 0.25) as kept,
    ):
        register(spark)
        records = spark.readStream.format("tidegate").options(**options).load()
        writer = kind.build(records).writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.trigger(processingTime="2 seconds").start()
        with closing(SparkEngine(spark, query, Watching(quotas=kept, base=0))) as engine:
            measure(engine, 30)  # until things have warmed up
            turns, cpu = measure(engine, given.seconds)
        query.stop()
    ordered = sorted(turns)
    p95 = ordered[int(0.95 * len(ordered))]
    print(
        f"{given.job}, {given.executors} executors, {len(turns)} turns: median {statistics.median(turns) * 1e3:.1f} ms,"
        f" p95 {p95 * 1e3:.1f} ms, max {max(turns) * 1e3:.1f} ms; thread {cpu:.2%} of one core"
    )


if __name__ == "__main__":
    main()
