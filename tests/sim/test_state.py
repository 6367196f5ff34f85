"""Simulated state: where it is, what it costs to move it, and what happens if nobody does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core import Batch, Decision
from tidegate.score.trace import Cumulative
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.sim.state_placement import StatePlacement
from tidegate.workloads import Constant

#: 1,000 records take 1 s of one executor, three quarters of it where the state is; a partition is loaded in 0.5 s
STATEFUL = BatchModel(
    "s", fixed=1.0, overhead=0.0, cost=1e-3, tasks=8, stages=2, first=0.25, cold=0.0, noise=0.0, startup=4.0, leave=2.0,
    reload=0.5,
)  # fmt: skip


def engine(model: BatchModel = STATEFUL, rate: float = 800.0, executors: int = 1, **query: Any) -> MicroBatchEngine:
    arrivals = Cumulative.of(Constant(duration=900, level=rate))
    return MicroBatchEngine(model, Query(**{"trigger": 10.0, **query}), arrivals, executors)


def batches(running: MicroBatchEngine, until: float) -> list[Batch]:
    running.sleep_until(until)
    return list(running.observe().batches)


def took(batch: Batch) -> float:
    return batch.finished - batch.planned


def partitions(running: MicroBatchEngine) -> dict[str, int]:
    return {sample.id: sample.stores or 0 for sample in running.observe().per_executor}


def scaled(running: MicroBatchEngine, executors: int, at: float, until: float) -> list[Batch]:
    running.sleep_until(at)
    running.observe()
    running.scale(Decision(executors, "test"))
    return batches(running, until)


def test_a_scale_out_takes_effect_with_the_next_batch_which_loads_the_state() -> None:
    # 8,000 records: 1 + 8 s with one; with two 1 + 4 s, the first time 4 partitions of 0.5 s more
    running = engine()
    assert [took(batch) for batch in scaled(running, 2, at=1.0, until=39.0)] == pytest.approx([7.0, 5.0, 5.0])
    assert partitions(running) == {"1": 4, "2": 4}


def test_without_spreading_the_old_executor_does_all_that_has_state() -> None:
    # 1 + 2 / 2 + 6 s: the tasks of a partition take 0.75 s, and the scheduler waits for 3
    running = engine(spread=False)
    assert [took(batch) for batch in scaled(running, 2, at=1.0, until=39.0)] == pytest.approx([8.0, 8.0, 8.0])
    assert partitions(running) == {"1": 8, "2": 0}
    running.sleep_until(49.0)
    first, second = running.observe().per_executor
    assert first.busy is not None
    assert second.busy is not None
    assert first.busy > 3 * second.busy


def test_without_spreading_long_tasks_go_elsewhere_one_by_one() -> None:
    # 16,000 records: 3.6 s for the task of a partition
    running = engine(replace(STATEFUL, cost=1.2e-3, tasks=4), rate=400.0, trigger=40.0, spread=False)
    scaled(running, 2, at=1.0, until=70.0)
    assert partitions(running) == {"1": 3, "2": 1}
    running.sleep_until(190.0)
    assert partitions(running) == {"1": 2, "2": 2}


def test_executors_that_go_leave_their_state_to_the_others() -> None:
    running = engine(executors=2)
    # 5 s with two from 10 on; then one, which loads four partitions: 9 + 2 s, and then has 11 s of records
    assert [took(batch) for batch in scaled(running, 1, at=11.0, until=49.0)] == pytest.approx([5.0, 11.0, 9.8])
    assert partitions(running) == {"1": 8}


def test_of_large_state_a_few_partitions_move_per_batch() -> None:
    # 8 rows of 1 MB for each record a second, 6.4 GB at 800/s: a partition is 0.8 GB, 8 s at 100 MB/s
    large = replace(STATEFUL, state=8.0, row_bytes=1e6, load_rate=1e8, reload=0.0, fixed=0.0)
    running = engine(large, rate=800.0, load_seconds=16.0, trigger=40.0, limit=8000.0)
    running.sleep_until(100.0)
    running.scale(Decision(2, "test"))
    seen = []
    for second in range(105, 330, 5):
        running.sleep_until(float(second))
        obs = running.observe()
        seen.append((obs.uneven, tuple(sample.stores for sample in obs.per_executor)))
    placements = list(dict.fromkeys(stores for _, stores in seen))
    assert placements == [(8, 0), (6, 2), (4, 4)]
    assert next(bool(uneven) for uneven, stores in seen if stores == (6, 2))
    assert not seen[-1][0]
    # and on their way back: the executor stays until it holds nothing
    running.scale(Decision(1, "test"))
    stores = []
    for second in range(330, 600, 5):
        running.sleep_until(float(second))
        stores.append(tuple(sample.stores for sample in running.observe().per_executor))
    assert list(dict.fromkeys(stores)) == [(6, 2), (8,)]


def test_the_state_of_an_executor_that_died_is_loaded_by_the_others() -> None:
    running = engine(executors=2, failures=(16.0,), rate=400.0)
    running.sleep_until(19.0)
    assert sum(partitions(running).values()) == 4
    assert [took(batch) for batch in batches(running, 27.5)][-1] == pytest.approx(1 + 4 + 4 * 0.5)
    running.sleep_until(60.0)
    assert sorted(partitions(running).values()) == [4, 4]


def test_a_hot_partition_bounds_what_executors_can_do() -> None:
    hot = replace(STATEFUL, shares=(0.65, *(0.05,) * 7), reload=0.0)
    assert hot.ceiling == 2
    assert STATEFUL.ceiling == 8
    # one executor has at least the hot partition: 1 + 2 / 4 + 6 * 0.7 s with two partitions each
    running = engine(hot, executors=4)
    assert took(batches(running, 19.0)[0]) == pytest.approx(5.7)
    assert hot.batch_time(8000, 4) == pytest.approx(1 + 0.5 + 6 * 0.65)  # the best there could be


def test_another_number_of_partitions_has_the_same_distribution() -> None:
    # the larger half has nine tenths of the records
    assert sorted(replace(STATEFUL, shares=(0.1, 0.9)).weights()) == pytest.approx([0.025] * 4 + [0.225] * 4)
    assert STATEFUL.weights() == (0.125,) * 8


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12), st.integers(1, 40))
def test_shares_add_up_to_all_records_whatever_their_number(parts: list[float], tasks: int) -> None:
    shares = tuple(part / sum(parts) for part in parts)
    weights = replace(STATEFUL, shares=shares, tasks=tasks).weights()
    assert len(weights) == tasks
    assert sum(weights) == pytest.approx(1.0, abs=1e-6)
    assert min(weights) >= 0


def test_starts_vary_between_what_was_seen_and_are_the_same_for_a_seed() -> None:
    model = replace(STATEFUL, startups=(2.0, 4.0, 9.0), noise=0.05)

    def arrivals(seed: int) -> list[float]:
        running = MicroBatchEngine(model, Query(10.0), Cumulative.of(Constant(duration=900, level=10.0)), 1, seed=seed)
        running.scale(Decision(9, "test"))
        return sorted(running._coming)

    assert arrivals(1) == arrivals(1) != arrivals(2)
    assert 2.0 <= min(arrivals(1)) < max(arrivals(1)) <= 9.0
    certain = replace(model, noise=0.0)
    assert (certain.starting(0.5), model.quickest, STATEFUL.quickest) == (4.0, 2.0, 4.0)


@given(
    changes=st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=12),
    each=st.integers(1, 5),
    follow=st.booleans(),
)
def test_every_partition_is_held_by_an_executor_that_is_there(changes: list[set[str]], each: int, follow: bool) -> None:
    state = StatePlacement(12, dict.fromkeys("ab", 1), follow=follow)
    for present in changes:
        loads = state.settle(dict.fromkeys(sorted(present), 1), present, each, task=1.0)
        held = [len(state.held(executor)) for executor in present]
        assert sum(held) == 12
        assert 0 <= loads <= 12
        if follow and state.even:
            assert max(held) - min(held) <= 1


def test_the_capacity_of_a_comparison_is_that_of_partitions_as_they_are_placed() -> None:
    # partitions go to two executors in turn, so that one has all the large ones: 1 + 2 / 2 s for 8,000 records, and 6 s
    # for four fifths of them; the best placement there could be would have half of them on each
    uneven = replace(STATEFUL, shares=(0.2, 0.05) * 4)
    empty, each = uneven.placed(2)
    assert empty + each * 8000 == pytest.approx(1 + 1 + 6 * 0.8)
    best_empty, best_each = uneven.parts(2)
    assert best_empty + best_each * 8000 <= 1 + 1 + 6 * 0.5
    assert STATEFUL.placed(2) == pytest.approx(STATEFUL.parts(2))
