"""A Spark cluster inside the driver's own JVM: real executor processes, nothing to install.

It resembles Spark's `local-cluster` master, with two differences. `local-cluster[8,…]` starts all eight executors
before the total can be reduced, which takes 30 s on a machine with two cores; here only the initial workers start with
the session, and the others follow once the total has been declared. And its files are in a folder of our choice instead
of Spark's installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.cluster.jvm import Node, start_master

HOST = "127.0.0.1"


class EmbeddedCluster:
    """A master and workers for one executor each. Requires a running JVM."""

    def __init__(self, *, cores: int, memory: int, folder: Path, conf: Mapping[str, str]) -> None:
        """`memory` is that of a worker, in MiB."""
        self._size, self._folder = (cores, memory), folder
        self._master = start_master(HOST, conf)
        self._workers: list[Node] = []

    @property
    def url(self) -> str:
        return self._master.url

    def add_worker(self) -> None:
        number = len(self._workers) + 1
        self._workers.append(self._master.start_worker(HOST, self._size, str(self._folder), number))

    def close(self) -> None:
        """Stop the workers first, as each ends its executors."""
        nodes = (*self._workers, self._master)
        for node in nodes:
            node.shutdown()
        for node in nodes:
            node.await_end()
