import pytest

from tidegate.capacity.latency import LatencyModel
from tidegate.capacity.profile import Profile, ProfileCapacity
from tidegate.capacity.profiletext import parse, text
from tidegate.core import ProfilePoint
from tidegate.planner.averaging import average
from tidegate.planner.measurement import Measurement
from tidegate.profiling.planned_profile import latency, planned_profile
from tidegate.sim.batch_model import BatchModel

CAPACITY = average([Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 4)])


def test_measured_points_and_medians_beyond_them() -> None:
    points = planned_profile(CAPACITY, cores=1, trigger=4.0, most=40)
    assert [(p.executors, p.rate) for p in points[:4]] == [(1, 1000.0), (2, 2000.0), (4, 4000.0), (4, 4000.0)]
    # 36 numbers beyond the testbed, every fifth from the largest down
    assert [p.executors for p in points[4:]] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert points[-1].rate == pytest.approx(CAPACITY.interval(40).median, rel=1e-5)
    assert all(p.saturated and p.latency == 8.0 for p in points)


def test_executors_of_several_cores() -> None:
    capacity = average([Measurement(s, 512, 1000.0 * s) for s in (2, 4, 8)])
    points = planned_profile(capacity, cores=2, trigger=4.0, most=5)
    assert [p.executors for p in points] == [1, 2, 4, 5]
    assert points[-1].rate == pytest.approx(capacity.interval(10).median, rel=1e-5)


def test_the_memory_of_the_plan_counts() -> None:
    capacity = average([Measurement(1, 512, 900.0), Measurement(1, 1024, 1000.0), Measurement(2, 1024, 2000.0)])
    assert [p.rate for p in planned_profile(capacity, cores=1, trigger=4.0, most=2)] == [1000.0, 2000.0]


def test_latencies_below_capacity_are_those_of_the_model() -> None:
    # 1 s, and 4 s at capacity: 3 s for records at 1,000/s for each executor
    model = BatchModel("q1", fixed=1.0, overhead=0.0, cost=7.5e-4, tasks=12)
    points = planned_profile(CAPACITY, cores=1, trigger=4.0, most=4, model=model)
    # 4 s of waiting, and 1 + 0.4 * 3, 1 + 0.7 * 3, 1 + 0.9 * 3
    assert points[4:7] == (
        ProfilePoint(1, 400.0, 6.2),
        ProfilePoint(1, 700.0, 7.1),
        ProfilePoint(1, 900.0, 7.7),
    )
    assert parse(text(points)) == points


def test_batches_without_pauses() -> None:
    model = BatchModel("q1", fixed=3.0, overhead=0.0, cost=5e-4, tasks=12)
    # at 1,000/s 4 s take 5 s, so batches grow to 3 / (1 - 0.5) = 6 s; a record waits for one and is done in the next
    assert latency(model, 1, trigger=4.0, rate=1000.0) == pytest.approx(12.0)


def test_what_policies_make_of_it() -> None:
    model = BatchModel("q1", fixed=1.0, overhead=0.0, cost=7.5e-4, tasks=12)
    profile = Profile.of(planned_profile(CAPACITY, cores=1, trigger=4.0, most=12, model=model))
    capacity = ProfileCapacity(profile)
    assert capacity.capacity(12) == pytest.approx(12_000.0, rel=0.02)
    latencies = LatencyModel(profile, capacity)
    shown = [latencies.predict(8, share * 8000.0) for share in (0.5, 0.85, 0.95)]
    assert [prediction is not None and prediction.normal for prediction in shown] == [True, True, False]
