import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.cluster.executors import Executor
from tidegate.core import ExecutorSample, InvalidInput, UnknownName
from tidegate.spark.actuator import Actuator, Keeper
from tidegate.spark.engine import shared
from tidegate.spark.pool import RESPECT, Membership, portions


@dataclass
class Cluster:
    """Gives and takes executors at once, and keeps the total that was declared last, by whomever."""

    total: int = 2
    declared: list[int] = field(default_factory=list)

    def executors(self) -> list[Executor]:
        return [Executor(str(k), "host", 1, 0, 0.0, float(k)) for k in range(self.total)]

    def kill(self, executors: Sequence[str]) -> None:
        self.total -= len(executors)

    def request_total(self, executors: int) -> None:
        self.declared.append(executors)
        self.total = executors

    def requested_total(self) -> int | None:
        return self.total

    def busy(self) -> bool:
        return False

    def actuator(self, boundary: threading.Event, keeper: Keeper) -> Actuator:
        return Actuator(self, self.executors, boundary, keeper=keeper)


Join = Callable[..., Membership]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def join(cluster: Cluster) -> Iterator[Join]:
    members: list[Membership] = []

    def make(query: str, **terms: object) -> Membership:
        members.append(Membership("app-1", query, query, cluster.actuator, **terms))  # type: ignore[arg-type]
        return members[-1]

    yield make
    for member in members:
        member.leave()


def until(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.005)
    pytest.fail("did not come true")


def settled(cluster: Cluster, member: Membership, total: int) -> None:
    until(lambda: cluster.declared[-1:] == [total] and not member.actuator._state.applying)


def test_a_query_alone_has_all_executors(cluster: Cluster, join: Join) -> None:
    orders = join("orders")
    assert (orders.requested, orders.others, orders.present(2), orders.present(5)) == (2, 0, 2, 5)
    orders.scale(4, "busy")
    settled(cluster, orders, 4)
    assert (orders.requested, orders.check(0, running=4)) == (4, [])


def test_the_needs_of_queries_are_added_up_and_each_reason_names_its_query(cluster: Cluster, join: Join) -> None:
    orders, clicks = join("orders"), join("clicks")
    # nothing was declared: of the two executors that are there each has one
    assert (cluster.declared, orders.requested, clicks.requested) == ([], 1, 1)
    assert [member.present(2) for member in (orders, clicks)] == [1, 1]
    orders.scale(3, "CPU 90%")
    settled(cluster, orders, 4)
    assert (orders.requested, orders.others, clicks.requested, clicks.others) == (3, 1, 1, 3)
    (event,) = clicks.check(0, running=4)
    assert (event.kind, event.message) == (
        "SharedRescale",
        "2 -> 4 executors: orders 3 (CPU 90%), clicks 1 (nothing asked yet)",
    )
    assert [event.kind for event in orders.check(0, running=4)] == ["SharedRescale"]
    clicks.scale(2, "lag")
    settled(cluster, clicks, 5)
    # two of five are still to come
    assert [member.present(3) for member in (orders, clicks)] == [2, 1]


def test_a_query_that_joins_takes_one_from_the_largest_share_or_counts_one_more(cluster: Cluster, join: Join) -> None:
    first, second, third = join("a"), join("b"), join("c")
    assert [m.requested for m in (first, second, third)] == [1, 1, 1]
    assert cluster.declared == []
    assert [m.present(2) for m in (first, second, third)] == [1, 1, 1]  # nobody waits for what nobody asked for
    second.scale(2, "busy")
    settled(cluster, second, 4)


def test_the_sum_stays_within_the_largest_maximum(cluster: Cluster, join: Join) -> None:
    orders, clicks = join("orders", maximum=5), join("clicks", maximum=6)
    orders.scale(5, "busy")
    clicks.scale(5, "busy")  # decided before it knew of the other's
    settled(cluster, clicks, 6)
    assert (orders.requested, clicks.requested) == (5, 1)


def test_a_second_attachment_to_one_query_is_refused_until_the_first_has_left(cluster: Cluster, join: Join) -> None:
    first = join("orders")
    with pytest.raises(InvalidInput, match="query orders is scaled by another attachment already: detach that first"):
        join("orders")
    first.scale(3, "busy")
    settled(cluster, first, 3)
    first.leave()
    first.leave()
    assert join("orders").requested == 3


def test_a_query_that_runs_on_keeps_its_share_and_one_that_ended_releases_it(cluster: Cluster, join: Join) -> None:
    alive = {"orders": True, "clicks": True}
    orders, clicks = (join(name, alive=lambda name=name: alive[name]) for name in ("orders", "clicks"))
    orders.scale(3, "busy")
    settled(cluster, orders, 4)
    orders.leave()
    assert clicks.others == 3
    alive["orders"] = False
    clicks.scale(2, "busy")
    settled(cluster, clicks, 2)
    again = join("orders", alive=lambda: alive["orders"])
    again.scale(2, "busy")
    settled(cluster, again, 3)  # a new query counts one, which the other gave up
    again.leave()
    settled(cluster, clicks, 1)
    assert "query orders has ended and releases its executors" in [e.message for e in clicks.check(0, running=1)]


def test_a_query_that_was_restarted_is_followed_before_the_old_attachment_has_noticed(join: Join) -> None:
    old = join("orders", alive=lambda: False)
    new = join("orders")
    old.leave()
    assert new.requested == 2
    new.scale(3, "busy")
    assert new.requested == 3


def test_a_total_that_somebody_else_declared_is_corrected(cluster: Cluster, join: Join) -> None:
    orders = join("orders")
    orders.scale(3, "busy")
    settled(cluster, orders, 3)
    cluster.total = 5
    (event,) = orders.check(100.0, running=5)
    assert (event.kind, event.message) == (
        "ForeignChange",
        "somebody else set the application's total to 5 executors, 3 were requested: corrected",
    )
    until(lambda: cluster.declared == [3, 3])
    until(lambda: not orders.actuator._state.applying)
    assert (orders.requested, orders.held(100.0), orders.check(101.0, running=3)) == (3, "", [])


def test_a_total_that_somebody_else_declared_is_respected_for_a_while(cluster: Cluster, join: Join) -> None:
    orders, clicks = join("orders", foreign="respect"), join("clicks", foreign="respect")
    orders.scale(3, "busy")
    settled(cluster, orders, 4)
    orders.check(99.0, running=4)
    cluster.total = 8
    (event,) = orders.check(100.0, running=8)
    assert event.message.endswith("total to 8 executors, 4 were requested: respected for 600 s")
    assert (orders.requested, clicks.requested, cluster.declared) == (6, 2, [4])
    assert "somebody else set the application's total to 8" in orders.held(100.0 + RESPECT - 1)
    assert orders.held(100.0 + RESPECT) == ""
    assert orders.check(101.0, running=8) == []


def test_an_unknown_way_to_treat_foreign_changes_is_refused(join: Join) -> None:
    with pytest.raises(UnknownName, match="did you mean 'respect'"):
        join("orders", foreign="respekt")


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(0, 100))
def test_portions_add_up_and_follow_the_shares(shares: list[int], whole: int) -> None:
    parts = portions(shares, whole)
    assert sum(parts) == whole
    assert all(abs(part - share * whole / sum(shares)) < 1 for part, share in zip(parts, shares, strict=True))
    assert portions(shares, sum(shares)) == shares


def test_a_share_reads_what_the_query_reads() -> None:
    samples = [ExecutorSample(str(k), cpu=0.5, rate=rate) for k, rate in enumerate((30.0, 10.0, 20.0, 20.0))]
    part = shared(samples, 2)
    assert [sample.id for sample in part] == ["0", "1"]
    assert [sample.rate for sample in part] == [60.0, 20.0]
    assert shared(samples, 4) == tuple(samples)
    assert shared([ExecutorSample("0"), ExecutorSample("1")], 1) == (ExecutorSample("0"),)
