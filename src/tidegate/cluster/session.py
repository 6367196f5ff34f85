"""Spark sessions on an embedded cluster or an existing master: started with their executors, cleaned up afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from tidegate.cluster import leftovers
from tidegate.cluster.authentication import authentication, closed_pages
from tidegate.cluster.embedded import HOST, EmbeddedCluster
from tidegate.cluster.executors import declare, victims
from tidegate.cluster.java import find_java
from tidegate.cluster.jvm import Driver, is_open, launch, renew
from tidegate.cluster.jvm_shutdown import finish
from tidegate.cluster.processes import tree
from tidegate.cluster.status import Status
from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.core.redaction import SPARK_REDACTION

#: memory that an executor's JVM needs besides its heap, in MiB
OVERHEAD = 100
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The session to start. Without a master, an embedded cluster with room for `maximum` executors is used."""

    initial: int = 1
    maximum: int = 4
    master: str | None = None
    cores: int = 1
    #: heap of an executor, MiB
    memory: int = 512
    shuffle_partitions: int = 8
    ui_port: int | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    def settings(self, folder: Path) -> dict[str, str]:
        ui = {"spark.ui.enabled": "false"}
        if self.ui_port is not None:
            ui = {"spark.ui.enabled": "true", "spark.ui.port": str(self.ui_port), "spark.port.maxRetries": "0"}
            ui["spark.ui.killEnabled"] = "false"  # the page knows no users
        return {
            "spark.app.name": "tidegate",
            "spark.executor.cores": str(self.cores),
            "spark.executor.memory": f"{self.memory}m",
            "spark.executor.instances": str(self.initial),
            # for small, short-lived executors the C1 compiler and the serial collector halve the CPU time of the start
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
            "spark.dynamicAllocation.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
            "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
            "spark.sql.streaming.noDataProgressEventInterval": "1000",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
            "spark.ui.showConsoleProgress": "false",
            "spark.ui.retainedJobs": "200",
            "spark.ui.retainedStages": "200",
            "spark.log.level": "WARN",
            # what Spark hides in its plans and on its page
            "spark.redaction.regex": SPARK_REDACTION,
            "spark.sql.redaction.options.regex": SPARK_REDACTION,
            **ui,
            **self.conf,
        }


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A temporary folder for checkpoints, shuffle files and logs, removed at the end of the block, or by the next run
    if this process is killed.
    """
    leftovers.sweep()
    folder = Path(tempfile.mkdtemp(prefix=leftovers.PREFIX))
    try:
        leftovers.claim(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def session(cluster: Cluster, folder: Path) -> Iterator[SparkSession]:
    """A session whose initial executors have registered."""
    _check(cluster)
    settings = cluster.settings(folder)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if _on_this_machine(cluster.master):
        os.environ["SPARK_LOCAL_IP"] = HOST
        settings["spark.driver.host"] = HOST
    with jvm(settings, folder), contextlib.ExitStack() as stack:
        if cluster.master is None:
            settings |= authentication()
        embedded = None if cluster.master else stack.enter_context(_embedded(cluster, settings, folder))
        spark = connect(embedded.url if embedded else str(cluster.master), settings)
        stack.callback(finish, "stopping Spark", spark.stop)
        # immediately, as a standalone master otherwise starts as many executors as it has room for
        declare(Driver(spark.sparkContext), [], cluster.initial)
        for _ in range(cluster.initial, cluster.maximum if embedded else 0):
            assert embedded is not None
            embedded.add_worker()
        _await_executors(spark, cluster)
        yield spark


def _on_this_machine(master: str | None) -> bool:
    """Whether the master runs on this machine, so that nothing needs to listen on external interfaces."""
    return master is None or urlsplit(master).hostname in (HOST, "localhost")


def _check(cluster: Cluster) -> None:
    find_java()
    master = cluster.master or ""
    if master.startswith("local"):
        raise InvalidInput(
            f"master {master!r} has no executors to add or remove; leave --master out for an embedded cluster"
        )
    if master.startswith("spark://"):
        check_reachable(master)
    elif master and not master.startswith(("yarn", "k8s://")):
        raise InvalidInput(f"master {master!r} is not spark://HOST:PORT, yarn or k8s://URL")
    if cluster.ui_port is not None and _taken(cluster.ui_port):
        raise InvalidInput(f"port {cluster.ui_port} for Spark's web page is taken; choose another with --ui-port")


def check_reachable(master: str) -> None:
    """Check that one of the masters answers. Spark itself would try for a minute and then fail without a message."""
    addresses = [urlsplit(f"spark://{part}") for part in master.removeprefix("spark://").split(",")]
    reasons = []
    for address in addresses:
        try:
            socket.create_connection((address.hostname or "", address.port or 7077), timeout=5).close()
            return
        except (OSError, ValueError) as error:
            reasons.append(str(error))
    raise EnvironmentMissing(f"no Spark master answers at {master}: {'; '.join(reasons)}")


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


@contextlib.contextmanager
def jvm(settings: Mapping[str, str], folder: Path) -> Iterator[None]:
    """Start the driver's JVM with its output redirected to a file, as users should not see Spark's log."""
    if is_open():
        raise InvalidInput("a Spark session is already open in this process: attach to its query instead")
    renew(settings.get("spark.jars", ""))
    with open(folder / "driver.log", "ab") as log, _output_to(log.fileno()), _no_orphans():
        launch(settings)
    yield


@contextlib.contextmanager
def _no_orphans() -> Iterator[None]:
    """Kill processes started in the block if it is interrupted: a JVM without its Python process would wait forever."""
    before = set(tree(os.getpid()))
    try:
        yield
    except BaseException:
        for process in set(tree(os.getpid())) - before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        raise


@contextlib.contextmanager
def _output_to(file: int) -> Iterator[None]:
    """Redirect the output of processes started in the block to a file descriptor."""
    copies = [os.dup(1), os.dup(2)]
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(file, 1)
        os.dup2(file, 2)
        yield
    finally:
        for descriptor, copy in zip((1, 2), copies, strict=True):
            os.dup2(copy, descriptor)
            os.close(copy)


@contextlib.contextmanager
def _embedded(cluster: Cluster, settings: Mapping[str, str], folder: Path) -> Iterator[EmbeddedCluster]:
    conf = {**settings, **closed_pages()}
    embedded = EmbeddedCluster(cores=cluster.cores, memory=cluster.memory + OVERHEAD, folder=folder / "work", conf=conf)
    try:
        for _ in range(cluster.initial):
            embedded.add_worker()
        yield embedded
    finally:
        finish("stopping the embedded cluster", embedded.close)


def connect(master: str, settings: Mapping[str, str]) -> SparkSession:
    """A session on a master. In local mode Spark draws the secret of a session itself."""
    builder = SparkSession.builder.master(master)
    if master.startswith("local"):
        builder = builder.config("spark.authenticate", "true")
    for key, value in settings.items():
        builder = builder.config(key, value)
    handler = signal.getsignal(signal.SIGINT)
    try:
        return builder.getOrCreate()
    except Exception as error:
        first = str(error).strip().splitlines()[0]
        raise EnvironmentMissing(f"Spark could not start on {master}: {first}") from error
    finally:
        # PySpark installs its own handler, which cancels all jobs; handling Ctrl-C is up to the caller
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _await_executors(spark: SparkSession, cluster: Cluster, patience: float = 300.0) -> None:
    status, deadline = Status(spark.sparkContext), time.monotonic() + patience
    while len(status.executors()) < cluster.initial:
        if time.monotonic() > deadline:
            raise EnvironmentMissing(
                f"{cluster.initial} executors of {cluster.cores} cores and {cluster.memory} MiB were requested,"
                f" {len(status.executors())} came within {patience:g} s: does the cluster have room for them?"
            )
        time.sleep(0.2)
    surplus = victims(status.executors(), cluster.initial)
    if surplus and cluster.conf.get("spark.dynamicAllocation.enabled") != "true":  # otherwise Spark removes them itself
        declare(Driver(spark.sparkContext), surplus, cluster.initial)
