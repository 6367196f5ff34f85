"""Throughput of the embedded source on one core, beside Spark's own `rate` sources in the same run.

Driver, executor and Python worker share one core (local mode), so the figures include everything. Each measurement is
the median batch of one query into a `noop` sink. The sources take turns; the output has the spread over the rounds.

    python benchmarks/source.py [--rounds 3] [--batches 6]
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from tidegate.sources.embedded import register
from tidegate.workloads import Constant

ROWS = 8_000_000


def spark_session() -> SparkSession:
    settings = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.driver.host": "127.0.0.1"}
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def sources(spark: SparkSession) -> dict[str, DataFrame]:
    load = json.dumps(Constant(3600, level=1e9).spec())
    ours = spark.readStream.format("tidegate").options(workload=load, partitions="1", maxRowsPerTrigger=str(ROWS))
    theirs = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=str(ROWS), numPartitions="1")
    endless = spark.readStream.format("rate").options(rowsPerSecond=str(ROWS // 2), numPartitions="1")
    return {
        "rate": endless.load(),
        "rate-micro-batch": theirs.load(),
        "numbers": ours.option("events", "numbers").load(),
        "bids": ours.option("events", "bids").load(),
    }


def rate(stream: DataFrame, batches: int) -> float:
    """Records/s of the median batch, without the first."""
    with tempfile.TemporaryDirectory() as checkpoint:
        query = stream.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        done: list[StreamingQueryProgress] = []
        while len(done) <= batches:
            time.sleep(0.5)
            done = [p for p in query.recentProgress if p["numInputRows"] >= ROWS / 2]
        query.stop()
    return statistics.median(p["numInputRows"] / (p["durationMs"]["triggerExecution"] / 1000) for p in done[1:])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=6)
    given = parser.parse_args()
    spark = spark_session()
    register(spark)
    streams = sources(spark)
    found: dict[str, list[float]] = {name: [] for name in streams}
    for _ in range(given.rounds):
        for name, stream in streams.items():
            found[name].append(rate(stream, given.batches))
    spark.stop()
    base = statistics.median(found["rate"])
    for name, rates in found.items():
        middle = statistics.median(rates)
        spread = f"{min(rates) / 1e6:.2f} to {max(rates) / 1e6:.2f}"
        print(f"{name:18} {middle / 1e6:.2f} M records/s per core ({spread}), {middle / base:.2f} x rate")


if __name__ == "__main__":
    main()
