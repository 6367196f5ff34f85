"""The result of a query in update mode, whose batches revise rows: every revision kept, the last of each key read.

A batch is written under its number and replaces what was there, so one that ran again after a restart counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F


def keep(folder: Path) -> Callable[[DataFrame, int], None]:
    """For `foreachBatch`."""
    return lambda rows, batch: rows.write.mode("overwrite").parquet(str(folder / f"batch={batch}"))


def latest(spark: SparkSession, folder: Path, key: Sequence[str]) -> DataFrame:
    revisions = spark.read.parquet(str(folder))
    newest = Window.partitionBy(*key).orderBy(F.col("batch").desc())
    ranked = revisions.withColumn("rank", F.row_number().over(newest))
    return ranked.where("rank = 1").drop("rank", "batch")
