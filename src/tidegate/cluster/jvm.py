"""Access to the driver's JVM. This is the only module that uses py4j and private attributes of PySpark.

PySpark has no public API to request executors, to read the driver's status store or to start a master. The classes used
here are Spark 4.3's own, which its web UI and its `local-cluster` mode use as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.core.redaction import is_secret

__all__ = [
    "Driver",
    "JvmError",
    "Node",
    "forgotten",
    "is_classic",
    "is_continuous",
    "is_open",
    "last_plan",
    "launch",
    "renew",
    "seq",
    "start_master",
    "store_coordinator",
]

#: a failed call into the JVM
JvmError = Py4JError

#: the jars that this process's JVM was started with; it serves one session after another
_jars: set[str] = set()


def is_classic(query: StreamingQuery, spark: SparkSession | None) -> bool:
    """Whether query and session belong to a driver in this process, unlike those of Spark Connect."""
    return hasattr(query, "_jsq") and hasattr(spark, "_jsparkSession")


def is_continuous(query: StreamingQuery) -> bool:
    """Whether a query runs without micro-batches: it then has no batches to observe, and is not rescaled by Spark."""
    wrapper: Any = query._jsq
    try:
        return str(wrapper.streamingQuery().getClass().getSimpleName()) == "ContinuousExecution"
    except (JvmError, TypeError):  # another implementation of a query: it is as good as any
        return False


def last_plan(query: StreamingQuery) -> Any:
    """The physical plan of a query's last micro-batch; None if none has run yet."""
    wrapper: Any = query._jsq
    execution = wrapper.streamingQuery().lastExecution()
    return None if execution is None else execution.executedPlan()


def store_coordinator(spark: SparkSession) -> Any:
    """The driver's register of state stores and the executors that hold them."""
    session: Any = spark._jsparkSession
    return session.sessionState().streamingQueryManager().stateStoreCoordinator()


def seq(jvm: Any, items: Sequence[Any]) -> Any:
    """A Scala sequence."""
    return jvm.PythonUtils.toSeq(list(items))


def is_open() -> bool:
    """Whether this process has a running session."""
    return SparkContext._active_spark_context is not None


def forgotten(error: BaseException) -> bool:
    """Whether a call failed because Spark no longer keeps the requested job or stage."""
    return isinstance(error, Py4JJavaError)


def renew(jars: str) -> None:
    """Shut down a JVM that was started without some of the jars, so that a new one can start: a JVM finds data sources
    only in the jars it was started with.
    """
    required = set(filter(None, jars.split(",")))
    gateway = SparkContext._gateway
    if gateway is not None and not required <= _jars:
        gateway.shutdown()
        gateway.proc.stdin.close()  # the JVM exits at the end of its input
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = gateway = None
    if gateway is None:
        _jars.clear()
        _jars.update(required)


def launch(settings: Mapping[str, str]) -> None:
    """Start the JVM unless it is already running. Secrets are left to the session, as the command line is public."""
    public = [(name, value) for name, value in settings.items() if not is_secret(name, value)]
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(public))


class Driver:
    """Queries and requests to the driver of one Spark context. Each call takes a millisecond or more on a busy machine.

    Each answer is serialised to JSON inside the JVM. Compared with Spark's REST API this needs no port, proxy or login,
    and a tenth of the time.
    """

    def __init__(self, context: SparkContext) -> None:
        jvm: Any = context._jvm
        self._jvm = jvm
        self._scala: Any = context._jsc.sc()
        self._store, self._tracker = self._scala.statusStore(), self._scala.statusTracker()
        self._mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
        module = getattr(jvm.com.fasterxml.jackson.module.scala, "DefaultScalaModule$")
        self._mapper.registerModule(getattr(module, "MODULE$"))
        self._totals: Any = None
        conf = context.getConf()
        self._graceful = conf.get("spark.decommission.enabled", "false") == "true"
        self._dynamic = conf.get("spark.dynamicAllocation.enabled", "false") == "true"

    def executors(self) -> list[dict[str, Any]]:
        """Live executors, including the driver's own entry."""
        listed: list[dict[str, Any]] = self._read(self._store.executorList(True))
        return listed

    def job_ids(self, group: str) -> list[int]:
        return [int(id) for id in self._read(self._tracker.getJobIdsForGroup(group))]

    def busy(self) -> bool:
        """Whether any job of the application runs, if only between two of its stages."""
        return bool(self._read(self._tracker.getActiveJobIds()))

    def job(self, id: int) -> dict[str, Any]:
        return dict(self._read(self._store.job(id)))

    def stage(self, id: int) -> dict[str, Any]:
        return dict(self._read(self._store.lastStageAttempt(id)))

    def stage_by_executor(self, id: int, attempt: int) -> dict[str, Any]:
        return dict(self._read(self._store.executorSummary(id, attempt)))

    def tasks(self, id: int, attempt: int, most: int) -> list[dict[str, Any]]:
        """At most so many tasks of a stage, in any order."""
        listed: list[dict[str, Any]] = self._read(self._store.taskList(id, attempt, most))
        return listed

    def kill(self, executors: Sequence[str]) -> None:
        """Remove executors: where the application has decommissioning on, they finish their tasks and hand over their
        blocks first, else they are killed. This lowers the total that Spark keeps, so declare the desired total
        afterwards.
        """
        if self._graceful:
            self._decommission(executors)
        elif self._dynamic:  # the context itself refuses
            self._scala.schedulerBackend().killExecutors(seq(self._jvm, executors), False, False, True)
        else:
            self._scala.killExecutors(seq(self._jvm, executors))

    def _decommission(self, executors: Sequence[str]) -> None:
        jvm, gateway = self._jvm, SparkContext._gateway
        assert gateway is not None
        info = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("scaled in", jvm.scala.Option.empty())
        pairs = gateway.new_array(jvm.scala.Tuple2, len(executors))
        for k, executor in enumerate(executors):
            pairs[k] = jvm.scala.Tuple2(executor, info)
        self._scala.schedulerBackend().decommissionExecutors(pairs, True, False)

    def request_total(self, executors: int) -> None:
        """Declare the desired total; does not remove executors."""
        self._scala.requestTotalExecutors(executors, 0, self._jvm.PythonUtils.toScalaMap({}))

    def requested_total(self) -> int | None:
        """The total that Spark keeps, whoever declared it last; None if this version of Spark does not show it."""
        try:
            if self._totals is None:
                self._totals = _field(self._scala.schedulerBackend(), "requestedTotalExecutorsPerResourceProfile")
            by_profile = self._read(self._totals.get(self._scala.schedulerBackend()).values())
            return sum(int(executors) for executors in by_profile)
        except (JvmError, LookupError, TypeError, ValueError):
            return None

    def _read(self, value: Any) -> Any:
        return json.loads(self._mapper.writeValueAsString(value))


def _field(instance: Any, name: str) -> Any:
    """A private field of an object's class or of one of its ancestors, made readable."""
    kind = instance.getClass()
    while kind is not None:
        for field in kind.getDeclaredFields():
            if field.getName() == name:
                field.setAccessible(True)
                return field
        kind = kind.getSuperclass()
    raise LookupError(name)


class Node:
    """A master or worker of an embedded cluster, inside this process's JVM."""

    def __init__(self, environment: Any, conf: Any) -> None:
        self._environment, self._conf = environment, conf

    @property
    def url(self) -> str:
        return str(self._environment.address().toSparkURL())

    def start_worker(self, host: str, size: tuple[int, int], folder: str, number: int) -> Node:
        """Start a worker for this master; `size` is its cores and its memory in MiB."""
        jvm: Any = SparkContext._jvm
        gateway: Any = SparkContext._gateway
        urls = gateway.new_array(jvm.java.lang.String, 1)
        urls[0] = self.url
        start = _singleton(jvm.org.apache.spark.deploy.worker, "Worker").startRpcEnvAndEndpoint
        worker_number, none = jvm.scala.Option.apply(number), jvm.scala.Option.empty()
        return Node(start(host, 0, 0, *size, urls, folder, worker_number, self._conf, none), self._conf)

    def shutdown(self) -> None:
        self._environment.shutdown()

    def await_end(self) -> None:
        self._environment.awaitTermination()


def start_master(host: str, conf: Mapping[str, str]) -> Node:
    """Start a standalone master on a free port. Requires a running JVM."""
    jvm: Any = SparkContext._jvm
    settings = jvm.org.apache.spark.SparkConf(False)
    for key, value in conf.items():
        settings.set(key, value)
    start = _singleton(jvm.org.apache.spark.deploy.master, "Master").startRpcEnvAndEndpoint
    return Node(start(host, 0, 0, settings)._1(), settings)


def _singleton(package: Any, name: str) -> Any:
    """The instance of a Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")
