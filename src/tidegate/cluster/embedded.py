"""A Spark cluster inside the driver's own JVM: real executor processes, nothing to install.

It is what Spark's `local-cluster` master makes, with two differences that matter here. `local-cluster[8,…]` starts
all eight executors at once and only then can be told that one is enough (30 s of a two-core machine); here the first
worker comes with the session, and the others when the total has been declared. And its files lie where we say, not in
Spark's installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkContext

HOST = "127.0.0.1"


class EmbeddedCluster:
    """A master and its workers, each with room for one executor. The JVM must have been started."""

    def __init__(self, *, cores: int, memory: int, folder: Path, conf: Mapping[str, str]) -> None:
        """`memory` is a worker's, in MiB."""
        jvm: Any = SparkContext._jvm
        self._jvm = jvm
        self._cores, self._memory, self._folder = cores, memory, folder
        self._conf = jvm.org.apache.spark.SparkConf(False)
        for key, value in conf.items():
            self._conf.set(key, value)
        started = self._singleton("master.Master").startRpcEnvAndEndpoint(HOST, 0, 0, self._conf)
        self._master = started._1()
        self.url = str(self._master.address().toSparkURL())
        self._workers: list[Any] = []

    def add_worker(self) -> None:
        gateway: Any = SparkContext._gateway
        urls = gateway.new_array(self._jvm.java.lang.String, 1)
        urls[0] = self.url
        number = self._jvm.scala.Option.apply(len(self._workers) + 1)
        nothing = self._jvm.scala.Option.empty()
        size = (self._cores, self._memory, urls, str(self._folder))
        start = self._singleton("worker.Worker").startRpcEnvAndEndpoint
        self._workers.append(start(HOST, 0, 0, *size, number, self._conf, nothing))

    def close(self) -> None:
        """Workers first: each ends its executors."""
        for part in (*self._workers, self._master):
            part.shutdown()
        for part in (*self._workers, self._master):
            part.awaitTermination()

    def _singleton(self, name: str) -> Any:
        package, _, cls = name.partition(".")
        holder = getattr(getattr(self._jvm.org.apache.spark.deploy, package), f"{cls}$")
        return getattr(holder, "MODULE$")
