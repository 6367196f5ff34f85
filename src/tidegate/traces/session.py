"""A Spark session for one batch job: on all cores of this machine, or on a given master."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from tidegate.cluster.embedded import HOST
from tidegate.cluster.java import find_java
from tidegate.cluster.jvm_shutdown import finish
from tidegate.cluster.session import check_reachable, connect, jvm
from tidegate.core import InvalidInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where to count. `cores` are those of this machine; None: all.

    >>> Machine().url, Machine(cores=2).url
    ('local[*]', 'local[2]')
    """

    master: str | None = None
    cores: int | None = None
    #: heap of the driver, MiB; on this machine all the work is done in it
    memory: int = 1024

    def __post_init__(self) -> None:
        if self.cores is not None and self.cores < 1:
            raise InvalidInput(f"need at least one core, got {self.cores}")
        if self.cores is not None and self.master is not None:
            raise InvalidInput(f"--cores are those of this machine; with --master {self.master} the cluster gives them")

    @property
    def url(self) -> str:
        return self.master or f"local[{self.cores or '*'}]"

    @property
    def here(self) -> bool:
        return self.url.startswith("local") or urlsplit(self.url).hostname in (HOST, "localhost")

    def settings(self, folder: Path) -> dict[str, str]:
        return {
            "spark.app.name": "tidegate trace",
            "spark.driver.memory": f"{self.memory}m",
            "spark.sql.session.timeZone": "UTC",
            # `Time` and `time` may both be columns of a log
            "spark.sql.caseSensitive": "true",
            "spark.sql.shuffle.partitions": "32",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            # pandas writes these, and Spark would refuse them
            "spark.sql.legacy.parquet.nanosAsLong": "true",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "WARN",
        }


@contextmanager
def batch_session(machine: Machine, folder: Path) -> Iterator[SparkSession]:
    """Spark's log goes to a file in `folder`, where its shuffle files are too."""
    find_java()
    settings = machine.settings(folder)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if machine.here:
        os.environ["SPARK_LOCAL_IP"] = HOST
        settings["spark.driver.host"] = HOST
    if machine.url.startswith("spark://"):
        check_reachable(machine.url)
    with jvm(settings, folder):
        spark = connect(machine.url, settings)
        try:
            yield spark
        finally:
            finish("stopping Spark", spark.stop)


def interruptible(spark: SparkSession, call: Callable[[], T]) -> T:
    """Do what takes long in a thread of its own. Ctrl-C then meets a waiting Python and not a call into the JVM, of
    which py4j would make a stack trace; Spark is stopped, which ends the call, and its cleaning up is waited for.
    """
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call).result()
    except KeyboardInterrupt:
        finish("stopping Spark", spark.stop)
        raise
    finally:
        pool.shutdown()
