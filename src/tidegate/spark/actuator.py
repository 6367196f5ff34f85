"""Changes the number of executors through the driver's own API, which is the same on every kind of cluster.

Scale-out is immediate. Scale-in waits for a moment between two batches without running tasks, so that no work is lost;
if there is none within `patience`, executors are removed anyway and Spark reruns their tasks elsewhere. Before they go,
the state they hold is placed on others.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from tidegate.cluster.executors import Executor, Scaling, declare, victims
from tidegate.core import Event

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait for the end of a batch before scaling in, for a request to be met before reporting it, and for
    state to leave executors before they go.
    """

    patience: float = 20.0
    timeout: float = 60.0
    drain: float = 300.0


class Keeper(Protocol):
    """Knows where state is, and moves it."""

    @property
    def partitions(self) -> Mapping[str, int]:
        """State partitions by executor."""
        ...

    def release(self, ids: Collection[str]) -> bool:
        """Place the state of executors that are to go on others, as much as fits into the next batch; True if nothing
        is left on them then. Without ids, all stay.
        """
        ...


class Stateless:
    """A keeper where there is no state."""

    partitions: Mapping[str, int] = MappingProxyType({})

    def release(self, ids: Collection[str]) -> bool:
        return True


@dataclass(slots=True)
class _State:
    """State shared by the control thread and the actuator's own thread; accessed only under its lock."""

    requested: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    closed: bool = False
    #: time of a request that is not met yet, and time at which a failed one is retried
    since: float | None = None
    retry_at: float | None = None
    #: executors being removed, which Spark may still list
    leaving: set[str] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    #: the total that Spark kept when it was last read or declared; None if Spark does not show it
    total: int | None = None
    #: whether a request is being carried out, during which the total changes in steps
    applying: bool = False


class Actuator:
    """Scales executors in a thread of its own. `requested` is the last request, which may differ from the number of
    executors present; `check` reports if it does for too long.
    """

    def __init__(  # noqa: PLR0913, what it drives, what it waits for, and how long
        self,
        driver: Scaling,
        executors: Callable[[], Sequence[Executor]],
        boundary: threading.Event,
        *,
        keeper: Keeper = Stateless(),  # noqa: B008, it has no state
        requested: int | None = None,
        pace: Pace = Pace(),  # noqa: B008, a frozen value
    ) -> None:
        self._driver, self._executors, self._boundary, self._keeper = driver, executors, boundary, keeper
        self.pace = pace
        self._wake = threading.Event()
        self._state = _State(len(executors()) if requested is None else requested, total=driver.requested_total())
        self._thread = threading.Thread(target=self._work, name="tidegate-actuator", daemon=True)
        self._thread.start()

    @property
    def requested(self) -> int:
        with self._state.lock:
            return self._state.requested

    def scale(self, executors: int) -> None:
        """Declare the total. Returns immediately; repeating a total has no effect."""
        with self._state.lock:
            if executors != self._state.requested:
                self._state.since = time.monotonic()
            self._state.requested = executors
            applying = self._state.applying
        self._wake.set()
        if applying:  # a scale-in that waits for the end of a batch looks again
            self._boundary.set()

    def check(self, now: float, running: int) -> list[Event]:
        """Events since the last call; a request that is not met in time is reported once.

        Scaling is corrected until it holds: executors that were still starting when fewer were requested are removed
        too, and a request that the cluster refused is repeated.
        """
        with self._state.lock:
            return self._checked(self._state, now, running)

    def _checked(self, state: _State, now: float, running: int) -> list[Event]:
        events, state.events = state.events, []
        if running == state.requested:
            state.since = None
        if running > state.requested or (state.retry_at is not None and time.monotonic() > state.retry_at):
            state.retry_at = None
            self._wake.set()
        if state.since is not None and time.monotonic() - state.since > self.pace.timeout:
            state.since = None
            state.leaving.clear()  # those that are still present are removed again
            message = f"{state.requested} executors requested, {running} there after {self.pace.timeout:g} s"
            events.append(Event(now, "ScaleTimeout", message))
        return events

    def foreign_total(self) -> int | None:
        """A total that somebody else has declared since the last call; None if nobody has."""
        with self._state.lock:
            if self._state.applying or self._wake.is_set():
                return None
            before = self._state.total
        now = self._driver.requested_total()
        with self._state.lock:
            if self._state.applying or self._wake.is_set() or now is None or now == before:
                return None
            self._state.total = now
            return None if before is None else now

    def adopt(self, executors: int) -> None:
        """Take a total that somebody else has declared as the requested one."""
        with self._state.lock:
            self._state.requested, self._state.since = executors, time.monotonic()

    def repeat(self) -> None:
        """Declare the requested total again."""
        self._wake.set()

    def close(self) -> None:
        with self._state.lock:
            self._state.closed = True
        self._wake.set()
        self._boundary.set()
        self._thread.join(timeout=5)

    def _work(self) -> None:
        while True:
            self._wake.wait()
            with self._state.lock:
                self._state.applying = True
                self._wake.clear()
            if self._closed:
                return
            try:
                self._apply()
            except Exception as error:  # a refusal by the cluster manager must not end the thread
                self._failed(error)
            finally:
                self._applied()

    def _applied(self) -> None:
        try:
            total = self._driver.requested_total()
        except Exception:
            total = None
        with self._state.lock:
            self._state.total, self._state.applying = total, False

    @property
    def _closed(self) -> bool:
        with self._state.lock:
            return self._state.closed

    def _failed(self, error: Exception) -> None:
        with self._state.lock:
            message = f"{self._state.requested} executors: {error}"
            self._state.events.append(Event(time.time(), "ScaleFailed", message))
            self._state.retry_at = time.monotonic() + self.pace.patience
        log.warning("could not scale to %s", message)

    def _apply(self) -> None:
        surplus: list[Executor] = []
        if len(self._staying()) > self.requested:
            emptied = self._drain()
            self._await_quiet()
            if self._closed:
                return
            surplus = self._surplus(emptied)
            going = [executor.id for executor in surplus]
            if set(going) != set(emptied):  # more were requested meanwhile, and some of them stay
                self._keeper.release(going)
        declare(self._driver, surplus, self.requested)
        with self._state.lock:
            self._state.leaving |= {executor.id for executor in surplus}

    def _drain(self) -> list[str]:
        """Place the state of the executors that are to go on others, over as many batches as that takes; their ids.

        Those that were chosen first stay chosen, as others may be idle at the end of the next batch.
        """
        deadline = time.monotonic() + self.pace.drain
        ids: list[str] = []
        while True:
            ids = [executor.id for executor in self._surplus(ids)]
            self._boundary.clear()
            if self._keeper.release(ids) or self._closed or time.monotonic() > deadline:
                return ids
            self._boundary.wait(self.pace.patience)

    def _surplus(self, first: Sequence[str]) -> list[Executor]:
        """The executors to remove at this moment, those whose state was moved `first`."""
        staying = self._staying()
        ranked = victims(staying, 0, self._keeper.partitions)
        ranked.sort(key=lambda executor: executor.id not in first)
        return ranked[: max(0, len(staying) - self.requested)]

    def _staying(self) -> list[Executor]:
        listed = self._executors()
        with self._state.lock:
            self._state.leaving &= {executor.id for executor in listed}
            return [executor for executor in listed if executor.id not in self._state.leaving]

    def _await_quiet(self) -> None:
        """Wait until no job and no task runs, patience is exhausted, or there is nothing to remove any more.

        Checked at the end of each batch, but also in between: when the end is reported, the next batch may have begun.
        """
        deadline = time.monotonic() + self.pace.patience
        while any(executor.active_tasks for executor in self._executors()) or self._driver.busy():
            self._boundary.clear()
            self._boundary.wait(0.05)
            if self._closed or time.monotonic() > deadline or self.requested >= len(self._staying()):
                return
