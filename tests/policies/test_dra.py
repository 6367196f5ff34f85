import json
from collections.abc import Sequence

import pytest

from tidegate.core import Decision, ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall
from tidegate.policies.dra import SparkDra


def seen(time: float, running: Sequence[int | None], *, stage: int = 20, requested: int | None = None) -> Observation:
    """Executors of one core with so many tasks each; the last batch's widest stage had `stage`."""
    samples = tuple(ExecutorSample(str(k), tasks=tasks) for k, tasks in enumerate(running))
    stages = (OperatorSample("stage 0", parallelism=stage), OperatorSample("stage 1", parallelism=2))
    asked = len(running) if requested is None else requested
    return Observation(time, len(running), asked, per_executor=samples, operators=stages)


def asked(policy: SparkDra, obs: Observation) -> Decision:
    policy.observe(obs)
    return policy.decide(obs)


def test_it_asks_for_one_then_two_then_four_more_up_to_what_all_tasks_would_fill() -> None:
    policy = SparkDra()
    wishes, requested = [], 1
    for second in range(7):
        requested = asked(policy, seen(second, [1], requested=requested)).executors
        wishes.append(requested)
    # tasks wait from 0 on; from 1 s on 1, 2, 4, 8 more; of the next 16 only 4 are needed: ceil(20 * 1.0 / 1) = 20
    assert wishes == [1, 2, 4, 8, 16, 20, 20]


def test_the_ratio_and_the_cores_say_how_many_are_needed() -> None:
    policy = SparkDra(allocation_ratio=0.5)
    samples = (ExecutorSample("1", cores=4, tasks=4),)
    obs = Observation(0, 1, 1, per_executor=samples, operators=(OperatorSample("stage 0", parallelism=20),))
    wish = asked(policy, obs)
    assert wish.evidence == {"needed": 3, "waiting": 16, "idle": 0}  # ceil(20 * 0.5 / 4); 20 tasks less 4 slots


def test_when_no_task_waits_it_begins_again_with_one() -> None:
    policy = SparkDra()
    for second in range(4):
        policy.observe(seen(second, [1], requested=1))
    policy.observe(seen(4, [0], requested=8))  # the batch is over
    policy.observe(seen(5, [1], requested=8))
    assert asked(policy, seen(6, [1], requested=8)).executors == 9


def test_an_executor_that_was_idle_long_enough_goes() -> None:
    policy = SparkDra()
    policy.observe(seen(0, [0, 0, 1], stage=1))
    policy.observe(seen(59, [0, 1, 0], stage=1))
    wish = asked(policy, seen(60, [0, 0, 0], stage=1))  # the first for 60 s, the third for 1 s
    assert (wish.executors, wish.reason) == (2, "1 executors without a task for 60 s: 3 -> 2")
    # it has not gone yet, but no more than that one is asked away
    assert asked(policy, seen(61, [0, 0, 0], stage=1, requested=2)).executors == 2


def test_one_task_in_a_minute_keeps_every_executor() -> None:
    policy = SparkDra()
    for second in range(3600):
        wish = asked(policy, seen(second, [int(second % 59 == 0)] * 8, stage=8))
        assert wish.executors == 8


def test_without_running_tasks_the_busy_share_and_the_batch_time_stand_in() -> None:
    def batch(time: float, busy: float, duration: float) -> Observation:
        stage = (OperatorSample("stage 0", parallelism=20),)
        sample = (ExecutorSample("1", busy=busy),)
        return Observation(time, 1, 1, batch_duration=duration, per_executor=sample, operators=stage)

    long, short = SparkDra(), SparkDra()
    for second in range(3):
        long.observe(batch(second, 0.5, 4.0))
        short.observe(batch(second, 0.5, 0.4))  # no task waited for a second
    assert (long.decide(batch(2, 0.5, 4.0)).executors, short.decide(batch(2, 0.5, 0.4)).executors) == (4, 1)


def test_unknown_is_neither_idle_nor_running() -> None:
    policy = SparkDra(executor_idle_timeout=0)
    assert asked(policy, seen(0, [None, None])).executors == 2
    assert policy.decide(Observation(0, 0, 3)).reason == "hold: no figures of executors"


def test_a_clock_that_goes_back_stops_no_request() -> None:
    policy = SparkDra()
    policy.observe(seen(1000, [1]))
    policy.observe(seen(0, [1]))
    assert asked(policy, seen(1, [1])).executors == 2


def test_idle_time_begins_again_where_the_clock_went_back() -> None:
    policy = SparkDra()
    for time in (1000, 10, 69):
        assert asked(policy, seen(time, [0, 1, 1], stage=1)).executors == 3
    assert asked(policy, seen(70, [0, 1, 1], stage=1)).executors == 2


@pytest.mark.parametrize(("first", "further"), [(5.0, 3.0), (3.0, 5.0), (5.0, 0.0)])
def test_requests_have_their_timeouts(first: float, further: float) -> None:
    policy = SparkDra(scheduler_backlog_timeout=first, sustained_backlog_timeout=further)
    times, requested = [], 1
    for half in range(40):
        wished = asked(policy, seen(half / 2, [1], requested=requested)).executors
        if wished > requested:
            times.append(half / 2)
        requested = wished
    step = further or 0.5
    assert times[:3] == [first, first + step, first + 2 * step]


@pytest.mark.parametrize(("tasks", "waiting"), [(8, False), (9, True)])
def test_tasks_wait_that_no_slot_is_left_for(tasks: int, waiting: bool) -> None:
    policy, samples = SparkDra(), tuple(ExecutorSample(str(k), cores=4, tasks=4) for k in range(2))
    for time in (0, 1):
        stage = OperatorSample("stage 0", parallelism=tasks)
        wish = asked(policy, Observation(time, 2, 2, per_executor=samples, operators=(stage,)))
    assert wish.executors == (3 if waiting else 2)


def test_without_any_times_a_busy_executor_tells_that_tasks_wait() -> None:
    policy = SparkDra()
    for time in (0, 1):
        sample, stage = ExecutorSample("1", busy=0.5), OperatorSample("stage 0", parallelism=20)
        wish = asked(policy, Observation(time, 1, 1, per_executor=(sample,), operators=(stage,)))
    assert wish.executors == 2


def test_idle_executors_stay_while_all_are_needed() -> None:
    policy = SparkDra()
    policy.observe(seen(0, [0, 0, 1], stage=3))
    assert asked(policy, seen(60, [0, 0, 1], stage=3)).reason == (
        "hold: 3 needed, 0 tasks wait, 2 executors idle long enough"
    )


def test_nothing_is_needed_where_nothing_runs() -> None:
    assert asked(SparkDra(), seen(0, [0, 0])).evidence["needed"] == 0
    running = Observation(0, 1, 1, per_executor=(ExecutorSample("1", tasks=1),))
    assert asked(SparkDra(), running).evidence["needed"] == 0  # no stage is known


def test_its_memory_goes_through_json() -> None:
    policy = SparkDra()
    for second in range(3):
        policy.observe(seen(second, [1, 0]))
    assert recall(SparkDra(), json.loads(json.dumps(memory(policy)))) == policy


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match="policy spark-dra: need 0 < allocation-ratio, got 0"):
        SparkDra(allocation_ratio=0)
