import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pytest

from tidegate.cluster.executors import Executor
from tidegate.core import Event
from tidegate.spark.actuator import Actuator, Pace


def executor(id: str, *, tasks: int = 0, added: float = 0.0) -> Executor:
    return Executor(id, "host", 1, tasks, 0.0, added)


class Cluster:
    """A driver as far as the actuator knows it; it writes down what it is asked for and does nothing."""

    def __init__(self, *executors: Executor) -> None:
        self.present = list(executors)
        self.looks = 0
        self.calls: list[tuple[str, Any]] = []
        self.refusal: Exception | None = None
        #: the total that Spark keeps, if it shows it
        self.total: int | None = None
        #: whether a job runs, though perhaps no task at this moment
        self.jobs = False

    def executors(self) -> list[Executor]:
        self.looks += 1
        return list(self.present)

    def request_total(self, executors: int) -> None:
        self._note("total", executors)
        self.total = None if self.total is None else executors

    def requested_total(self) -> int | None:
        return self.total

    def busy(self) -> bool:
        return self.jobs

    def kill(self, executors: Sequence[str]) -> None:
        self._note("kill", list(executors))

    def _note(self, what: str, value: Any) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.calls.append((what, value))


class Keeper:
    """State that needs so many turns to leave executors; it writes down which ones are to be empty."""

    def __init__(self, turns: int = 1, **partitions: int) -> None:
        self.turns, self.partitions = turns, {id.lstrip("e"): count for id, count in partitions.items()}
        self.released: list[list[str]] = []

    def release(self, ids: Collection[str]) -> bool:
        self.released.append(sorted(ids))
        return len(self.released) >= self.turns


class Bench:
    """An actuator over a cluster, and the boundary between batches."""

    def __init__(self, cluster: Cluster, requested: int | None, pace: Pace, keeper: Keeper | None = None) -> None:
        self.cluster, self.boundary = cluster, threading.Event()
        self.keeper = keeper or Keeper()
        self.actuator = Actuator(
            cluster,
            cluster.executors,
            self.boundary,
            keeper=self.keeper,
            requested=requested,
            pace=pace,
        )

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return self.cluster.calls

    def waits_for_a_boundary(self) -> None:
        # it looks when it is made, when it starts to scale, and for tasks just before it waits
        until(lambda: self.cluster.looks >= 3)


def until(true: Callable[[], bool], deadline: float = 5.0) -> None:
    end = time.monotonic() + deadline
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


Benches = Callable[..., Bench]


@pytest.fixture
def bench() -> Iterator[Benches]:
    made: list[Bench] = []

    def make(*executors: Executor, requested: int | None = None, keeper: Keeper | None = None, **times: float) -> Bench:
        made.append(Bench(Cluster(*executors), requested, Pace(**times), keeper))
        return made[-1]

    yield make
    for one in made:
        one.actuator.close()


IDLE = (executor("0", added=1), executor("1", added=2), executor("2", added=3))
BUSY = (executor("0", tasks=1, added=1), executor("1", tasks=1, added=2), executor("2", tasks=1, added=3))


def test_at_first_what_is_there_was_asked_for(bench: Benches) -> None:
    one = bench(*IDLE)
    assert (one.actuator.requested, one.calls, one.actuator.check(0, running=3)) == (3, [], [])


def test_what_was_requested_changes_only_by_scaling(bench: Benches) -> None:
    one = bench(*IDLE)
    with pytest.raises(AttributeError):
        one.actuator.requested = 5  # type: ignore[misc]
    assert one.actuator.requested == 3


def test_growing_asks_for_the_total_at_once(bench: Benches) -> None:
    one = bench(*BUSY, patience=60)
    one.actuator.scale(5)
    assert one.actuator.requested == 5
    until(lambda: one.calls == [("total", 5)])
    assert not one.boundary.is_set()


def test_shrinking_waits_for_a_quiet_moment_then_kills_and_then_declares_the_total(bench: Benches) -> None:
    one = bench(*BUSY, patience=60)
    one.actuator.scale(1)
    one.waits_for_a_boundary()
    assert one.calls == []
    one.cluster.present = list(IDLE)  # the batch is over
    one.boundary.set()
    until(lambda: len(one.calls) == 2)
    assert one.calls == [("kill", ["2", "1"]), ("total", 1)]


def test_a_boundary_after_which_tasks_run_again_is_not_the_moment(bench: Benches) -> None:
    one = bench(*BUSY, patience=60)
    one.actuator.scale(2)
    one.waits_for_a_boundary()
    looks = one.cluster.looks
    one.boundary.set()  # but the next batch has begun
    until(lambda: one.cluster.looks > looks + 2)
    assert one.calls == []
    one.cluster.present = list(IDLE)
    until(lambda: one.calls == [("kill", ["2"]), ("total", 2)])


def test_shrinking_an_idle_query_waits_for_nothing(bench: Benches) -> None:
    one = bench(*IDLE, patience=60)
    one.actuator.scale(2)
    until(lambda: one.calls == [("kill", ["2"]), ("total", 2)])


def test_without_a_boundary_it_goes_on_when_its_patience_ends(bench: Benches) -> None:
    one = bench(*BUSY, patience=0.05)
    one.actuator.scale(1)
    until(lambda: one.calls == [("kill", ["2", "1"]), ("total", 1)])


def test_who_goes_is_chosen_after_the_wait(bench: Benches) -> None:
    one = bench(*BUSY, patience=60)
    one.actuator.scale(2)
    one.waits_for_a_boundary()
    one.cluster.present = [executor("0", added=1), executor("7", tasks=1, added=9)]  # one was lost meanwhile
    one.boundary.set()
    until(lambda: one.calls == [("total", 2)])


def test_the_same_total_again_kills_nobody(bench: Benches) -> None:
    one = bench(*IDLE)
    for times in (1, 2):
        one.actuator.scale(3)
        until(lambda times=times: len(one.calls) == times)  # type: ignore[misc]
    assert one.calls == [("total", 3), ("total", 3)]
    assert one.actuator.check(0, running=3) == []


def test_what_was_asked_for_before_it_was_made_can_be_told(bench: Benches) -> None:
    one = bench(executor("0"), requested=2)  # one of the two is still starting
    assert (one.actuator.requested, one.calls) == (2, [])


def test_one_that_comes_late_is_sent_away_and_one_that_leaves_slowly_is_not_sent_twice(bench: Benches) -> None:
    one = bench(*IDLE)
    one.actuator.scale(2)
    until(lambda: one.calls == [("kill", ["2"]), ("total", 2)])
    one.cluster.present.append(executor("3", added=9))  # was on its way; and 2 is still listed
    one.actuator.check(0, running=4)
    until(lambda: len(one.calls) == 4)
    assert one.calls[2:] == [("kill", ["3"]), ("total", 2)]


def test_growing_asks_at_once_even_while_a_shrink_waits(bench: Benches) -> None:
    one = bench(*BUSY, patience=60)
    one.actuator.scale(1)
    one.waits_for_a_boundary()
    one.actuator.scale(5)
    until(lambda: one.calls[:1] == [("total", 5)], deadline=5)  # and nobody was killed first


def events_of(one: Bench, now: float, running: int) -> list[Event]:
    """What it tells, once it tells something."""
    events: list[Event] = []
    until(lambda: bool(events.extend(one.actuator.check(now, running)) or events))
    return events


def test_a_request_that_is_not_met_in_time_is_told_once(bench: Benches) -> None:
    one = bench(executor("0"), timeout=0.05)
    one.actuator.scale(3)
    assert events_of(one, 77.0, running=1) == [
        Event(77.0, "ScaleTimeout", "3 executors requested, 1 there after 0.05 s")
    ]
    time.sleep(0.06)  # as long again
    one.actuator.scale(3)  # and said again
    time.sleep(0.06)
    assert one.actuator.check(78.0, running=1) == []
    one.actuator.scale(4)  # another request, another time to meet it
    assert events_of(one, 79.0, running=2) == [
        Event(79.0, "ScaleTimeout", "4 executors requested, 2 there after 0.05 s")
    ]


def test_a_request_that_was_met_is_never_told(bench: Benches) -> None:
    one = bench(executor("0"), timeout=0.05)
    one.actuator.scale(3)
    assert one.actuator.check(0, running=3) == []
    time.sleep(0.06)
    assert one.actuator.check(1, running=2) == []  # one was lost later: that is another story


def test_a_refusal_of_the_cluster_is_an_event_and_not_the_end(bench: Benches) -> None:
    one = bench(*IDLE)
    one.cluster.refusal = RuntimeError("no more room")
    one.actuator.scale(9)
    found = [(event.kind, event.message) for event in events_of(one, 0, running=3)]
    assert found == [("ScaleFailed", "9 executors: no more room")]
    assert one.actuator.check(0, running=3) == []
    one.cluster.refusal = None
    one.actuator.scale(4)
    until(lambda: one.calls == [("total", 4)])


def threads() -> int:
    return sum(thread.name == "tidegate-actuator" for thread in threading.enumerate())


def test_closing_ends_its_thread(bench: Benches) -> None:
    before = threads()
    one = bench(*IDLE)
    assert threads() == before + 1
    one.actuator.close()
    assert threads() == before
    one.actuator.close()  # again is harmless
    one.actuator.scale(7)
    assert one.calls == []


def test_closing_does_not_wait_for_a_boundary_and_kills_nobody(bench: Benches) -> None:
    before = threads()
    one = bench(*BUSY, patience=60)
    one.actuator.scale(1)
    one.waits_for_a_boundary()
    one.actuator.close()
    assert (threads(), one.calls) == (before, [])


def test_executors_go_when_their_state_has_left(bench: Benches) -> None:
    three = bench(*IDLE, keeper=Keeper(turns=2, e0=1, e1=4, e2=4), patience=60)
    three.actuator.scale(2)
    until(lambda: three.keeper.released == [["0"]])  # it holds the fewest partitions
    assert three.calls == []
    three.boundary.set()
    until(lambda: three.calls == [("kill", ["0"]), ("total", 2)])


def test_who_was_chosen_first_goes_even_if_another_is_idle_later(bench: Benches) -> None:
    three = bench(*IDLE, keeper=Keeper(turns=3), patience=60)
    three.actuator.scale(2)
    until(lambda: three.keeper.released == [["2"]])  # the youngest of equal ones
    three.cluster.present = [*IDLE[:2], executor("2", tasks=1, added=3)]
    three.boundary.set()
    until(lambda: len(three.keeper.released) == 2)
    three.cluster.present = list(IDLE)
    three.boundary.set()
    until(lambda: three.calls[:2] == [("kill", ["2"]), ("total", 2)])
    assert three.keeper.released == [["2"]] * 3


def test_executors_that_are_kept_after_all_get_state_again(bench: Benches) -> None:
    three = bench(*IDLE, keeper=Keeper(turns=3), patience=60)
    three.actuator.scale(1)
    until(lambda: three.keeper.released == [["1", "2"]])
    three.actuator.scale(2)  # while their state is leaving
    until(lambda: three.keeper.released == [["1", "2"], ["2"]])
    three.boundary.set()
    until(lambda: three.calls[:2] == [("kill", ["2"]), ("total", 2)])


def test_an_executor_that_was_emptied_and_stays_is_no_longer_kept_empty(bench: Benches) -> None:
    three = bench(*BUSY, keeper=Keeper(turns=1), patience=60)
    three.actuator.scale(1)
    until(lambda: three.keeper.released == [["1", "2"]])
    three.waits_for_a_boundary()  # all have tasks
    three.actuator.scale(2)
    three.cluster.present = list(IDLE)
    until(lambda: three.calls[:2] == [("kill", ["2"]), ("total", 2)])
    assert three.keeper.released[-1] == ["2"]


def test_a_moment_between_two_stages_of_a_batch_is_not_quiet(bench: Benches) -> None:
    three = bench(*IDLE, patience=60)
    three.cluster.jobs = True
    three.actuator.scale(1)
    three.waits_for_a_boundary()
    time.sleep(0.1)
    assert three.calls == []
    three.cluster.jobs = False
    until(lambda: [what for what, _ in three.calls] == ["kill", "total"])
