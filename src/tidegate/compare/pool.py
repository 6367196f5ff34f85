"""A process pool whose workers finish their current run on an interrupt, so that finished runs are kept."""

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

#: in a worker process: the function applied to a part, and the event that stops it
_task: tuple[Callable[[Any], Iterable[Any]], Event] | None = None


class Pool(Generic[Part, Done]):
    """Applies `do` to parts of the work; `do` yields the results of a part one by one."""

    def __init__(self, processes: int, do: Callable[[Part], Iterable[Done]]) -> None:
        self._processes, self._do = processes, do

    def run(self, parts: Sequence[Part], keep: Callable[[Sequence[Done]], None]) -> None:
        # a fork starts immediately and does not need to pickle `do`
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
    successful = [future for future in futures if not future.cancelled() and future.exception() is None]
    return [result for future in successful for result in future.result()]


def _begin(do: Callable[[Any], Iterable[Any]], stop: Event) -> None:
    """Initialise a worker. It ignores Ctrl-C and the end of the terminal, which reach all its processes: the parent
    handles them.
    """
    global _task  # noqa: PLW0603, one task per worker process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _task = (do, stop)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit with the parent: one that is killed cannot stop its workers, which would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(part: Any) -> list[Any]:
    assert _task is not None
    do, stop = _task
    results: list[Any] = []
    if stop.is_set():
        return results
    for result in do(part):
        results.append(result)
        if stop.is_set():
            break
    return results
