"""The trace itself: a row for every second, written by Spark and put in place when it is whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.core import InvalidInput
from tidegate.traces.counting import GOOD, Total


@dataclass(frozen=True, slots=True)
class Draft:
    """A folder beside the place where the trace will be, on the same disk."""

    folder: Path
    target: Path

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def publish(self) -> None:
        """Replace what was there, in one step."""
        written = list(self.parts.glob("part-*.parquet"))
        if len(written) != 1:
            raise InvalidInput(
                f"Spark wrote the trace, but {self.parts} does not hold it: executors on other machines"
                " need to see the folder of -o"
            )
        os.replace(written[0], self.target)


@contextmanager
def draft(target: Path) -> Iterator[Draft]:
    """Gone afterwards, however the block ends; what is not published leaves no trace."""
    if target.is_dir():
        raise InvalidInput(f"cannot write the trace to {target}: it is a folder")
    if not target.parent.is_dir():
        raise InvalidInput(f"cannot write the trace to {target}: there is no folder {target.parent}")
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise InvalidInput(f"cannot write the trace to {target}: {error.strerror}") from None
    try:
        yield Draft(folder.resolve(), target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fill(spark: SparkSession, counts: DataFrame, total: Total, parts: Path) -> DataFrame:
    """Write every second from the first to the last to one file, in order, and give back what was written."""
    assert total.first is not None
    assert total.last is not None
    good = counts.where(F.col("kind") == GOOD).select("second", "rows", "size")
    every = spark.range(total.first, total.last + 1).withColumnRenamed("id", "second")
    columns = {"time": F.timestamp_seconds("second"), "rate": F.coalesce("rows", F.lit(0))}
    if total.size is not None:
        columns["bytes"] = F.coalesce("size", F.lit(0))
    filled = every.join(good, "second", "left").select(*[column.alias(name) for name, column in columns.items()])
    filled.repartition(1).sortWithinPartitions("time").write.parquet(parts.as_uri(), compression="zstd")
    return spark.read.parquet(parts.as_uri())
