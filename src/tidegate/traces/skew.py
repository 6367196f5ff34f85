"""How the good rows lie on keys: a second pass over the logs, for those who name a key."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.cluster.jvm_shutdown import finish
from tidegate.traces.counting import GOOD
from tidegate.traces.result import Hot, Skew

TOP = 10


def skew(rows: DataFrame, column: str) -> Skew:
    """Exact, the number of keys too: they are counted on disk."""
    keys = rows.where(F.col("kind") == GOOD).groupBy("key").agg(F.count(F.lit(1)).alias("rows"))
    keys.persist(StorageLevel.DISK_ONLY)
    try:
        whole = keys.agg(F.count(F.lit(1)).alias("keys"), F.sum("rows").alias("rows")).collect()[0]
        # of keys with equally many rows the first by name, so that two runs agree
        top = keys.orderBy(F.desc("rows"), "key").limit(TOP).collect()
    finally:
        finish("dropping the keys", keys.unpersist)
    hot = tuple(Hot(row["key"], row["rows"], row["rows"] / whole["rows"]) for row in top)
    return Skew(column, whole["keys"], hot)
