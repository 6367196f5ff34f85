"""Calls into code that may hang: they run in a thread of their own and are waited for only so long.

A thread cannot be stopped from outside. So a call that takes too long is left behind, and everything that is asked for
meanwhile fails at once; when it returns after all, its thread is used again.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tidegate.core import TidegateError

T = TypeVar("T")


class TimedOut(TidegateError):
    """A call did not return in time, or an earlier one has not returned yet."""


@dataclass(slots=True)
class _Call:
    function: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


class Patience:
    """Runs one call at a time in a thread of its own.

    >>> patience = Patience("policy", limit=5)
    >>> patience.call(lambda: 1 + 1)
    2
    >>> patience.close()
    """

    def __init__(self, what: str, limit: float) -> None:
        self.what, self.limit = what, limit
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        #: the call that was left behind, and when it began
        self._hung: tuple[_Call, float] | None = None

    @property
    def hangs(self) -> bool:
        """Whether a call that was left behind has still not returned."""
        if self._hung is not None and self._hung[0].done.is_set():
            self._hung = None
        return self._hung is not None

    def call(self, function: Callable[[], T]) -> T:
        """The result of the call, or what it raised; `TimedOut` if it takes longer than the limit."""
        if self.hangs:
            assert self._hung is not None
            # rounded down to the limit's multiples, so that the same failure has the same text for a while
            since = self.limit * int((time.monotonic() - self._hung[1]) / self.limit)
            raise TimedOut(f"{self.what} has not returned for more than {since:g} s")
        call = _Call(function)
        self._started().put(call)
        begun = time.monotonic()
        if not call.done.wait(self.limit):
            self._hung = (call, begun)
            raise TimedOut(f"{self.what} did not return within {self.limit:g} s")
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def close(self) -> None:
        """End the thread; one that hangs is left behind and ends when its call returns."""
        if self._thread is not None:
            self._calls.put(None)

    def _started(self) -> queue.SimpleQueue[_Call | None]:
        if self._thread is None or not self._thread.is_alive():
            name = f"tidegate-{self.what}"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()
        return self._calls

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()
