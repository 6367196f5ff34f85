"""Executors that are there but do not work: stopped, swapped out, or stuck in a call that never returns.

Spark counts such an executor as alive until its heartbeat times out, two minutes by default, and its CPU share of 0
looks like idleness.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.cluster.executors import Executor
from tidegate.core import Event

#: a CPU share below which an executor with running tasks does nothing
NOTHING = 0.01


@dataclass(slots=True)
class StallMeter:
    """An executor is stalled if its process is stopped, or if it has used no CPU and finished no task for `patience`
    seconds while tasks were running on it. If its CPU is unknown, it is not judged.
    """

    patience: float = 15.0
    #: executor -> since when it does nothing, and its task time then
    _idle: dict[str, tuple[float, float]] = field(default_factory=dict)
    _stalled: set[str] = field(default_factory=set)

    def read(
        self, now: float, executors: Sequence[Executor], cpu: Mapping[str, float], stopped: Collection[str]
    ) -> tuple[set[str], list[Event]]:
        """The stalled executors, and an event for each that has stalled or resumed since the last call."""
        idle, stalled = {}, set()
        for executor in executors:
            id, share = executor.id, cpu.get(executor.id)
            does_nothing = executor.active_tasks > 0 and share is not None and share < NOTHING
            if not does_nothing:
                if id in stopped:
                    stalled.add(id)
                continue
            since, finished = self._idle.get(id, (now, executor.task_time))
            if executor.task_time != finished or since > now:
                since = now
            idle[id] = (since, executor.task_time)
            if id in stopped or now - since >= self.patience:
                stalled.add(id)
        events = [Event(now, "ExecutorStalled", self._why(id, id in stopped)) for id in sorted(stalled - self._stalled)]
        back = self._stalled & {executor.id for executor in executors} - stalled
        events += [Event(now, "ExecutorResumed", f"executor {id} works again") for id in sorted(back)]
        self._idle, self._stalled = idle, stalled
        return stalled, events

    def _why(self, id: str, stopped: bool) -> str:
        if stopped:
            return f"the process of executor {id} is stopped"
        return f"executor {id} has tasks, but has used no CPU and finished none for {self.patience:g} s"
