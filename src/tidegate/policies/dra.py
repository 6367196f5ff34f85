"""`spark-dra`: Spark's own dynamic allocation, as it behaves, to see beside the others why it does not fit streams.

    needed = ceil((pending + running tasks) * allocation_ratio / cores of an executor)

While tasks have waited for `scheduler_backlog_timeout` it asks for one executor more, then for 2, 4, 8... more every
`sustained_backlog_timeout`, `needed` at most; when no task waits it begins again with one. An executor without a task
for `executor_idle_timeout` goes (Spark, ExecutorAllocationManager; spark.dynamicAllocation.*).

An observation does not tell the tasks that wait. While a batch runs they are those of its widest stage that find no
slot. Where the engine does not tell running tasks either, a batch runs while executors are busy, and its tasks have
waited if the last one took longer than the timeout. Spark also withdraws requests that were not served when the queue
is empty; here what was asked for stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tidegate.core import Decision, ExecutorSample, Observation, check, hold, parameter
from tidegate.policies.operators import cores


@dataclass(slots=True)
class SparkDra:
    """
    >>> from tidegate.core import OperatorSample
    >>> stages, busy = (OperatorSample("stage 0", parallelism=8),), (ExecutorSample("1", tasks=1),)
    >>> policy = SparkDra()
    >>> for time in (0, 1):
    ...     obs = Observation(time, executors=1, requested=1, per_executor=busy, operators=stages)
    ...     policy.observe(obs)
    >>> policy.decide(obs).reason
    '7 of 8 tasks wait: 1 -> 2, 8 at most'
    """

    interval: float = parameter(1.0, "s", "time between decisions", above=0)
    allocation_ratio: float = parameter(1.0, "", "executors per executor that all tasks at once would fill", above=0)
    scheduler_backlog_timeout: float = parameter(1.0, "s", "wait of tasks before the first request", least=0)
    sustained_backlog_timeout: float = parameter(1.0, "s", "wait before each further request", least=0)
    executor_idle_timeout: float = parameter(60.0, "s", "time without a task after which an executor goes", least=0)
    #: when executors are asked for next, how many more, and the total asked for since tasks began to wait
    _due: float | None = field(default=None, repr=False)
    _more: int = field(default=1, repr=False)
    _target: int | None = field(default=None, repr=False)
    #: since when each idle executor is
    _idle: dict[str, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy spark-dra")

    def observe(self, obs: Observation) -> None:
        since, now = self._idle, obs.time
        self._idle = {one.id: min(since.get(one.id, now), now) for one in obs.per_executor if _idle(one)}
        if not self._waiting(obs):
            self._due, self._more, self._target = None, 1, None
        elif self._due is None or self._due > obs.time + self._longest:  # the second: the clock went back
            self._due = obs.time + self.scheduler_backlog_timeout
        elif obs.time >= self._due:
            self._ask(obs)
            self._due = obs.time + self.sustained_backlog_timeout

    @property
    def _longest(self) -> float:
        return max(self.scheduler_backlog_timeout, self.sustained_backlog_timeout)

    def _waiting(self, obs: Observation) -> bool:
        """Whether tasks wait, as far as can be seen."""
        if _tasks(obs) <= obs.executors * cores(obs) or not _running(obs):
            return False
        if any(sample.tasks is not None for sample in obs.per_executor):
            return True
        return obs.batch_duration is None or obs.batch_duration >= self.scheduler_backlog_timeout

    def _ask(self, obs: Observation) -> None:
        before = max(self._target or 0, obs.requested, obs.executors)
        self._target = max(before, min(before + self._more, self._needed(_tasks(obs), cores(obs))))
        self._more = 2 * self._more if self._target - before == self._more else 1

    def _needed(self, tasks: int, each: int) -> int:
        return math.ceil(round(min(tasks * self.allocation_ratio / each, 1e9), 9))

    def decide(self, obs: Observation) -> Decision:
        if not obs.per_executor:
            return hold(obs, "no figures of executors")
        tasks, each = _tasks(obs), cores(obs)
        needed = self._needed(tasks, each) if _running(obs) else 0
        waiting = max(0, tasks - obs.executors * each) if needed else 0
        gone = sum([obs.time - since >= self.executor_idle_timeout for since in self._idle.values()])
        evidence = {"needed": float(needed), "waiting": float(waiting), "idle": float(gone)}
        if self._target is not None and self._target > obs.requested:
            told = f"{waiting} of {tasks} tasks wait: {obs.requested} -> {self._target}, {needed} at most"
            return Decision(self._target, told, evidence)
        left = min(obs.requested, max(1, needed, obs.executors - gone))
        if gone and left < obs.requested:
            told = f"{gone} executors without a task for {self.executor_idle_timeout:g} s: {obs.requested} -> {left}"
            return Decision(left, told, evidence)
        return hold(obs, f"{needed} needed, {waiting} tasks wait, {gone} executors idle long enough", **evidence)


def _tasks(obs: Observation) -> int:
    """Of the widest stage of the last batch."""
    return max([stage.parallelism for stage in obs.operators], default=0)


def _running(obs: Observation) -> bool:
    return any((sample.busy or 0) > 0 if sample.tasks is None else sample.tasks > 0 for sample in obs.per_executor)


def _idle(sample: ExecutorSample) -> bool:
    """No task now, and none since the last look: short ones run between two looks. Not known is not idle."""
    return not sample.tasks and not sample.busy and (sample.tasks is not None or sample.busy is not None)
