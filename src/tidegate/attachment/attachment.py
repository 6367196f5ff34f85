"""A running autoscaler: the loop in a thread of its own, and everything that keeps it going for months."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import replace
from types import TracebackType

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.attachment.bookkeeping import Bookkeeping, NoBookkeeping
from tidegate.attachment.settings import Settings
from tidegate.control import Autoscaler, drive
from tidegate.control.health import Condition, Health
from tidegate.core import QueryFailed, Tick, TidegateError
from tidegate.runs import RunResult, RunSpec
from tidegate.score.rolling import RollingScore
from tidegate.sinks.log import LogSink
from tidegate.spark.clock import WallClock
from tidegate.spark.engine import SparkEngine, Watching
from tidegate.supervision.patient import PatientEngine, PatientScaler
from tidegate.supervision.queued import QueuedSink

log = logging.getLogger(__name__)
#: seconds between two savings of what the policy has learned, of the score and of the status
SAVE = 60.0
#: ticks that are kept in memory
TICKS = 900
#: seconds after which a loop that failed starts anew, and for which its end is waited for
RESTART = 5.0


class Attachment:
    """An autoscaler at work. `status` says in one line whether it works, `conditions` in more detail; `ticks` holds the
    last ones; `error` is why the query failed, if it did.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery, scaler: Autoscaler, settings: Settings) -> None:
        self._settings, self._scaler = settings, scaler
        self._name = query.name or f"query {query.id}"
        self._clock = WallClock()
        watching = Watching(
            active=settings.active,
            maximum=scaler.limits.maximum,
            foreign=settings.foreign,
            move_budget=settings.slo / 2 if settings.spread else None,
        )
        self._engine = SparkEngine(spark, query, watching)
        self._spec = self._new_spec()
        self._score = RollingScore(slo=settings.slo, start=self._spec.start or 0.0)
        self._lock = threading.Lock()
        self._health = Health(active=settings.active)
        self._books: Bookkeeping | NoBookkeeping = NoBookkeeping()
        if settings.store is not None:
            self._books = Bookkeeping(settings.store, self._spec, self._degraded)
        self.ticks: deque[Tick] = deque(maxlen=TICKS)
        self.error: Exception | None = None
        self._saved = time.monotonic()
        self._last_status = ""
        self._thread = threading.Thread(target=self._work, name="tidegate-control", daemon=True)
        self._thread.start()

    @property
    def run(self) -> str | None:
        """The id of the run in the store; None if there is no store or it cannot be used yet."""
        return self._books.run

    @property
    def status(self) -> str:
        """`scaling`, `monitoring`, `holding: why`, `degraded: why` or `ended: why`.

        Holding means that no decision can be made at present, degraded that decisions are made but something else is
        wrong. Both are left by themselves once the cause is gone.
        """
        with self._lock:
            return self._health.status

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """`AbleToScale`, `ScalingActive` and `ScalingLimited`, as Kubernetes' HorizontalPodAutoscaler has them."""
        with self._lock:
            return self._health.conditions

    def __repr__(self) -> str:
        last = self.ticks[-1].observation if self.ticks else None
        executors = f", {last.executors} executors ({last.requested} requested)" if last else ""
        return f"<Attachment {self._name}: {self.status}{executors}, {self._scaler.name}, run {self.run}>"

    def detach(self) -> None:
        """Stop watching; the query runs on with the executors it has. Returns even if policy or driver hang."""
        self._clock.stop.set()
        self._thread.join(timeout=self._settings.patience + 2 * RESTART)
        if self._thread.is_alive():
            log.warning("%s: the control thread is left behind, as it does not return", self._name)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.detach()

    def _new_spec(self) -> RunSpec:
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
            safe=True,
            spread=chosen.active and chosen.spread,
            start=time.time(),
        )

    def _work(self) -> None:
        if self._settings.resume:
            self._recall()
        engine = PatientEngine(self._engine, self._settings.patience)
        scaler = PatientScaler(self._scaler, self._settings.patience)
        sinks = [QueuedSink(sink) for sink in (LogSink(self._name), *self._settings.sinks)]
        why, status = "detached", "done"
        try:
            why = self._loop(engine, scaler, sinks)
        except QueryFailed as error:
            self.error, why, status = error, str(error), "failed"
        finally:
            self._end(why, status, scaler)
            for sink in sinks:
                sink.close()
            scaler.close()
            engine.close()
            self._engine.close()

    def _recall(self) -> None:
        memory = self._books.memory(self._name, self._scaler.name)
        if memory is None:
            return
        try:
            self._scaler.recall(memory)
            log.info("%s: %s goes on from what it learned before", self._name, self._scaler.name)
        except (TidegateError, KeyError, TypeError, ValueError) as error:
            log.warning("%s: %s starts afresh: %s", self._name, self._scaler.name, error)

    def _loop(self, engine: PatientEngine, scaler: PatientScaler, sinks: list[QueuedSink]) -> str:
        """Run until the query ends or `detach` is called; returns why. Whatever else ends the loop starts it anew."""
        settings = self._settings

        def shown(tick: Tick | None) -> bool:
            if tick is not None:
                self._follow(tick, scaler)
            return self._clock.stop.is_set()

        while True:
            try:
                drive(
                    engine,
                    scaler,
                    self._clock,
                    (self._score, self._books, *sinks),
                    period=settings.period,
                    act=settings.active,
                    until=shown,
                    fallback=settings.new_fallback(),
                )
                return "detached" if self._clock.stop.is_set() else "the query was stopped"
            except QueryFailed:
                raise
            except BaseException as error:
                # a defect of Tidegate itself; the next turn may go well
                log.exception("%s: the control loop failed and starts anew", self._name)
                self._degraded("loop", f"the control loop failed: {type(error).__name__}: {error}")
                if self._clock.stop.wait(RESTART):
                    return "detached"

    def _follow(self, tick: Tick, scaler: PatientScaler) -> None:
        self.ticks.append(tick)
        with self._lock:
            self._health.recover("loop")
            self._health.take(tick)
            status, conditions = self._health.status, self._health.plain()
        if status != self._last_status:
            trouble = status.startswith(("holding", "degraded"))
            log.log(logging.WARNING if trouble else logging.INFO, "%s: %s", self._name, status)
        if status != self._last_status or time.monotonic() - self._saved >= SAVE:
            self._books.note(status, conditions)
            self._last_status = status
        if time.monotonic() - self._saved >= SAVE:
            self._save(scaler)

    def _save(self, scaler: PatientScaler) -> None:
        self._saved = time.monotonic()
        memory = scaler.memory()
        if memory is not None:
            self._books.remember(self._name, self._scaler.name, memory)
        self._books.update(lambda: self._result("running"))

    def _degraded(self, part: str, why: str | None) -> None:
        """Called by the parts beside the loop, from their threads; None if all is well again."""
        with self._lock:
            if why is None:
                self._health.recover(part)
            else:
                self._health.degrade(part, why)

    def _end(self, why: str, status: str, scaler: PatientScaler) -> None:
        with self._lock:
            self._health.end(why)
            text, conditions = self._health.status, self._health.plain()
        log.info("%s: %s", self._name, text)
        try:
            memory = scaler.memory()
        except Exception as error:
            log.warning("%s: what the policy learned is not saved: %s", self._name, error)
        else:
            if memory is not None:
                self._books.remember(self._name, self._scaler.name, memory)
        self._books.note(text, conditions)
        self._books.end(status, lambda: self._result(status))

    def _result(self, status: str) -> RunResult:
        return replace(
            RunResult.of(str(self.run), status, self._spec),
            duration=self._score.until,
            figures=self._score.figures(),
        )
