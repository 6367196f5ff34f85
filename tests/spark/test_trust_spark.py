"""What an attachment does when others interfere: more queries, foreign requests, executors and policies that hang."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import tidegate
from tidegate import Attachment
from tidegate.cluster.jvm import Driver
from tidegate.cluster.processes import find_executors
from tidegate.cluster.status import Status
from tidegate.core import Decision, Observation

pytestmark = pytest.mark.spark
Eventually = Callable[..., None]


@pytest.fixture(scope="module")
def queries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StreamingQuery]]:
    started = []
    for name in ("orders", "clicks"):
        rate = spark.readStream.format("rate").option("rowsPerSecond", 2_000).option("numPartitions", 3).load()
        writer = rate.writeStream.format("noop").queryName(name)
        checkpoint = str(tmp_path_factory.mktemp(name))
        started.append(writer.option("checkpointLocation", checkpoint).trigger(processingTime="1 second").start())
    yield started
    for query in started:
        query.stop()


@dataclass
class Wish:
    """Wishes for what it is set to."""

    executors: int = 1
    interval: float = 1.0

    def observe(self, obs: Observation) -> None:
        """Learns nothing."""

    def decide(self, obs: Observation) -> Decision:
        return Decision(self.executors, f"set to {self.executors}")


def events(watching: Attachment) -> list[tuple[str, str]]:
    return [(event.kind, event.message) for tick in list(watching.ticks) for event in tick.observation.events]


def test_needs_of_queries_are_added_up_within_common_bounds_and_foreign_totals_are_corrected(
    spark: SparkSession, queries: list[StreamingQuery], eventually: Eventually
) -> None:
    status, driver = Status(spark.sparkContext), Driver(spark.sparkContext)
    first, second = Wish(), Wish()
    options = {"catching-up": 0}
    with (
        tidegate.attach(queries[0], first, max_executors=3, store=None, options=options) as orders,
        tidegate.attach(queries[1], second, max_executors=3, store=None, options=options) as clicks,
    ):
        eventually(lambda: orders.ticks and clicks.ticks)
        first.executors = 2
        eventually(lambda: len(status.executors()) == 3)
        eventually(lambda: driver.requested_total() == 3)
        second.executors = 3  # there are only three for both
        eventually(lambda: any(c.reason == "TooManyExecutors" for c in clicks.conditions))
        last = clicks.ticks[-1]
        assert last.observation.others == 2
        assert last.decision is not None
        assert last.decision.reason == "maximum 3, 2 of them for other queries: set to 3"
        assert any(kind == "SharedRescale" and "orders 2 (set to 2), clicks 1" in text for kind, text in events(clicks))
        # somebody else asks for fewer
        driver.request_total(1)
        eventually(lambda: any(kind == "ForeignChange" for kind, _ in events(orders)))
        eventually(lambda: driver.requested_total() == 3)
        second.executors = first.executors = 1
        eventually(lambda: len(status.executors()) == 2)
    assert all(query.isActive for query in queries)


def test_a_frozen_executor_is_told_and_nothing_is_released_on_its_figures(
    spark: SparkSession, queries: list[StreamingQuery], eventually: Eventually
) -> None:
    policy = Wish(2)
    with tidegate.attach(queries[0], policy, max_executors=3, store=None, foreign="correct") as watching:
        eventually(lambda: watching.ticks and watching.ticks[-1].observation.executors == 2)
        eventually(lambda: all(sample.cpu is not None for sample in watching.ticks[-1].observation.per_executor))
        id = watching.ticks[-1].observation.per_executor[-1].id  # one that has registered
        process = find_executors(str(spark.sparkContext.applicationId))[id]
        os.kill(process, signal.SIGSTOP)
        try:
            eventually(lambda: ("ExecutorStalled", f"the process of executor {id} is stopped") in events(watching))
            (sample,) = [s for s in watching.ticks[-1].observation.per_executor if s.id == id]
            assert (sample.stalled, sample.cpu) == (True, None)
            policy.executors = 1
            eventually(lambda: watching.ticks[-1].steps[-1].by in ("stalled", "arriving", "late", "catching-up"))
            assert watching.ticks[-1].observation.requested == 2
        finally:
            os.kill(process, signal.SIGCONT)
        eventually(lambda: ("ExecutorResumed", f"executor {id} works again") in events(watching))
        eventually(lambda: watching.ticks[-1].observation.requested == 1)


@dataclass
class Hangs:
    gate: threading.Event
    interval: float = 1.0

    def observe(self, obs: Observation) -> None:
        """Learns nothing."""

    def decide(self, obs: Observation) -> Decision:
        self.gate.wait()
        return Decision(1, "back again")


def test_a_policy_that_hangs_is_left_behind_and_detaching_returns(
    queries: list[StreamingQuery], tmp_path: Path, eventually: Eventually
) -> None:
    gate = threading.Event()
    try:
        watching = tidegate.attach(
            queries[0], Hangs(gate), max_executors=1, store=tmp_path / "runs.db", patience="500ms"
        )
        eventually(lambda: watching.status.startswith("holding: the policy failed: TimedOut: policy"))
        before = len(watching.ticks)
        eventually(lambda: len(watching.ticks) >= before + 3)  # it is watched all the same
        gate.set()
        eventually(lambda: watching.status == "scaling")
        gate.clear()
        eventually(lambda: watching.status.startswith("holding"))
        watching.detach()
        assert watching.status == "ended: detached"
        assert not watching._thread.is_alive()
    finally:
        gate.set()
    assert queries[0].isActive
