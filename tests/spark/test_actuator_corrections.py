"""The actuator over time: requests that are not met, refused or lost are repeated, each after its time. The clock is
the tests' own.
"""

import threading
import time as real_time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tidegate.cluster.executors import Executor
from tidegate.core import Event
from tidegate.spark import actuator as module
from tidegate.spark.actuator import Actuator, Pace


class Clock:
    """Stands still until it is set."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 5000.0 + self.now


class Cluster:
    """Writes down what it is asked for; executors go only when a test removes them."""

    def __init__(self, executors: int, tasks: int = 0) -> None:
        self.present = [Executor(str(k), "host", 1, tasks, 0.0, float(k)) for k in range(executors)]
        self.kills: list[list[str]] = []
        self.totals: list[int] = []
        self.refusal: Exception | None = None
        self.kept: int | None = None
        self.looks = 0

    def executors(self) -> list[Executor]:
        self.looks += 1
        return list(self.present)

    def kill(self, executors: Sequence[str]) -> None:
        self.kills.append(list(executors))

    def request_total(self, executors: int) -> None:
        self.totals.append(executors)
        if self.refusal is not None:
            raise self.refusal
        self.kept = None if self.kept is None else executors

    def requested_total(self) -> int | None:
        return self.kept

    def busy(self) -> bool:
        return False


def until(condition: Callable[[], bool]) -> None:
    deadline = real_time.monotonic() + 30
    while not condition():
        assert real_time.monotonic() < deadline, "it did not come true"
        real_time.sleep(0.002)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


Make = Callable[[Cluster], Actuator]


@pytest.fixture
def make(clock: Clock) -> Iterator[Make]:
    made: list[Actuator] = []

    def actuator(cluster: Cluster) -> Actuator:
        made.append(Actuator(cluster, cluster.executors, threading.Event(), pace=Pace(patience=20, timeout=60)))
        return made[-1]

    yield actuator
    for one in made:
        one.close()


def settled(actuator: Actuator) -> None:
    until(lambda: not actuator._wake.is_set() and not actuator._state.applying)


def test_an_executor_that_stays_though_it_was_killed_is_killed_again_after_the_timeout(
    clock: Clock, make: Make
) -> None:
    cluster = Cluster(3)
    actuator = make(cluster)
    actuator.scale(2)
    until(lambda: cluster.totals == [2])
    settled(actuator)
    assert actuator.check(0.0, running=3) == []  # it may still be leaving
    until(lambda: cluster.totals == [2, 2])
    settled(actuator)
    assert cluster.kills == [["2"]]
    clock.now += 60
    assert actuator.check(1.0, running=3) == []  # 60 s are allowed
    until(lambda: cluster.totals == [2, 2, 2])
    settled(actuator)
    clock.now += 0.5
    assert actuator.check(2.0, running=3) == [Event(2.0, "ScaleTimeout", "2 executors requested, 3 there after 60 s")]
    until(lambda: cluster.kills == [["2"], ["2"]])


def test_a_timeout_is_reported_once_and_not_after_the_request_was_met(clock: Clock, make: Make) -> None:
    actuator = make(Cluster(1))
    actuator.scale(3)
    clock.now += 61
    assert [event.kind for event in actuator.check(0.0, running=1)] == ["ScaleTimeout"]
    clock.now += 61
    assert actuator.check(1.0, running=1) == []
    actuator.scale(3)  # the same again is no new request
    clock.now += 61
    assert actuator.check(2.0, running=1) == []
    actuator.scale(4)
    clock.now += 30
    actuator.scale(4)  # nor does it prolong one
    clock.now += 31
    assert [event.message for event in actuator.check(3.0, running=3)] == ["4 executors requested, 3 there after 60 s"]
    actuator.scale(5)
    assert actuator.check(4.0, running=5) == []
    clock.now += 61
    assert actuator.check(5.0, running=4) == []  # it was met; that one was lost later is not this request's failure


def test_a_refused_request_is_repeated_once_after_the_patience(clock: Clock, make: Make) -> None:
    cluster = Cluster(1)
    cluster.refusal = RuntimeError("no room")
    actuator = make(cluster)
    actuator.scale(3)
    until(lambda: cluster.totals == [3])
    settled(actuator)
    assert actuator.check(0.0, running=1) == [Event(6000.0, "ScaleFailed", "3 executors: no room")]
    clock.now += 20
    assert actuator.check(1.0, running=1) == []
    settled(actuator)
    assert cluster.totals == [3]
    clock.now += 0.5
    cluster.refusal = None
    assert actuator.check(2.0, running=1) == []
    until(lambda: cluster.totals == [3, 3])
    settled(actuator)
    clock.now += 20.5
    assert actuator.check(3.0, running=1) == []
    settled(actuator)
    assert cluster.totals == [3, 3]  # it was accepted


def test_without_a_failure_nothing_is_repeated_while_executors_are_missing(clock: Clock, make: Make) -> None:
    cluster = Cluster(1)
    actuator = make(cluster)
    actuator.scale(3)
    until(lambda: cluster.totals == [3])
    settled(actuator)
    clock.now += 50
    assert actuator.check(0.0, running=1) == []
    settled(actuator)
    assert cluster.totals == [3]


def test_a_request_that_is_met_is_not_repeated(clock: Clock, make: Make) -> None:
    cluster = Cluster(3)
    actuator = make(cluster)
    actuator.scale(3)
    until(lambda: cluster.totals == [3])
    settled(actuator)
    assert actuator.check(0.0, running=3) == []
    settled(actuator)
    assert cluster.totals == [3]


def test_while_a_request_is_carried_out_no_total_is_foreign(clock: Clock, make: Make) -> None:
    cluster, entered, released = Cluster(3), threading.Event(), threading.Event()
    cluster.kept = 3
    actuator = make(cluster)

    def slowly(executors: Sequence[str]) -> None:
        cluster.kept = 2  # Spark lowers its total when executors are killed
        entered.set()
        released.wait(30)

    cluster.kill = slowly  # type: ignore[method-assign]
    actuator.scale(1)
    assert entered.wait(30)
    assert actuator.foreign_total() is None
    released.set()
    settled(actuator)
    assert (cluster.totals, actuator.foreign_total()) == ([1], None)


def test_running_tasks_are_waited_for_as_long_as_the_patience_lasts(clock: Clock, make: Make) -> None:
    cluster = Cluster(3, tasks=1)
    actuator = make(cluster)
    actuator.scale(1)
    for later in (0, 20):  # at the start, and when the patience is just over
        clock.now = 1000.0 + later
        looks = cluster.looks
        until(lambda looks=looks: cluster.looks > looks + 4)  # type: ignore[misc]
        assert cluster.kills == []
    clock.now += 0.5
    until(lambda: cluster.kills == [["2", "1"]])


def test_a_shrink_that_has_nothing_left_to_remove_does_not_wait(clock: Clock, make: Make) -> None:
    cluster = Cluster(3, tasks=1)
    actuator = make(cluster)
    actuator.scale(2)
    until(lambda: cluster.looks >= 3)
    del cluster.present[0]  # lost while tasks run on the others
    until(lambda: cluster.totals == [2])
    assert cluster.kills == []


def test_executors_that_left_may_come_back_under_their_name_and_are_removed_again(clock: Clock, make: Make) -> None:
    cluster = Cluster(3)
    actuator = make(cluster)
    actuator.scale(2)
    until(lambda: cluster.totals == [2])
    settled(actuator)
    gone = cluster.present.pop()
    actuator.repeat()  # it looks, and sees that it has left
    until(lambda: cluster.totals == [2, 2])
    settled(actuator)
    cluster.present.append(gone)
    actuator.check(0.0, running=3)
    until(lambda: cluster.kills == [["2"], ["2"]])


def test_a_total_that_was_adopted_is_not_declared_but_is_waited_for(clock: Clock, make: Make) -> None:
    cluster = Cluster(2)
    actuator = make(cluster)
    actuator.adopt(5)
    assert (actuator.requested, cluster.totals) == (5, [])
    clock.now += 61
    assert [event.message for event in actuator.check(0.0, running=2)] == ["5 executors requested, 2 there after 60 s"]


def test_a_foreign_total_is_told_once_and_an_own_one_never(clock: Clock, make: Make) -> None:
    cluster = Cluster(2)
    cluster.kept = 2
    actuator = make(cluster)
    assert actuator.foreign_total() is None
    cluster.kept = 5
    assert (actuator.foreign_total(), actuator.foreign_total()) == (5, None)
    actuator.scale(3)
    until(lambda: cluster.kept == 3)
    settled(actuator)
    assert actuator.foreign_total() is None
    cluster.kept = None  # Spark does not say
    assert actuator.foreign_total() is None
    cluster.kept = 5  # and then it does again
    assert actuator.foreign_total() == 5


def test_a_total_that_becomes_known_is_no_change(clock: Clock, make: Make) -> None:
    cluster = Cluster(2)
    actuator = make(cluster)
    cluster.kept = 2
    assert actuator.foreign_total() is None
    cluster.kept = 4
    assert actuator.foreign_total() == 4


def test_by_default_a_shrink_waits_twenty_seconds_and_a_request_has_sixty() -> None:
    assert (Pace().patience, Pace().timeout) == (20, 60)


def test_closing_wakes_whoever_waits_for_the_end_of_a_batch() -> None:
    cluster = Cluster(3, tasks=1)
    actuator = Actuator(cluster, cluster.executors, threading.Event())
    actuator.scale(1)
    until(lambda: cluster.looks >= 3)
    actuator.close()
    assert not actuator._thread.is_alive()
    assert (cluster.kills, cluster.totals) == ([], [])
