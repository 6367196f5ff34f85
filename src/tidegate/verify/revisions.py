"""The result of a query in update mode, whose batches revise rows: all revisions are kept, and the last of each key is
read.

A batch is written under its number and replaces earlier output, so a batch that is rerun after a restart counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F


def keep(folder: Path) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that writes each batch to the folder."""
    return lambda rows, batch: rows.write.mode("overwrite").parquet(str(folder / f"batch={batch}"))


def latest(spark: SparkSession, folder: Path, key: Sequence[str]) -> DataFrame:
    return newest(spark.read.parquet(str(folder)), key, "batch").drop("batch")


def newest(revisions: DataFrame, key: Sequence[str], order: str) -> DataFrame:
    """The last row of each key by a column."""
    last = Window.partitionBy(*key).orderBy(F.col(order).desc())
    return revisions.withColumn("rank", F.row_number().over(last)).where("rank = 1").drop("rank")
