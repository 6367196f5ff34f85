"""Attach to a query of one's own, here on Spark's `rate` source.

    spark-submit --master 'local-cluster[2,1,800]' --conf spark.executor.memory=512m examples/attach.py 60

Any master will do that has executors. The number is how many seconds to run.
"""

import sys

from pyspark.sql import SparkSession

import tidegate

seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
spark = SparkSession.builder.appName("attach").getOrCreate()

events = spark.readStream.format("rate").option("rowsPerSecond", 10_000).load()
counts = events.selectExpr("value % 10 AS key").groupBy("key").count()
query = counts.writeStream.format("noop").outputMode("update").trigger(processingTime="5 seconds").start()

# at this load one executor is enough: once both have compiled their code, the other goes after a window of 10 s
patient = {"interval": 2, "readiness": 5, "down-window": 10, "target": 0.9}
with tidegate.attach(query, "hpa-cpu", min_executors=1, max_executors=2, options=patient, store=None) as scaler:
    query.awaitTermination(seconds)

for tick in scaler.ticks:
    if tick.acted and tick.decision:
        print(f"{tick.observation.requested} -> {tick.decision.executors}: {tick.decision.reason}")
last = scaler.ticks[-1].observation
print(f"{last.executors} executors at the end, {last.arrival_rate or 0:.0f} records/s arrived")
query.stop()
spark.stop()
