"""The trace file: one row per second, written by Spark and moved into place once it is complete."""

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
from tidegate.traces.problems import GOOD, Total


@dataclass(frozen=True, slots=True)
class Draft:
    """A temporary folder next to the target, on the same file system."""

    folder: Path
    target: Path

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def publish(self) -> None:
        """Replace the target atomically."""
        files = list(self.parts.glob("part-*.parquet"))
        if len(files) != 1:
            raise InvalidInput(
                f"Spark wrote the trace, but it is not in {self.parts}: executors on other machines"
                " need access to the folder of -o"
            )
        os.replace(files[0], self.target)


@contextmanager
def draft(target: Path) -> Iterator[Draft]:
    """A draft that is removed at the end of the block. Unless it is published, the target does not change."""
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


def write_seconds(spark: SparkSession, counts: DataFrame, total: Total, parts: Path) -> DataFrame:
    """Write every second from the first to the last to one sorted file, and return the written rows."""
    assert total.first is not None
    assert total.last is not None
    good = counts.where(F.col("kind") == GOOD).select("second", "rows", "size")
    seconds = spark.range(total.first, total.last + 1).withColumnRenamed("id", "second")
    columns = {"time": F.timestamp_seconds("second"), "rate": F.coalesce("rows", F.lit(0))}
    if total.size is not None:
        columns["bytes"] = F.coalesce("size", F.lit(0))
    filled = seconds.join(good, "second", "left").select(*[column.alias(name) for name, column in columns.items()])
    filled.repartition(1).sortWithinPartitions("time").write.parquet(parts.as_uri(), compression="zstd")
    return spark.read.parquet(parts.as_uri())
