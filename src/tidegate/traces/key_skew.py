"""Distribution of the good rows over keys: a second pass over the logs, only if a key column is named."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.cluster.jvm_shutdown import finish
from tidegate.traces.problems import GOOD
from tidegate.traces.result import HotKey, Skew

TOP = 10


def measure_skew(rows: DataFrame, column: str) -> Skew:
    """Exact, including the number of distinct keys: the counts are persisted on disk."""
    keys = rows.where(F.col("kind") == GOOD).groupBy("key").agg(F.count(F.lit(1)).alias("rows"))
    keys.persist(StorageLevel.DISK_ONLY)
    try:
        total = keys.agg(F.count(F.lit(1)).alias("keys"), F.sum("rows").alias("rows")).collect()[0]
        # keys with equally many rows are ordered by name, so that repeated runs agree
        top = keys.orderBy(F.desc("rows"), "key").limit(TOP).collect()
    finally:
        finish("dropping the keys", keys.unpersist)
    hottest = tuple(HotKey(row["key"], row["rows"], row["rows"] / total["rows"]) for row in top)
    return Skew(column, total["keys"], hottest)
