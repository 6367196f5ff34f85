"""Spark's dynamic allocation where the number of running tasks is not known, and the busy share stands in for it."""

import pytest

from tidegate.core import ExecutorSample, Observation, OperatorSample
from tidegate.policies.dra import SparkDra


@pytest.mark.parametrize(("busy", "tasks", "wish"), [(0.5, None, 4), (0.0, None, 1), (None, None, 1), (0.5, 0, 1)])
def test_tasks_wait_only_behind_a_running_one(busy: float | None, tasks: int | None, wish: int) -> None:
    policy, requested = SparkDra(), 1
    for second in range(3):
        sample = ExecutorSample("1", busy=busy, tasks=tasks)
        stage = OperatorSample("stage 0", parallelism=20)
        obs = Observation(second, 1, requested, batch_duration=4.0, per_executor=(sample,), operators=(stage,))
        policy.observe(obs)
        requested = policy.decide(obs).executors
    assert requested == wish  # 1, then 2 and 4 while tasks wait
