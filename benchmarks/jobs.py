"""Events per second of each job on one core, and the size of its state.

Driver, executor and Python worker share one core (local mode), so the figures include everything: generating the
events, moving them to Spark, the query. A job runs in back-to-back batches into a `noop` sink, with all records
available at the start. The figure is the median batch without the first four. `typed events` is the NEXMark generator
alone: persons, auctions and bids into `noop`.

    python benchmarks/jobs.py [--batches 6] [--only q1,q5]
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

from pyspark.sql import DataFrame, SparkSession

from tidegate.cluster.session import ROCKSDB
from tidegate.jobs import JOBS
from tidegate.sources.embedded import register
from tidegate.sources.streams import stream
from tidegate.workloads import Constant

#: batches until the JVM has compiled what it runs, on the same core
WARM = 4


@dataclass(frozen=True)
class Size:
    """Records per batch, and per second of event time."""

    batch: int
    rate: int = 100_000


SIZES = {
    "q1": Size(6_000_000),
    "q2": Size(6_000_000),
    "typed events": Size(6_000_000),
    "q3": Size(1_500_000),
    "q5": Size(600_000),
    "q8": Size(1_500_000),
    "q11": Size(1_500_000),
    "wordcount": Size(300_000),
    "ysb": Size(1_000_000),
    "traffic": Size(300_000, 20_000),
    "topspeed": Size(20_000, 2_000),
}


def spark_session() -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def query(spark: SparkSession, name: str) -> tuple[DataFrame, str]:
    size, job = SIZES[name], JOBS.get(name)
    options = {
        "events": job.events if job else "nexmark",
        "workload": json.dumps(Constant(3600, level=1e9).spec()),
        "eventRate": str(size.rate),
        "partitions": "1",
        "maxRowsPerTrigger": str(size.batch),
        "start": repr(time.time() - 3600),
    }
    records = stream(spark, options)
    return (job.build(records), job.mode) if job else (records, "append")


def measure(spark: SparkSession, name: str, batches: int) -> tuple[list[float], list[dict[str, Any]]]:
    result, mode = query(spark, name)
    with tempfile.TemporaryDirectory() as folder:
        running = result.writeStream.format("noop").outputMode(mode).option("checkpointLocation", folder).start()
        done: list[Any] = []
        while len(done) < batches + WARM:
            time.sleep(0.5)
            done = [p for p in running.recentProgress if p["numInputRows"]]
        running.stop()
    rates = [SIZES[name].batch / (p["durationMs"]["triggerExecution"] / 1000) for p in done[WARM:]]
    return rates, list(done[-1]["stateOperators"])


def state(operators: list[dict[str, Any]]) -> str:
    """Rows, and RocksDB's bytes per row: in memory as Spark reports them, and in files."""
    rows = sum(o["numRowsTotal"] for o in operators)
    if not rows:
        return "no state"
    memory = sum(o["memoryUsedBytes"] for o in operators)
    files = sum(o["customMetrics"].get("rocksdbSstFileSize", 0) for o in operators)
    return f"{rows:,} rows of state, {memory / rows:,.0f} B each in memory, {files / rows:,.0f} B in files"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--only", default=",".join(SIZES))
    given = parser.parse_args()
    spark = spark_session()
    register(spark)
    for name in given.only.split(","):
        rates, operators = measure(spark, name, given.batches)
        middle = statistics.median(rates)
        spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
        print(f"{name:13} {middle:>10,.0f} events/s per core ({spread}); {state(operators)}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
