"""Attach an autoscaler to a query that already runs, whatever its source."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.control import Autoscaler, control
from tidegate.core import InvalidInput, Limits, Policy, Tick, TidegateError, UnknownName
from tidegate.presets import Options, autoscaler
from tidegate.score import score
from tidegate.spark.clock import WallClock
from tidegate.spark.engine import SparkEngine
from tidegate.store import DEFAULT_PATH, Store

log = logging.getLogger(__name__)
MODES = ("active", "monitor")
#: seconds between two savings of what the policy has learned
SAVE = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How an attached autoscaler behaves beyond its policy and bounds."""

    mode: str = "active"
    #: seconds between observations
    period: float = 1.0
    #: latency against which the run is scored
    slo: float = 10.0
    #: where ticks and decisions are kept; None for nowhere
    store: str | Path | None = DEFAULT_PATH
    #: go on from what the policy learned when it was last attached to a query of this name
    resume: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownName("mode", self.mode, MODES)


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
    `options` are the named policy's; further settings are those of `Settings`: `mode`, `period`, `slo`, `store`,
    `resume`. Ends with the query, at the end of its `with` block or with `detach()`; the query is never stopped.
    """
    chosen = Settings(**settings)
    spark = _session(query)
    limits = bounds(_conf(spark), min_executors, max_executors)
    return Attachment(spark, query, autoscaler(policy, limits, options), chosen)


def bounds(conf: Mapping[str, str], minimum: int | None, maximum: int | None) -> Limits:
    """
    >>> bounds({"spark.dynamicAllocation.maxExecutors": "6"}, minimum=2, maximum=8)
    Limits(minimum=2, maximum=6)
    """
    if conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        raise InvalidInput(
            "Spark's own dynamic allocation is on and would undo what Tidegate does: start the application with"
            " spark.dynamicAllocation.enabled=false (its minExecutors and maxExecutors stay in force as bounds)"
        )
    low = _whole(conf, "spark.dynamicAllocation.minExecutors")
    high = _whole(conf, "spark.dynamicAllocation.maxExecutors")
    most = [bound for bound in (maximum, high) if bound is not None]
    if not most:
        raise InvalidInput(
            "attach: need max_executors, or spark.dynamicAllocation.maxExecutors, as the most to ever ask for"
        )
    return Limits(max(1 if minimum is None else minimum, low or 0), min(most))


def _whole(conf: Mapping[str, str], key: str) -> int | None:
    text = conf.get(key)
    if text is not None and not text.strip().isdecimal():
        raise InvalidInput(f"{key} must be a whole number, got {text!r}")
    return None if text is None else int(text)


def _session(query: StreamingQuery) -> SparkSession:
    spark = SparkSession.getActiveSession()
    if not hasattr(query, "_jsq") or spark is None or not hasattr(spark, "_jsparkSession"):
        raise InvalidInput("attach needs the driver's own session: a Spark Connect client cannot change executors")
    master = str(spark.sparkContext.master)
    if master == "local" or master.startswith("local["):
        raise InvalidInput(f"master {master!r} has no executors to add or remove")
    return spark


def _conf(spark: SparkSession) -> dict[str, str]:
    return dict(spark.sparkContext.getConf().getAll())


class Attachment:
    """A running autoscaler. `ticks` holds the last ones; `error` is what ended it early, if anything did."""

    def __init__(self, spark: SparkSession, query: StreamingQuery, scaler: Autoscaler, settings: Settings) -> None:
        self._scaler, self._settings = scaler, settings
        self._name = query.name or f"query {query.id}"
        #: when the policy's memory was last saved
        self._saved = -math.inf
        self._clock = WallClock()
        self._engine = SparkEngine(spark, query)
        self.ticks: deque[Tick] = deque(maxlen=10_000)
        self.run: str | None = None
        self.error: TidegateError | None = None
        self._thread = threading.Thread(target=self._work, name="tidegate-control", daemon=True)
        self._thread.start()

    def detach(self) -> None:
        """Stop watching; the query runs on with the executors it has."""
        self._clock.stop.set()
        self._thread.join()

    def __enter__(self) -> Attachment:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.detach()

    def _work(self) -> None:
        try:
            with Store.open(self._settings.store or ":memory:") as store:
                self._follow(store)
        except TidegateError as error:
            self.error = error
            log.warning("no autoscaling of %s any more: %s", self._name, error)
        finally:
            self._engine.close()

    def _follow(self, store: Store) -> None:
        start, status = time.time(), "failed"
        self.run = store.begin(self._spec(start))
        self._recall(store)
        try:
            for tick in control(
                self._engine,
                self._scaler,
                self._clock,
                period=self._settings.period,
                act=self._settings.mode == "active",
            ):
                self.ticks.append(tick)
                store.append(self.run, tick)
                self._remember(store, tick.observation.time)
                if tick.acted and tick.decision:
                    log.info("%s: %d executors, %s", self._name, tick.decision.executors, tick.decision.reason)
                if self._clock.stop.is_set():
                    break
            status = "done"
        finally:
            self._remember(store, math.inf)
            store.end(self.run, status, self._result(status, start))

    def _recall(self, store: Store) -> None:
        found = store.memory(self._name, self._scaler.name) if self._settings.resume else None
        if found is None:
            return
        try:
            self._scaler.recall(found)
            log.info("%s: %s goes on from what it learned before", self._name, self._scaler.name)
        except (TidegateError, KeyError, TypeError) as error:
            log.warning("%s: %s starts afresh: %s", self._name, self._scaler.name, error)

    def _remember(self, store: Store, now: float) -> None:
        """Now and then, and at the end. What cannot be remembered must not end the autoscaling."""
        if now - self._saved < SAVE:
            return
        self._saved = now
        try:
            store.remember(self._name, self._scaler.name, self._scaler.memory())
        except (TypeError, ValueError) as error:
            log.warning("%s: what %s learned cannot be saved: %s", self._name, self._scaler.name, error)

    def _spec(self, start: float) -> dict[str, Any]:
        limits = [self._scaler.limits.minimum, self._scaler.limits.maximum]
        told = {"job": self._name, "policy": self._scaler.name, "engine": "spark", "mode": self._settings.mode}
        return {**told, "limits": limits, "slo": self._settings.slo, "start": start}

    def _result(self, status: str, start: float) -> dict[str, Any]:
        ticks = list(self.ticks)
        figures = asdict(score(ticks, slo=self._settings.slo, start=start))
        passed = ticks[-1].observation.time - start if ticks else 0.0
        lead = {"run": self.run, "status": status, "job": self._name, "policy": self._scaler.name, "engine": "spark"}
        return {**lead, "duration": passed, **figures, "verified": None}
