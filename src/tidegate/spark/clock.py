"""Wall-clock time, in seconds since the epoch, as Spark's own progress reports tell it."""

from __future__ import annotations

import threading
import time


class WallClock:
    """Its sleep ends early when `stop` is set, so that leaving never waits for a period to pass."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def now(self) -> float:
        return time.time()

    def sleep_until(self, moment: float) -> None:
        self.stop.wait(max(0.0, moment - time.time()))
