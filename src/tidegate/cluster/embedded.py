"""A Spark cluster inside the driver's own JVM: real executor processes, nothing to install.

It is what Spark's `local-cluster` master makes, with two differences that matter here. `local-cluster[8,…]` starts all
eight executors at once and only then can be told that one is enough (30 s of a two-core machine); here the first worker
comes with the session, and the others when the total has been declared. And its files lie where we say, not in Spark's
installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.cluster.jvm import Part, start_master

HOST = "127.0.0.1"


class EmbeddedCluster:
    """A master and its workers, each with room for one executor. The JVM must have been started."""

    def __init__(self, *, cores: int, memory: int, folder: Path, conf: Mapping[str, str]) -> None:
        """`memory` is a worker's, in MiB."""
        self._size, self._folder = (cores, memory), folder
        self._master = start_master(HOST, conf)
        self._workers: list[Part] = []

    @property
    def url(self) -> str:
        return self._master.url

    def add_worker(self) -> None:
        number = len(self._workers) + 1
        self._workers.append(self._master.start_worker(HOST, self._size, str(self._folder), number))

    def close(self) -> None:
        """Workers first: each ends its executors."""
        parts = (*self._workers, self._master)
        for part in parts:
            part.shutdown()
        for part in parts:
            part.await_end()
