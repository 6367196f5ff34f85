"""Attach an autoscaler to a query that already runs, whatever its source."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.jvm import is_classic
from tidegate.control import Autoscaler, drive
from tidegate.core import InvalidInput, Limits, Options, Policy, Sink, Tick, TidegateError, UnknownName
from tidegate.core.defaults import STORE
from tidegate.presets import autoscaler
from tidegate.runs import RunResult, RunSpec
from tidegate.score.figures import Objective, figures
from tidegate.score.recorder import TraceRecorder
from tidegate.sinks.log import LogSink
from tidegate.spark.clock import WallClock
from tidegate.spark.engine import SparkEngine, Watching
from tidegate.store import Store, StoreSink

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
    store: str | Path | None = STORE
    #: go on from what the policy learned when it was last attached to a query of this name
    resume: bool = True
    #: further sinks, which are shown every tick
    sinks: Sequence[Sink] = ()

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
    `resume`, `sinks`. Ends with the query, at the end of its `with` block or with `detach()`; the query is never
    stopped. An application has one active attachment: a second one is refused.
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
    upper = [bound for bound in (maximum, high) if bound is not None]
    if not upper:
        raise InvalidInput("attach: need max_executors, or spark.dynamicAllocation.maxExecutors, as an upper bound")
    return Limits(max(1 if minimum is None else minimum, low or 0), min(upper))


def _whole(conf: Mapping[str, str], key: str) -> int | None:
    text = conf.get(key)
    if text is not None and not text.strip().isdecimal():
        raise InvalidInput(f"{key} must be a whole number, got {text!r}")
    return None if text is None else int(text)


def _session(query: StreamingQuery) -> SparkSession:
    spark = SparkSession.getActiveSession()
    if spark is None or not is_classic(query, spark):
        raise InvalidInput("attach needs the driver's own session: a Spark Connect client cannot change executors")
    master = str(spark.sparkContext.master)
    if master == "local" or master.startswith("local["):
        raise InvalidInput(f"master {master!r} has no executors to add or remove")
    return spark


def _conf(spark: SparkSession) -> dict[str, str]:
    return dict(spark.sparkContext.getConf().getAll())


@dataclass(slots=True)
class _Memory:
    """Saves what a policy has learned, now and then and at the end, and puts it back at the start."""

    store: Store
    query: str
    scaler: Autoscaler
    name: str = "memory"
    _saved: float = field(default=-math.inf)

    def recall(self) -> None:
        kept = self.store.memory(self.query, self.scaler.name)
        if kept is None:
            return
        try:
            self.scaler.recall(kept)
            log.info("%s: %s goes on from what it learned before", self.query, self.scaler.name)
        except (TidegateError, KeyError, TypeError) as error:
            log.warning("%s: %s starts afresh: %s", self.query, self.scaler.name, error)

    def take(self, tick: Tick) -> None:
        if tick.observation.time - self._saved >= SAVE:
            self._saved = tick.observation.time
            self.save()

    def save(self) -> None:
        self.store.remember(self.query, self.scaler.name, self.scaler.memory())


class Attachment:
    """A running autoscaler. `ticks` holds the last ones; `error` is what ended it early, if anything did."""

    def __init__(self, spark: SparkSession, query: StreamingQuery, scaler: Autoscaler, settings: Settings) -> None:
        self._scaler, self._settings = scaler, settings
        self._name = query.name or f"query {query.id}"
        self._clock = WallClock()
        self._engine = SparkEngine(spark, query, Watching(active=settings.mode == "active"))
        self._recorder = TraceRecorder()
        self.ticks: deque[Tick] = deque(maxlen=10_000)
        self.run: str | None = None
        self.error: Exception | None = None
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

    @property
    def _spec(self) -> RunSpec:
        limits, chosen = self._scaler.limits, self._settings
        return RunSpec(
            job=self._name,
            policy=self._scaler.name,
            mode=chosen.mode,
            minimum=limits.minimum,
            maximum=limits.maximum,
            slo=chosen.slo,
            period=chosen.period,
            verify=False,
        )

    def _work(self) -> None:
        try:
            with ExitStack() as end:
                self._follow(self._open_store(end))
        except Exception as error:  # whatever it is, it is said
            self.error = error
            log.warning("no autoscaling of %s any more: %s", self._name, error)
        finally:
            self._engine.close()

    def _open_store(self, end: ExitStack) -> Store:
        """A store that cannot be used must not keep the query from being scaled: then nothing is kept."""
        try:
            return end.enter_context(Store.open(self._settings.store or ":memory:"))
        except TidegateError as error:
            log.warning("%s: ticks and decisions are not kept: %s", self._name, error)
            return end.enter_context(Store.open(":memory:"))

    def _follow(self, store: Store) -> None:
        spec, status = replace(self._spec, start=time.time()), "failed"
        self.run = store.begin(spec)
        memory = _Memory(store, self._name, self._scaler)
        if self._settings.resume:
            memory.recall()
        try:
            self._drive(
                (self._recorder, StoreSink(store, self.run), memory, LogSink(self._name), *self._settings.sinks)
            )
            status = "done"
        finally:
            self._last(memory.save)
            self._last(lambda: store.end(str(self.run), status, self._result(status, spec)))

    def _drive(self, sinks: Sequence[Sink]) -> None:
        def ended(tick: Tick | None) -> bool:
            if tick is not None:
                self.ticks.append(tick)
            return self._clock.stop.is_set()

        settings, active = self._settings, self._settings.mode == "active"
        drive(self._engine, self._scaler, self._clock, sinks, period=settings.period, act=active, until=ended)

    def _last(self, call: Any) -> None:
        """A last thing to do to the store, which may be gone."""
        try:
            call()
        except Exception as error:
            log.warning("%s: %s: %s", self._name, type(error).__name__, error)

    def _result(self, status: str, spec: RunSpec) -> RunResult:
        trace = self._recorder.trace(spec.start or 0.0)
        return replace(
            RunResult.of(str(self.run), status, spec),
            duration=trace.until,
            figures=figures(trace, Objective(spec.slo)),
        )
