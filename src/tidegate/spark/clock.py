"""Wall-clock time in seconds since the epoch, as in Spark's progress reports."""

from __future__ import annotations

import threading
import time


class WallClock:
    """Sleeping ends early when `stop` is set, so that shutting down does not wait for the end of a period."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def now(self) -> float:
        return time.time()

    def sleep_until(self, moment: float) -> None:
        self.stop.wait(max(0.0, moment - time.time()))
