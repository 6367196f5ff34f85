"""Changes the number of executors through the driver's own API, the same on every kind of cluster.

Order matters (measured on Spark 4.3): `requestTotalExecutors` removes nobody, and `killExecutors` lowers the target
it finds. So executors are killed first and the total is declared after, always both.

Growing happens at once. Shrinking waits for a moment without a running task, which comes between two batches, so that
no work is lost; if none comes within `patience`, executors go anyway and Spark runs their tasks again elsewhere.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext

from tidegate.cluster.status import Executor
from tidegate.core import Event

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait: for the end of a batch before shrinking, and for a request to be met before telling."""

    patience: float = 20.0
    timeout: float = 60.0


class Actuator:
    """`requested` is what was last asked for; what is there is another number, and `events` tells when they stay
    apart.
    """

    def __init__(
        self,
        context: SparkContext,
        executors: Callable[[], Sequence[Executor]],
        boundary: threading.Event,
        *,
        requested: int | None = None,
        pace: Pace = Pace(),  # noqa: B008, a frozen value
    ) -> None:
        self._context = context
        self._executors, self._boundary = executors, boundary
        self.pace = pace
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._since: float | None = None
        self._retry_at: float | None = None
        #: told to go, though Spark may still list them
        self._leaving: set[str] = set()
        self._events: list[Event] = []
        self.requested = len(executors()) if requested is None else requested
        self._thread = threading.Thread(target=self._work, name="tidegate-actuator", daemon=True)
        self._thread.start()

    def scale(self, executors: int) -> None:
        """Declare the total; returns at once. Saying it again changes nothing."""
        with self._lock:
            if executors != self.requested:
                self._since = time.monotonic()
            self.requested = executors
        self._wake.set()

    def check(self, now: float, running: int) -> list[Event]:
        """What happened since the last call; a request that is not met in time is told once.

        Scaling is corrected until it holds: executors that were on their way when fewer were asked for are sent away
        too, and what the cluster refused is asked for again.
        """
        with self._lock:
            told, self._events = self._events, []
            if running == self.requested:
                self._since = None
            if running > self.requested or (self._retry_at is not None and time.monotonic() > self._retry_at):
                self._retry_at = None
                self._wake.set()
            if self._since is not None and time.monotonic() - self._since > self.pace.timeout:
                self._since = None
                self._leaving.clear()  # those that have not gone by now are told again
                message = f"{self.requested} executors asked for, {running} there after {self.pace.timeout:g} s"
                told.append(Event(now, "ScaleTimeout", message))
        return told

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._boundary.set()
        self._thread.join(timeout=5)

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closed:
                return
            try:
                self._apply()
            except Exception as error:  # the cluster manager's refusal must not end the loop
                log.warning("could not scale to %d executors: %s", self.requested, error)
                with self._lock:
                    self._events.append(Event(time.time(), "ScaleFailed", f"{self.requested} executors: {error}"))
                    self._retry_at = time.monotonic() + self.pace.patience

    def _apply(self) -> None:
        surplus: list[Executor] = []
        if len(self._staying()) > self.requested:
            self._await_quiet()
            if self._closed:
                return
            surplus = victims(self._staying(), self.requested)
        declare(self._context, surplus, self.requested)
        self._leaving |= {executor.id for executor in surplus}

    def _staying(self) -> list[Executor]:
        listed = self._executors()
        self._leaving &= {executor.id for executor in listed}
        return [executor for executor in listed if executor.id not in self._leaving]

    def _await_quiet(self) -> None:
        """Until no task runs, patience ends, or there is no one to send away any more.

        The end of a batch is the moment to look; tasks of the next one may be there already by the time it is told.
        """
        deadline = time.monotonic() + self.pace.patience
        while any(executor.active_tasks for executor in self._executors()):
            self._boundary.clear()
            self._boundary.wait(0.05)
            if self._closed or time.monotonic() > deadline or self.requested >= len(self._staying()):
                return


def declare(context: SparkContext, surplus: Sequence[Executor], total: int) -> None:
    """Send the surplus away, then say how many there shall be."""
    jvm: Any = context._jvm
    scala: Any = context._jsc.sc()
    if surplus:
        scala.killExecutors(jvm.PythonUtils.toSeq([executor.id for executor in surplus]))
    scala.requestTotalExecutors(total, 0, jvm.PythonUtils.toScalaMap({}))


def victims(executors: Sequence[Executor], total: int) -> list[Executor]:
    """Who has to go: idle ones first, then the youngest, which are the least warm and hold the least state.

    >>> known = [("0", 0, 1), ("1", 1, 2), ("2", 0, 3)]  # id, running tasks, when it came
    >>> a, b, c = (Executor(id, "host", 1, tasks, 0.0, added) for id, tasks, added in known)
    >>> [e.id for e in victims([a, b, c], total=1)]
    ['2', '0']
    """
    order = sorted(executors, key=lambda e: (e.active_tasks, -e.added))
    return order[: max(0, len(executors) - total)]
