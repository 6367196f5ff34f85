"""The entry point: checks that a query can be scaled and attaches to it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.attachment.attachment import Attachment
from tidegate.attachment.settings import Settings, bounds
from tidegate.cluster.jvm import is_classic, is_continuous
from tidegate.core import InvalidInput, Options, Policy
from tidegate.presets import autoscaler


def attach(
    query: StreamingQuery,
    policy: str | Policy = "hpa-cpu",
    *,
    min_executors: int | None = None,
    max_executors: int | None = None,
    options: Options | None = None,
    **settings: Any,
) -> Attachment:
    """Watch a running query and, in mode `active`, change the number of its executors; `monitor` only decides and
    records.

    Bounds are the given ones and `spark.dynamicAllocation.minExecutors`/`maxExecutors`, whichever are tighter.
    `options` are the policy's and its guards'; further settings are those of `Settings`: `mode`, `period`, `slo`,
    `spread`, `store`, `resume`, `sinks`, `patience`, `fallback`, `fallback_after`, `fallback_behavior`, `foreign`. Ends
    with the query, at the end of its `with` block or with `detach()`; the query is never stopped.

    Several queries of an application can be attached: their needs are added up, and the bounds hold for the sum. A
    second active attachment of one query is refused.
    """
    chosen = Settings.of(settings)
    spark = _session(query)
    conf = dict(spark.sparkContext.getConf().getAll())
    limits = bounds(conf, min_executors, max_executors, chosen.mode)
    if chosen.fallback is not None and limits.clamp(chosen.fallback) != chosen.fallback:
        allowed = f"{limits.minimum} to {limits.maximum}"
        raise InvalidInput(f"attach: fallback {chosen.fallback} is outside the bounds of {allowed} executors")
    return Attachment(spark, query, autoscaler(policy, limits, options, slo=chosen.slo), chosen)


def _session(query: StreamingQuery) -> SparkSession:
    """The session of the driver in this process, checked to be one in which the query can be scaled."""
    if "connect" in type(query).__module__.split("."):
        raise InvalidInput("attach needs the driver's own session: a Spark Connect client cannot change executors")
    if not isinstance(query, StreamingQuery):
        raise InvalidInput(
            "attach needs a running query, which writeStream.start() returns, got an object of type"
            f" {type(query).__name__}"
        )
    spark = SparkSession.getActiveSession() or _default_session()
    if spark is None or not is_classic(query, spark):
        raise InvalidInput("attach needs the driver's own session, and there is none in this process")
    master = str(spark.sparkContext.master)
    if master == "local" or master.startswith("local["):
        raise InvalidInput(f"master {master!r} has no executors to add or remove")
    _check_running(query)
    return spark


def _default_session() -> SparkSession | None:
    """The session of another thread: which one is active is kept by thread."""
    return SparkSession.builder.getOrCreate() if SparkSession._instantiatedSession is not None else None


def _check_running(query: StreamingQuery) -> None:
    name = query.name or query.id
    if not query.isActive:
        error = query.exception()
        why = f"failed: {str(error).strip().splitlines()[0]}" if error else "was stopped"
        raise InvalidInput(f"query {name} has ended, it {why}; attach to the query that start() returns anew")
    if is_continuous(query):
        raise InvalidInput(
            f"query {name} has a continuous trigger: without micro-batches there is nothing to observe, and its tasks"
            " keep their executors; use trigger(processingTime=…)"
        )
