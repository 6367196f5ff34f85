from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core import InvalidInput
from tidegate.planner.measurement import Measurement
from tidegate.planner.microbatch_candidate import MicroBatchCandidate
from tidegate.planner.tasks import Tasks
from tidegate.sim.batch_model import BatchModel


def test_with_a_limit_the_fixed_time_bounds_the_capacity() -> None:
    # batches of 1,000 records: 2 s fixed and 10 s of work, so 1000 / (2 + 10 / s)
    points = [Measurement(s, 512, 1000 / (2 + 10 / s)) for s in (1, 2, 5)]
    fit = MicroBatchCandidate(trigger=1.0, limit=1000.0).fit(points)
    assert fit.predict(10, 512) == pytest.approx(1000 / 3)
    assert fit.predict(10**9, 512) == pytest.approx(500)


def test_with_a_limit_capacity_is_at_most_one_batch_per_trigger() -> None:
    # 0.5 s fixed, trigger 1 s: 1000 / (0.5 + 10 / s) would be 1,905 with 400 slots
    points = [Measurement(s, 512, 1000 / (0.5 + 10 / s)) for s in (1, 2, 5)]
    assert MicroBatchCandidate(trigger=1.0, limit=1000.0).fit(points).predict(400, 512) == pytest.approx(1000)


def test_partitions_make_steps_far_beyond_the_testbed() -> None:
    # 96 tasks: 2 waves with 48 to 95 slots, 1 from 96 on
    model = BatchModel("q", fixed=0.5, overhead=0.01, cost=1e-4, tasks=96)

    def rate(slots: int) -> float:
        empty, each = model.parts(slots)
        return (10 - empty) / (10 * each)

    fit = MicroBatchCandidate(Tasks(96)).fit([Measurement(s, 512, rate(s)) for s in (4, 8, 16, 24)])
    for slots in (47, 48, 95, 96, 500):
        assert fit.predict(slots, 512) == pytest.approx(rate(slots))
    assert fit.predict(48, 512) == fit.predict(95, 512)
    assert fit.predict(96, 512) == fit.predict(500, 512)


def test_waves_that_take_longer_than_the_trigger_leave_no_capacity() -> None:
    # 1000 tasks of 20 ms overhead are 20 s on a slot: the trigger's 10 s are over
    model = BatchModel("q", fixed=0.0, overhead=0.02, cost=1e-4, tasks=1000)
    empty, each = model.parts(10)
    points = [Measurement(s, 512, (10 - model.parts(s)[0]) / (10 * model.parts(s)[1])) for s in (10, 20, 50)]
    assert points[0].rate == pytest.approx((10 - empty) / (10 * each))
    assert MicroBatchCandidate(Tasks(1000)).fit(points).predict(1, 512) == 0


def test_memory_is_a_factor() -> None:
    points = [Measurement(s, m, 100.0 * s * m / 512) for s in (2, 4) for m in (512.0, 1024.0)]
    assert MicroBatchCandidate().fit(points).predict(8, 1024) == pytest.approx(1600)


@given(st.integers(1, 200), st.lists(st.floats(1, 1e6), min_size=3, max_size=3), st.sampled_from([0.0, 1000.0]))
def test_capacity_never_decreases_with_slots(partitions: int, rates: list[float], limit: float) -> None:
    points = [Measurement(s, 512, r) for s, r in zip((1, 3, 9), rates, strict=True)]
    fit = MicroBatchCandidate(Tasks(partitions), limit=limit).fit(points)
    predictions = [fit.predict(s, 512) for s in range(1, 250)]
    assert all(b >= a * (1 - 1e-9) for a, b in pairwise(predictions))


def test_a_trigger_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="model micro-batch: need 0 < trigger, got 0"):
        MicroBatchCandidate(trigger=0.0)
