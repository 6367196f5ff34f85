"""A sink that runs beside the loop: what it does, and how long it takes, does not delay control."""

from __future__ import annotations

import threading
from collections import deque

from tidegate.core import Sink, Tick


class QueuedSink:
    """Hands ticks to a sink in a thread of its own, in their order.

    At most `capacity` ticks wait; when there are more, the oldest are dropped and counted. What the sink raises is
    raised by the next `take`, so that the loop reports it like that of any other sink; the tick it failed at is gone.
    """

    def __init__(self, sink: Sink, capacity: int = 1000) -> None:
        self._sink = sink
        self._waiting: deque[Tick] = deque()
        self._capacity = capacity
        self._changed = threading.Condition()
        self._closed = False
        self._error: BaseException | None = None
        self._dropped = 0
        self._thread = threading.Thread(target=self._work, name=f"tidegate-sink-{sink.name}", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        return self._sink.name

    @property
    def dropped(self) -> int:
        """Ticks that the sink never got because it was too slow."""
        return self._dropped

    def take(self, tick: Tick) -> None:
        with self._changed:
            if len(self._waiting) >= self._capacity:
                self._waiting.popleft()
                self._dropped += 1
            self._waiting.append(tick)
            self._changed.notify()
            error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self, patience: float = 5.0) -> None:
        """Let the sink finish what is waiting, but wait only so long."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(timeout=patience)

    @property
    def idle(self) -> bool:
        with self._changed:
            return not self._waiting

    def _work(self) -> None:
        while (tick := self._next()) is not None:
            try:
                self._sink.take(tick)
            except BaseException as error:
                self._error = error

    def _next(self) -> Tick | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            return self._waiting.popleft() if self._waiting else None
