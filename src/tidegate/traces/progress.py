"""How far Spark's running stages are, for someone who waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark import SparkContext

Show = Callable[[int, int], None]


@contextmanager
def watched(context: SparkContext, show: Show, every: float = 0.5) -> Iterator[None]:
    """`show(done, all)` tasks of the running stages, every so many seconds, while the block runs."""
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(context, show, every, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(every)


def _watch(context: SparkContext, show: Show, every: float, ended: threading.Event) -> None:
    tracker = context.statusTracker()
    while not ended.wait(every):
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except (Py4JError, OSError):  # Spark is going down
            return
        running = [stage for stage in stages if stage is not None]
        show(sum(stage.numCompletedTasks for stage in running), sum(stage.numTasks for stage in running))
