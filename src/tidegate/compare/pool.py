"""Pieces of work on several processes: an interrupt ends them after the run they are at, and what is done counts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from typing import Any, Generic, TypeVar

from tidegate.core import TidegateError

Part = TypeVar("Part")
Done = TypeVar("Done")

#: of a worker: what it does with a part, and whether it is to stop
_task: tuple[Callable[[Any], Iterable[Any]], Event] | None = None


class Pool(Generic[Part, Done]):
    """`do` makes the results of a part, one after another."""

    def __init__(self, processes: int, do: Callable[[Part], Iterable[Done]]) -> None:
        self._processes, self._do = processes, do

    def run(self, parts: Sequence[Part], keep: Callable[[Sequence[Done]], None]) -> None:
        # a fork begins at once, and takes `do` along as it is
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        stop = context.Event()
        with ProcessPoolExecutor(self._processes, context, _begin, (self._do, stop)) as pool:
            futures = [pool.submit(_work, part) for part in parts]
            left = set(futures)
            try:
                for future in as_completed(futures):
                    left.discard(future)
                    keep(future.result())
            except BrokenProcessPool:
                raise TidegateError(
                    "a process of the comparison was ended from outside (was memory short?); what was done is kept: "
                    "call again to go on, perhaps with fewer --processes"
                ) from None
            except KeyboardInterrupt:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                keep(_rest(left))
                raise


def _rest(futures: Iterable[Future[list[Done]]]) -> list[Done]:
    whole = [future for future in futures if not future.cancelled() and future.exception() is None]
    return [done for future in whole for done in future.result()]


def _begin(do: Callable[[Any], Iterable[Any]], stop: Event) -> None:
    """Ctrl-C reaches every process of a terminal: here it is the parent's to answer."""
    global _task  # noqa: PLW0603, a worker's one task
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _task = (do, stop)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(part: Any) -> list[Any]:
    assert _task is not None
    do, stop = _task
    found: list[Any] = []
    if stop.is_set():
        return found
    for done in do(part):
        found.append(done)
        if stop.is_set():
            break
    return found
