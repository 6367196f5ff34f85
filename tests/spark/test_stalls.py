from tidegate.cluster.executors import Executor
from tidegate.spark.stalls import StallMeter


def executor(id: str, tasks: int = 1, task_time: float = 0.0) -> Executor:
    return Executor(id, "host", 1, tasks, task_time, 0.0)


def read(
    meter: StallMeter, now: float, one: Executor, cpu: float | None, stopped: bool = False
) -> tuple[bool, list[str]]:
    shares = {} if cpu is None else {one.id: cpu}
    stalled, events = meter.read(now, [one], shares, {one.id} if stopped else set())
    return one.id in stalled, [event.kind for event in events]


def test_a_stopped_process_is_stalled_at_once_with_or_without_tasks() -> None:
    meter = StallMeter()
    assert read(meter, 0, executor("1", tasks=0), 0.0, stopped=True) == (True, ["ExecutorStalled"])
    assert read(meter, 1, executor("1"), 0.0, stopped=True) == (True, [])
    assert read(meter, 2, executor("1"), 0.5) == (False, ["ExecutorResumed"])


def test_tasks_without_cpu_and_without_an_end_are_stalled_after_a_while() -> None:
    meter = StallMeter(patience=15)
    assert read(meter, 0, executor("1"), 0.0) == (False, [])
    assert read(meter, 14, executor("1"), 0.009) == (False, [])
    assert read(meter, 15, executor("1"), 0.0) == (True, ["ExecutorStalled"])
    assert read(meter, 16, executor("1"), 0.01) == (False, ["ExecutorResumed"])


def test_a_task_that_ended_starts_the_wait_anew() -> None:
    meter = StallMeter(patience=15)
    read(meter, 0, executor("1", task_time=1), 0.0)
    assert read(meter, 14, executor("1", task_time=2), 0.0) == (False, [])
    assert read(meter, 28, executor("1", task_time=2), 0.0) == (False, [])
    assert read(meter, 29, executor("1", task_time=2), 0.0) == (True, ["ExecutorStalled"])


def test_idle_executors_and_unknown_cpu_are_not_judged() -> None:
    meter = StallMeter(patience=15)
    for now in (0, 20, 40):
        assert read(meter, now, executor("1", tasks=0), 0.0) == (False, [])
        assert read(meter, now, executor("2"), None) == (False, [])


def test_one_that_is_gone_is_not_reported_as_back() -> None:
    meter = StallMeter()
    read(meter, 0, executor("1"), 0.0, stopped=True)
    assert meter.read(1, [executor("2")], {"2": 0.5}, set()) == (set(), [])


def test_the_message_says_what_was_seen() -> None:
    meter = StallMeter(patience=15)
    _, events = meter.read(0, [executor("3")], {"3": 0.0}, {"3"})
    assert events[0].message == "the process of executor 3 is stopped"
    meter.read(0, [executor("4")], {"4": 0.0}, set())
    _, events = meter.read(15, [executor("4")], {"4": 0.0}, set())
    assert events[0].message == "executor 4 has tasks, but has used no CPU and finished none for 15 s"
