"""Progress of Spark's running stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext

from tidegate.cluster.jvm import JvmError

#: called with the completed and the total number of tasks
Show = Callable[[int, int], None]


@contextmanager
def watch_tasks(context: SparkContext, show: Show, interval: float = 0.5) -> Iterator[None]:
    """Call `show(done, total)` with the tasks of the running stages every `interval` seconds while the block runs."""
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(context, show, interval, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(interval)


def _watch(context: SparkContext, show: Show, interval: float, ended: threading.Event) -> None:
    tracker = context.statusTracker()
    while not ended.wait(interval):
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except (JvmError, OSError):  # Spark is shutting down
            return
        running = [stage for stage in stages if stage is not None]
        show(sum(stage.numCompletedTasks for stage in running), sum(stage.numTasks for stage in running))
