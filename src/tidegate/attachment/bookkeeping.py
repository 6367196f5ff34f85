"""Keeps a run in a store, in a thread of its own: no state of the store delays or ends control.

A store that is locked, full or read-only is tried again until it works, and what happened meanwhile is written then, as
far as it fits into memory. One that was deleted is begun anew, and one that is damaged is set aside and replaced.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tidegate.core import Tick, TidegateError
from tidegate.runs import RunResult, RunSpec
from tidegate.store import Found, Store, inspect, is_damage, set_aside

log = logging.getLogger(__name__)
#: ticks that wait for the store at most: an hour at one per second
CAPACITY = 3600
#: ticks that are written in one transaction
PORTION = 200
#: seconds for which a lock is waited for
TIMEOUT = 5.0
#: seconds between two checks whether the file can still be read
CHECK = 15.0
#: seconds until the next attempt after a failure: the first and the longest
FIRST, LONGEST = 1.0, 8.0

#: told the name of a part and what is wrong with it, or None if nothing is any more
Tell = Callable[[str, str | None], None]


class StoreUnavailable(TidegateError):
    """Ticks wait for the store, or were dropped because they waited for too long."""


class NoBookkeeping:
    """For attachments without a store."""

    name = "store"
    run: str | None = None

    def take(self, tick: Tick) -> None:
        """Nothing is kept."""

    def memory(self, job: str, policy: str) -> None:
        return None

    def remember(self, job: str, policy: str, memory: Mapping[str, Any]) -> None:
        """Nothing is kept."""

    def note(self, status: str, conditions: Sequence[Mapping[str, Any]]) -> None:
        """Nothing is kept."""

    def update(self, result: Callable[[], RunResult]) -> None:
        """Nothing is kept."""

    def end(self, status: str, result: Callable[[], RunResult]) -> None:
        """Nothing is kept."""


class Bookkeeping:
    """A sink for ticks, and the place where status, score and memory of a run are kept, the latest of each.

    `tell` is called whenever the store stops or starts to work.
    """

    name = "store"

    def __init__(self, path: str | Path, spec: RunSpec, tell: Tell, capacity: int = CAPACITY) -> None:
        self._path, self._spec, self._tell, self._capacity = path, spec, tell, capacity
        self.run: str | None = None
        self._open = ExitStack()
        self._store: Store | None = None
        self._changed = threading.Condition()
        self._ticks: deque[Tick] = deque()
        #: the latest of each kind of entry beside ticks, and how to write it
        self._entries: dict[str, Callable[[Store, str], None]] = {}
        self._dropped = 0
        self._trouble: str | None = None
        self._closed = False
        self._checked = time.monotonic()
        self._flushed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="tidegate-store", daemon=True)
        self._thread.start()

    def take(self, tick: Tick) -> None:
        """Queue a tick. Raises, so that the loop reports it, if the store does not work or ticks were dropped."""
        with self._changed:
            if len(self._ticks) >= self._capacity:
                self._ticks.popleft()
                self._dropped += 1
            self._ticks.append(tick)
            self._changed.notify_all()
            trouble = self._trouble
            dropped = 0
            if trouble is None and self._dropped:
                dropped, self._dropped = self._dropped, 0
        if trouble is not None:
            raise StoreUnavailable(f"ticks wait for it: {trouble}")
        if dropped:
            raise StoreUnavailable(f"{dropped} ticks were dropped while it could not be used")

    def memory(self, job: str, policy: str, patience: float = 10.0) -> Mapping[str, Any] | None:
        """What a policy learned about a job before; None if there is nothing, or the store does not work or is slow."""
        answer: list[Mapping[str, Any] | None] = []

        def read(store: Store, run: str) -> None:
            learned = store.memory(job, policy)
            with self._changed:
                answer.append(learned)
                self._changed.notify_all()

        self._put("recall", read)
        with self._changed:
            self._changed.wait_for(lambda: answer or self._trouble is not None, timeout=patience)
        return answer[0] if answer else None

    def remember(self, job: str, policy: str, memory: Mapping[str, Any]) -> None:
        self._put("memory", lambda store, run: store.remember(job, policy, memory))

    def note(self, status: str, conditions: Sequence[Mapping[str, Any]]) -> None:
        by_type = {str(condition["type"]): condition for condition in conditions}
        self._put("note", lambda store, run: store.note(run, status, by_type))

    def update(self, result: Callable[[], RunResult]) -> None:
        """`result` is called in the store's thread, as scoring takes time."""
        self._put("result", lambda store, run: store.update(run, result()))

    def end(self, status: str, result: Callable[[], RunResult], patience: float = 10.0) -> None:
        """Write what is left and end the run; if the store does not work by then, the run stays as it is."""
        self._put("result", lambda store, run: store.end(run, status, result()))
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if not self._flushed.wait(patience):
            log.warning("%s: the end of the run is not stored: %s", self._path, self._trouble or "the store is slow")

    def _put(self, kind: str, write: Callable[[Store, str], None]) -> None:
        with self._changed:
            self._entries[kind] = write
            self._changed.notify_all()

    def _work(self) -> None:
        wait = FIRST
        while self._something_to_do():
            try:
                self._write(self._opened())
            except BaseException as error:
                self._failed(error)
                with self._changed:
                    if self._closed:
                        break
                    self._changed.wait_for(lambda: self._closed, timeout=wait)
                wait = min(2 * wait, LONGEST)
            else:
                self._works()
                wait = FIRST
        self._close()
        self._flushed.set()

    def _something_to_do(self) -> bool:
        """Wait for something; False once everything is written and the run has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ticks or self._entries or self._closed)
            return bool(self._ticks or self._entries)

    def _opened(self) -> Store:
        if self._store is not None and not self._store.still_there():
            log.warning("the store %s is gone: begun anew", self._path)
            self._close()
        if self._store is not None and time.monotonic() - self._checked >= CHECK:
            self._checked = time.monotonic()
            self._store.check()
        if self._store is None:
            if inspect(self._path) is Found.DAMAGED:
                self._aside(set_aside(self._path))
            self._store = self._open.enter_context(Store.open(self._path, timeout=TIMEOUT))
            self.run = self._store.begin(self._spec, id=self.run)
        return self._store

    def _aside(self, kept: Path | None) -> None:
        if kept is not None:
            log.warning("the store %s is damaged: kept as %s and begun anew", self._path, kept)

    def _write(self, store: Store) -> None:
        assert self.run is not None
        with self._changed:
            ticks = [self._ticks[k] for k in range(min(len(self._ticks), PORTION))]
            entries = dict(self._entries)
        if ticks:
            store.append_many(self.run, ticks)
            self._written(ticks)
        for kind, write in entries.items():
            if kind == "result" and self._ticks:
                continue  # after the ticks that it counts
            write(store, self.run)
            with self._changed:
                if self._entries.get(kind) is write:
                    del self._entries[kind]

    def _written(self, ticks: Sequence[Tick]) -> None:
        """Remove written ticks from the queue; some may have been dropped from it meanwhile."""
        written = set(map(id, ticks))
        with self._changed:
            while self._ticks and id(self._ticks[0]) in written:
                self._ticks.popleft()

    def _failed(self, error: BaseException) -> None:
        text = str(error) or type(error).__name__
        if self._trouble != text:
            log.warning("%s: ticks and decisions are not stored at present: %s", self._spec.job, text)
        with self._changed:
            self._trouble = text
            self._changed.notify_all()
        self._tell(self.name, f"ticks are not stored: {text}")
        store = self._store
        self._close()
        if store is not None and is_damage(error):
            try:
                self._aside(store.set_aside())
            except TidegateError as reason:
                log.warning("the damaged store %s cannot be replaced: %s", self._path, reason)

    def _works(self) -> None:
        if self._trouble is not None:
            log.info("%s: ticks and decisions are stored again", self._spec.job)
            self._trouble = None
            self._tell(self.name, None)

    def _close(self) -> None:
        self._store = None
        try:
            self._open.close()
        except Exception as error:
            log.debug("closing the store: %s", error)
