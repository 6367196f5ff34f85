"""The driver's JVM. The only file that reaches into py4j and into what PySpark keeps to itself.

PySpark has no public way to ask for executors, to read the driver's status store or to start a master; the classes used
here are Spark 4.3's own, the same that its web page and its `local-cluster` mode use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Driver", "JvmError", "Part", "forgotten", "is_classic", "is_open", "launch", "renew", "start_master"]

#: a call into the JVM that failed, on either side
JvmError = Py4JError

#: of the JVM that serves this process, one session after the other: the jars it was started with
_jars: set[str] = set()


def is_classic(query: StreamingQuery, spark: SparkSession | None) -> bool:
    """Whether query and session live in this process's driver; those of Spark Connect do not."""
    return hasattr(query, "_jsq") and hasattr(spark, "_jsparkSession")


def is_open() -> bool:
    """Whether this process has a running session."""
    return SparkContext._active_spark_context is not None


def forgotten(error: BaseException) -> bool:
    """Whether a call failed because Spark no longer keeps the job or stage it asked for."""
    return isinstance(error, Py4JJavaError)


def renew(jars: str) -> None:
    """Let a JVM that was started without some jars give way to a new one: it finds a data source only in those it was
    started with.
    """
    wanted = set(filter(None, jars.split(",")))
    gateway = SparkContext._gateway
    if gateway is not None and not wanted <= _jars:
        gateway.shutdown()
        gateway.proc.stdin.close()  # it ends with its input
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = gateway = None
    if gateway is None:
        _jars.clear()
        _jars.update(wanted)


def launch(settings: Mapping[str, str]) -> None:
    """Start the JVM, if it does not run yet."""
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))


class Driver:
    """Questions and requests to the driver of one Spark context. Each costs a millisecond or more on a busy machine.

    Answers are read in the JVM as one JSON text each: no port, no proxy, no login, and a tenth of the REST interface's
    time.
    """

    def __init__(self, context: SparkContext) -> None:
        jvm: Any = context._jvm
        self._jvm = jvm
        self._scala: Any = context._jsc.sc()
        self._store, self._tracker = self._scala.statusStore(), self._scala.statusTracker()
        self._mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
        module = getattr(jvm.com.fasterxml.jackson.module.scala, "DefaultScalaModule$")
        self._mapper.registerModule(getattr(module, "MODULE$"))

    def executors(self) -> list[dict[str, Any]]:
        """Those that are alive, the driver's own included."""
        listed: list[dict[str, Any]] = self._read(self._store.executorList(True))
        return listed

    def job_ids(self, group: str) -> list[int]:
        return [int(id) for id in self._read(self._tracker.getJobIdsForGroup(group))]

    def job(self, id: int) -> dict[str, Any]:
        return dict(self._read(self._store.job(id)))

    def stage(self, id: int) -> dict[str, Any]:
        return dict(self._read(self._store.lastStageAttempt(id)))

    def stage_by_executor(self, id: int, attempt: int) -> dict[str, Any]:
        return dict(self._read(self._store.executorSummary(id, attempt)))

    def kill(self, executors: Sequence[str]) -> None:
        """Send executors away. It lowers the total that Spark holds: declare the wanted one afterwards."""
        self._scala.killExecutors(self._jvm.PythonUtils.toSeq(list(executors)))

    def request_total(self, executors: int) -> None:
        """Declare how many there shall be; removes nobody."""
        self._scala.requestTotalExecutors(executors, 0, self._jvm.PythonUtils.toScalaMap({}))

    def _read(self, value: Any) -> Any:
        return json.loads(self._mapper.writeValueAsString(value))


class Part:
    """A master or worker of an embedded cluster, inside this process's JVM."""

    def __init__(self, environment: Any, conf: Any) -> None:
        self._environment, self._conf = environment, conf

    @property
    def url(self) -> str:
        return str(self._environment.address().toSparkURL())

    def start_worker(self, host: str, size: tuple[int, int], folder: str, number: int) -> Part:
        """A worker of this master; `size` is its cores and its memory in MiB."""
        jvm: Any = SparkContext._jvm
        gateway: Any = SparkContext._gateway
        urls = gateway.new_array(jvm.java.lang.String, 1)
        urls[0] = self.url
        start = _singleton(jvm.org.apache.spark.deploy.worker, "Worker").startRpcEnvAndEndpoint
        some, none = jvm.scala.Option.apply(number), jvm.scala.Option.empty()
        return Part(start(host, 0, 0, *size, urls, folder, some, self._conf, none), self._conf)

    def shutdown(self) -> None:
        self._environment.shutdown()

    def await_end(self) -> None:
        self._environment.awaitTermination()


def start_master(host: str, conf: Mapping[str, str]) -> Part:
    """A standalone master on a free port. The JVM must run."""
    jvm: Any = SparkContext._jvm
    settings = jvm.org.apache.spark.SparkConf(False)
    for key, value in conf.items():
        settings.set(key, value)
    start = _singleton(jvm.org.apache.spark.deploy.master, "Master").startRpcEnvAndEndpoint
    return Part(start(host, 0, 0, settings)._1(), settings)


def _singleton(package: Any, name: str) -> Any:
    """A Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")
