import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tidegate.cluster.executors import Executor
from tidegate.cluster.jvm import JvmError
from tidegate.cluster.state_stores import Group
from tidegate.spark.spreading import LOOK, TRIES, StateSpreader


class Stores:
    """One operator; what is placed is held from then on, unless `sticky` says that Spark undoes it."""

    def __init__(self, *holders: str | None) -> None:
        self.at: list[str | None] = list(holders)
        self.placed: list[tuple[int, str, str]] = []
        self.sticky = False
        self.looks = 0
        self.error: Exception | None = None

    def groups(self) -> Sequence[Group]:
        self.looks += 1
        if self.error:
            raise self.error
        return (Group(len(self.at), (0,)),)

    def holders(self, group: Group) -> Sequence[tuple[str | None, ...]]:
        return [(holder,) for holder in self.at]

    def place(self, group: Group, partition: int, executor: str, host: str) -> None:
        self.placed.append((partition, executor, host))
        if not self.sticky:
            self.at[partition] = executor


class Bench:
    def __init__(self, stores: Stores, *ids: str, **settings: float) -> None:
        self.stores, self.executors = stores, [executor(id) for id in ids]
        self.spreader = StateSpreader(stores, lambda: self.executors, **settings)

    def batch(self) -> None:
        """The end of a batch, and what follows from it."""
        self.spreader.release(())
        self.spreader._turn(ended=True)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.spreader.take_events()]

    @property
    def uneven(self) -> str:
        return self.spreader.uneven([executor.id for executor in self.executors])


def executor(id: str, tasks: int = 0) -> Executor:
    return Executor(id, f"host-{id}", 1, tasks, 0.0, float(id))


Benches = Callable[..., Bench]


@pytest.fixture
def bench() -> Iterator[Benches]:
    benches: list[Bench] = []

    def make(stores: Stores, *ids: str, **settings: float) -> Bench:
        benches.append(Bench(stores, *ids, **settings))
        return benches[-1]

    yield make
    for each in benches:
        each.spreader.close()


def soon(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_new_executors_get_their_share_with_the_next_batch(bench: Benches) -> None:
    stores = Stores(*"1111")
    two = bench(stores, "1")
    two.batch()
    assert (stores.placed, two.spreader.partitions, two.uneven) == ([], {"1": 4}, "")
    two.executors.append(executor("2"))
    assert two.uneven == "new executors hold no state yet"
    two.batch()
    assert stores.placed == [(2, "2", "host-2"), (3, "2", "host-2")]
    assert two.uneven == "2 state partitions are on their way"
    two.batch()
    assert (two.uneven, two.spreader.partitions) == ("", {"1": 2, "2": 2})
    assert two.kinds() == ["StateMoving", "StateSpread"]


def test_what_a_running_batch_has_undone_is_placed_again(bench: Benches) -> None:
    stores = Stores(*"1111")
    two = bench(stores, "1", "2")
    stores.sticky = True
    two.batch()
    stores.sticky = False
    two.batch()
    two.batch()
    assert stores.at == ["1", "1", "2", "2"]
    assert two.kinds() == ["StateMoving", "StateSpread"]


def test_of_large_state_a_few_partitions_move_per_batch_and_it_is_said(bench: Benches) -> None:
    stores = Stores(*"111111")
    two = bench(stores, "1", "2", seconds=2.0, rate=100.0)
    two.spreader.note(1200)  # 200 bytes each: one partition in 2 s at 100 bytes per second
    two.batch()
    assert [partition for partition, _, _ in stores.placed] == [3]
    (event,) = two.spreader.take_events()
    assert event.message == "1 of 3 state partitions move to other executors with the next batch"
    two.batch()
    two.batch()
    assert stores.at.count("2") == 3
    two.batch()
    assert (two.uneven, two.kinds()) == ("", ["StateMoving", "StateSpread"])


def test_large_state_moves_no_faster_if_it_is_looked_at_several_times_before_a_batch(bench: Benches) -> None:
    stores = Stores(*"111111")
    two = bench(stores, "1", "2", seconds=2.0, rate=100.0)
    two.spreader.note(1200)
    two.batch()
    for _ in range(2 * TRIES):
        two.spreader._turn(ended=False)
    assert len(stores.placed) == 1
    assert two.kinds() == ["StateMoving"]
    two.batch()
    assert len(stores.placed) == 2


def test_how_much_moves_per_batch_follows_the_rate_at_which_state_was_last_loaded(bench: Benches) -> None:
    two = bench(Stores(*"111111"), "1", "2", seconds=2.0, rate=100.0)
    two.spreader.note(1200, rate=200.0)  # measured: two partitions of 200 bytes in 2 s
    two.batch()
    assert len(two.stores.placed) == 2
    two.spreader.note(1200)  # what was measured stays until it is measured again
    two.batch()
    assert len(two.stores.placed) == 3


def test_executors_that_are_to_go_hold_nothing_afterwards(bench: Benches) -> None:
    stores = Stores("1", "1", "2", "2", "3", "3")
    three = bench(stores, "1", "2", "3")
    assert three.spreader.release(["2", "3"])
    assert stores.at == ["1"] * 6


def test_large_state_leaves_over_several_batches(bench: Benches) -> None:
    stores = Stores("1", "1", "2", "2")
    two = bench(stores, "1", "2", seconds=1.0, rate=1.0)
    two.spreader.note(400)
    assert not two.spreader.release(["2"])
    assert stores.at == ["1", "1", "1", "2"]
    assert not two.spreader.release(["2"])  # no batch has loaded it yet
    two.spreader._turn(ended=True)
    assert two.spreader.release(["2"])
    assert stores.at == ["1"] * 4


def test_the_state_of_a_dead_executor_is_placed_on_the_others(bench: Benches) -> None:
    stores = Stores("1", "9", "9", "2")
    two = bench(stores, "1", "2")
    two.batch()
    assert sorted(map(str, stores.at)) == ["1", "1", "2", "2"]


def test_an_even_placement_is_looked_at_again_only_now_and_then(bench: Benches) -> None:
    stores = Stores("1", "2")
    two = bench(stores, "1", "2")
    for _ in range(LOOK + 1):
        two.batch()
    assert stores.looks == 2


def test_what_never_stays_is_given_up_until_the_executors_change(bench: Benches) -> None:
    stores = Stores(*"1111")
    two = bench(stores, "1", "2")
    stores.sticky = True
    for _ in range(TRIES + 1):
        two.batch()
    assert two.kinds() == ["StateMoving", "StateUneven"]
    assert two.uneven == ""
    looks = stores.looks
    for _ in range(LOOK + 2):
        two.batch()
    assert stores.looks == looks
    two.executors.append(executor("3"))
    two.batch()
    assert stores.looks == looks + 1


def test_what_moves_about_at_random_is_given_up_too(bench: Benches) -> None:
    stores = Stores(*"11111111")
    two = bench(stores, "1", "2")
    for batch in range(2 * TRIES):
        two.batch()
        stores.at = ["1" if k <= 4 + batch % 3 else "2" for k in range(8)]  # Spark runs tasks where a slot is free
    assert two.kinds()[-1] == "StateUneven"
    assert two.uneven == ""


def test_state_that_moves_again_after_it_was_even_is_not_given_up(bench: Benches) -> None:
    stores = Stores(*("1" * 30))
    two = bench(stores, "1", "2", seconds=1.0, rate=1.0)
    two.spreader.note(30)
    for _ in range(20):
        two.batch()
    stores.at = ["1"] * 30
    for _ in range(LOOK + 16):
        two.batch()
    assert "StateUneven" not in two.kinds()
    assert sorted(stores.at) == ["1"] * 15 + ["2"] * 15


def test_more_executors_than_partitions_are_told_once_with_the_number_that_helps(bench: Benches) -> None:
    stores = Stores("1", "2")
    three = bench(stores, "1", "2", "3")
    three.batch()
    three.batch()
    events = [event for event in three.spreader.take_events() if event.kind == "StateCeiling"]
    assert [event.message for event in events] == [
        "3 executors with 3 slots, but no more than 2 can work on state: it has 2 partitions"
    ]


def test_a_single_partition_and_no_state_are_left_alone(bench: Benches) -> None:
    alone = bench(Stores("1"), "1", "2")
    alone.batch()
    assert (alone.stores.placed, alone.kinds(), alone.uneven) == ([], [], "")


def test_a_driver_that_does_not_answer_delays_nobody(bench: Benches) -> None:
    stores = Stores("1", "1")
    two = bench(stores, "1", "2")
    stores.error = JvmError("the coordinator does not answer")
    assert two.spreader.release(["2"])
    two.spreader.boundary.set()
    soon(lambda: stores.looks >= 2)
    stores.error = None
    two.spreader.release(())
    two.spreader.boundary.set()  # and its thread goes on
    soon(lambda: stores.at == ["1", "2"])


def test_executors_that_come_between_two_batches_are_used_by_the_next(bench: Benches) -> None:
    stores = Stores("1", "1")
    two = bench(stores, "1")
    two.batch()
    two.executors.append(executor("2"))
    two.spreader.look(two.executors)
    soon(lambda: stores.at == ["1", "2"])
    two.spreader.look(two.executors)  # no batch has run on them yet: where its tasks go is not known
    two.spreader._turn(ended=False)
    assert two.uneven == "1 state partition is on its way"
    two.batch()
    assert two.uneven == ""
