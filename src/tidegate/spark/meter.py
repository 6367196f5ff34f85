"""Utilisation of each executor: CPU time of its processes if they run on this machine, and busy time of its slots."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tidegate.cluster.executors import Executor
from tidegate.cluster.processes import cpu_seconds, find_executors, is_stopped, tree
from tidegate.cluster.quota import Quotas


class CpuMeter:
    """CPU time of each local executor since the last reading, as a share of the cores that it may use.

    Scanning /proc is by far the most expensive part. So processes are searched only when a new executor appears, and
    Python workers of each executor only every `refresh` seconds.
    """

    refresh = 5.0

    def __init__(self, application: str, quotas: Quotas | None) -> None:
        self._application, self._quotas = application, quotas
        self._processes: dict[str, int] = {}
        self._searched: set[str] = set()
        self._trees: dict[str, tuple[float, list[int]]] = {}
        self._last: dict[str, tuple[float, float]] = {}

    def read(self, now: float, executors: Sequence[Executor]) -> dict[str, float]:
        ids = {executor.id for executor in executors}
        if ids - self._searched:
            self._processes = find_executors(self._application)
            self._searched = ids
        self._trees = {id: entry for id, entry in self._trees.items() if id in ids & self._processes.keys()}
        self._refresh_oldest(now)
        shares = {}
        for executor in executors:
            process = self._processes.get(executor.id)
            if process is None:
                continue
            used = self._used(now, executor.id, process)
            before = self._last.get(executor.id)
            self._last[executor.id] = (now, used)
            if before is not None and now > before[0]:
                share = (used - before[1]) / (now - before[0]) / self._allowed(executor)
                shares[executor.id] = min(max(share, 0.0), 1.0)
        self._last = {id: last for id, last in self._last.items() if id in ids}
        return shares

    def stopped(self) -> set[str]:
        """Executors of the last reading whose process is stopped."""
        return {id for id in self._last if id in self._processes and is_stopped(self._processes[id])}

    def _used(self, now: float, id: str, process: int) -> float:
        if id not in self._trees:
            self._trees[id] = (now, tree(process))
        return sum(map(cpu_seconds, self._trees[id][1]))

    def _refresh_oldest(self, now: float) -> None:
        """Update the processes of the executor with the oldest list; updating all at once would take too long."""
        id = min(self._trees, key=lambda id: self._trees[id][0], default=None)
        if id is not None and now - self._trees[id][0] >= self.refresh:
            self._trees[id] = (now, tree(self._processes[id]))

    def _allowed(self, executor: Executor) -> float:
        return self._quotas.allowance(executor.id, executor.cores) if self._quotas else float(executor.cores)


class SlotMeter:
    """Share of each executor's slot time spent in tasks over the last `window` seconds.

    Spark counts a task's time when it ends, so the share would fluctuate with a window shorter than a few batches.
    """

    def __init__(self, window: float = 15.0) -> None:
        self._window = window
        self._history: dict[str, deque[tuple[float, float]]] = {}

    def read(self, now: float, executors: Sequence[Executor]) -> dict[str, float]:
        self._history = {e.id: self._history.get(e.id, deque()) for e in executors}
        shares = {}
        for executor in executors:
            points = self._history[executor.id]
            points.append((now, executor.task_time))
            while _stale(points, now - self._window):
                points.popleft()
            first_time, first = points[0]
            if now > first_time:
                share = (executor.task_time - first) / (now - first_time) / executor.cores
                shares[executor.id] = min(max(share, 0.0), 1.0)
        return shares


def _stale(points: deque[tuple[float, float]], before: float) -> bool:
    """Whether the second point is old enough to be the start of the window."""
    return len(points) > 1 and points[1][0] <= before
