"""A Spark session for one batch job, in local mode or on a cluster."""

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
    """Where the job runs: on `master`, or in local mode on `cores` cores (None: all).

    >>> Machine().url, Machine(cores=2).url
    ('local[*]', 'local[2]')
    """

    master: str | None = None
    cores: int | None = None
    #: driver heap in MiB; in local mode it does all the work
    memory: int = 1024

    def __post_init__(self) -> None:
        if self.cores is not None and self.cores < 1:
            raise InvalidInput(f"need at least one core, got {self.cores}")
        if self.cores is not None and self.master is not None:
            raise InvalidInput(f"--cores is for local mode only: with --master {self.master} the cluster decides")

    @property
    def url(self) -> str:
        return self.master or f"local[{self.cores or '*'}]"

    @property
    def is_local(self) -> bool:
        """Whether everything runs on this machine, so that the driver can bind to the loopback address."""
        return self.url.startswith("local") or urlsplit(self.url).hostname in (HOST, "localhost")

    def settings(self, folder: Path) -> dict[str, str]:
        return {
            "spark.app.name": "tidegate trace",
            "spark.driver.memory": f"{self.memory}m",
            "spark.sql.session.timeZone": "UTC",
            # a log may have both columns `Time` and `time`
            "spark.sql.caseSensitive": "true",
            "spark.sql.shuffle.partitions": "32",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            # pandas writes nanosecond timestamps, which Spark would otherwise reject
            "spark.sql.legacy.parquet.nanosAsLong": "true",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "WARN",
        }


@contextmanager
def batch_session(machine: Machine, folder: Path) -> Iterator[SparkSession]:
    """A session that keeps its log and shuffle files in `folder`."""
    find_java()
    settings = machine.settings(folder)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if machine.is_local:
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
    """Run `call` in a thread of its own, so that Ctrl-C can interrupt it.

    In the main thread Ctrl-C would hit a call into the JVM, and py4j would print a stack trace. Here it stops Spark,
    which ends the call, and waits for the call's cleanup.
    """
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call).result()
    except KeyboardInterrupt:
        finish("stopping Spark", spark.stop)
        raise
    finally:
        pool.shutdown()
