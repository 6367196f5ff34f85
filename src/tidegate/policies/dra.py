"""`spark-dra`: a model of Spark's own dynamic allocation, to compare with the others and to show why it does not suit
streaming.

    needed = ceil((pending + running tasks) * allocation_ratio / cores of an executor)

Once tasks have waited for `scheduler_backlog_timeout`, it requests one more executor, and then 2, 4, 8... more every
`sustained_backlog_timeout`, up to `needed`. When no task is waiting, it starts over with one. An executor without a
task for `executor_idle_timeout` is removed (Spark, ExecutorAllocationManager; spark.dynamicAllocation.*).

Observations do not include pending tasks. While a batch runs, they are assumed to be the tasks of its widest stage
that have no slot. If the engine does not report running tasks either, a batch is assumed to run while executors are
busy, and its tasks to have waited if the last batch took longer than the timeout. Spark also cancels unfulfilled
requests when the queue is empty; here a request stays in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tidegate.core import Decision, ExecutorSample, Observation, check, hold, parameter
from tidegate.policies.entry import AS_IS, Entry
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
    allocation_ratio: float = parameter(1.0, "", "share of the executors needed to run all tasks at once", above=0)
    scheduler_backlog_timeout: float = parameter(1.0, "s", "how long tasks wait before the first request", least=0)
    sustained_backlog_timeout: float = parameter(1.0, "s", "time between further requests", least=0)
    executor_idle_timeout: float = parameter(60.0, "s", "time without a task before an executor is removed", least=0)
    #: when the next request is due, how many executors it adds, and the total requested since tasks began to wait
    _due: float | None = field(default=None, repr=False)
    _more: int = field(default=1, repr=False)
    _target: int | None = field(default=None, repr=False)
    #: when each idle executor became idle
    _idle: dict[str, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy spark-dra")

    def observe(self, obs: Observation) -> None:
        since, now = self._idle, obs.time
        self._idle = {
            executor.id: min(since.get(executor.id, now), now) for executor in obs.per_executor if _idle(executor)
        }
        if not self._waiting(obs):
            self._due, self._more, self._target = None, 1, None
        elif self._due is None or self._due > obs.time + self._longest:  # the latter if the clock went back
            self._due = obs.time + self.scheduler_backlog_timeout
        elif obs.time >= self._due:
            self._request(obs)
            self._due = obs.time + self.sustained_backlog_timeout

    @property
    def _longest(self) -> float:
        return max(self.scheduler_backlog_timeout, self.sustained_backlog_timeout)

    def _waiting(self, obs: Observation) -> bool:
        """Whether tasks are waiting, as far as the observation shows."""
        if _tasks(obs) <= obs.executors * cores(obs) or not _running(obs):
            return False
        if any(executor.tasks is not None for executor in obs.per_executor):
            return True
        return obs.batch_duration is None or obs.batch_duration >= self.scheduler_backlog_timeout

    def _request(self, obs: Observation) -> None:
        before = max(self._target or 0, obs.requested, obs.executors)
        self._target = max(before, min(before + self._more, self._needed(_tasks(obs), cores(obs))))
        self._more = 2 * self._more if self._target - before == self._more else 1

    def _needed(self, tasks: int, slots: int) -> int:
        """Executors of `slots` slots each that could run all tasks at once."""
        return math.ceil(round(min(tasks * self.allocation_ratio / slots, 1e9), 9))

    def decide(self, obs: Observation) -> Decision:
        if not obs.per_executor:
            return hold(obs, "no figures of executors")
        tasks, slots = _tasks(obs), cores(obs)
        needed = self._needed(tasks, slots) if _running(obs) else 0
        waiting = max(0, tasks - obs.executors * slots) if needed else 0
        idle = sum([obs.time - since >= self.executor_idle_timeout for since in self._idle.values()])
        evidence = {"needed": float(needed), "waiting": float(waiting), "idle": float(idle)}
        if self._target is not None and self._target > obs.requested:
            reason = f"{waiting} of {tasks} tasks wait: {obs.requested} -> {self._target}, {needed} at most"
            return Decision(self._target, reason, evidence)
        left = min(obs.requested, max(1, needed, obs.executors - idle))
        if idle and left < obs.requested:
            reason = f"{idle} executors without a task for {self.executor_idle_timeout:g} s: {obs.requested} -> {left}"
            return Decision(left, reason, evidence)
        return hold(obs, f"{needed} needed, {waiting} tasks wait, {idle} executors idle long enough", **evidence)


def _tasks(obs: Observation) -> int:
    """Number of tasks in the widest stage of the last batch."""
    return max([stage.parallelism for stage in obs.operators], default=0)


def _running(obs: Observation) -> bool:
    return any(
        (executor.busy or 0) > 0 if executor.tasks is None else executor.tasks > 0 for executor in obs.per_executor
    )


def _idle(executor: ExecutorSample) -> bool:
    """Whether it has no task now and had none since the last observation, in between which short tasks may run. An
    executor without figures does not count as idle.
    """
    return not executor.tasks and not executor.busy and (executor.tasks is not None or executor.busy is not None)


NAMES = {"spark-dra": Entry("pending tasks and idle time", "Spark's dynamic allocation", SparkDra, AS_IS)}
