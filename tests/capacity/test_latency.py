"""Latency as a non-decreasing function of utilisation."""

import json
import math
import os
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.latency import LatencyCurve, LatencyModel, isotonic
from tidegate.capacity.profile import Profile, ProfileCapacity
from tidegate.capacity.profiletext import parse
from tidegate.core import ProfilePoint
from tidegate.memory import memory, recall

DEFAULT_FOLDER = Path(__file__).parents[3] / "shared" / "vectors"
FOLDER = Path(os.environ.get("TIDEGATE_VECTORS", DEFAULT_FOLDER))
PAIRS = st.lists(st.tuples(st.floats(0, 2), st.floats(-5, 5)), min_size=1, max_size=15)
POINTS = st.lists(
    st.builds(ProfilePoint, st.integers(1, 8), st.floats(1, 1e4), st.floats(0, 1e3), st.booleans()), max_size=20
)


def model_of(points: list[ProfilePoint]) -> LatencyModel:
    profile = Profile.of(points)
    return LatencyModel(profile, ProfileCapacity(profile))


#: CRC of the file that the literal figures below refer to; another profile may be installed in its place
TOP_SPEED = 4031429612


def published(crc: int | None = None) -> list[ProfilePoint]:
    path = FOLDER / "phoebe_tsw_profile.csv"
    if not path.exists():
        pytest.skip(f"no {path.name} in {FOLDER}")
    if crc is not None and crc32(path.read_bytes()) != crc:
        pytest.skip(f"{path} is another profile")
    return list(parse(path.read_text()))


def test_every_published_point_is_classified_as_measured() -> None:
    points = published(TOP_SPEED)
    model = model_of(points)
    predictions = {p: model.predict(p.executors, p.rate) for p in points if not p.saturated}
    assert all(expected is not None for expected in predictions.values())
    overloaded = [expected.normal for p, expected in predictions.items() if expected and p.latency > 11]
    fine = [expected.normal for p, expected in predictions.items() if expected and p.latency <= 1.7]
    assert len(overloaded) == 8
    assert not any(overloaded)
    assert len(fine) > 60
    assert all(fine)


def test_an_overload_of_two_workers_is_not_predicted_as_normal() -> None:
    expected = model_of(published(TOP_SPEED)).predict(2, 178_000)  # logged: 1.3 s
    assert expected is not None
    assert expected.latency > 11
    assert not expected.normal


def test_more_executors_never_increase_the_latency_on_the_published_profile() -> None:
    model = model_of(published())
    for rate in range(10_000, 400_000, 30_000):
        predictions = [model.predict(n, rate) for n in (1, 2, 6, 12, 24)]
        latencies = [expected.latency for expected in predictions if expected]
        assert len(latencies) == 5
        assert latencies == sorted(latencies, reverse=True)


def test_violators_are_pooled() -> None:
    # 6, 2 decrease: their mean is 4; then 4, 3 decrease: (6 + 2 + 3) / 3
    assert isotonic([(1, 1.0), (2, 6.0), (3, 2.0), (4, 3.0), (5, 9.0)]) == [
        (1, 1.0),
        (2, 11 / 3),
        (4, 11 / 3),
        (5, 9.0),
    ]
    assert isotonic([(1, 1.0), (1, 5.0)]) == [(1, 3.0)]


@given(PAIRS)
def test_pooling_is_non_decreasing_and_keeps_the_mean(points: list[tuple[float, float]]) -> None:
    ends = isotonic(points)
    assert all(a[0] < b[0] and a[1] <= b[1] + 1e-12 for a, b in pairwise(ends))
    x, y = np.array(ends).T
    fitted = np.interp([p[0] for p in points], x, y)
    assert fitted.sum() == pytest.approx(sum(p[1] for p in points), abs=1e-6)


@given(PAIRS)
def test_pooling_a_non_decreasing_function_changes_nothing(points: list[tuple[float, float]]) -> None:
    ends = isotonic(points)
    x, y = np.array(isotonic(ends)).T
    assert np.interp([end[0] for end in ends], x, y) == pytest.approx([end[1] for end in ends], abs=1e-9)


def test_latency_depends_on_utilisation_only() -> None:
    # capacity 100 for each executor; latency 1 s at 0.5, 4 s at 0.8: at 0.65, half way, sqrt(1 * 4) = 2 s
    model = model_of([ProfilePoint(1, 50, 1.0), ProfilePoint(1, 80, 4.0), ProfilePoint(1, 100, 99.0, True)])
    for executors in (1, 2, 10):
        expected = model.predict(executors, 65 * executors)
        assert expected is not None
        assert expected.latency == pytest.approx(2)


def test_nothing_is_normal_beyond_the_measured_range() -> None:
    model = model_of([ProfilePoint(1, 50, 1.0), ProfilePoint(1, 60, 1.0), ProfilePoint(1, 100, 99.0, True)])
    below, beyond, over = (model.predict(1, rate) for rate in (10, 61, 100))
    assert (below and below.normal, beyond and beyond.normal, over and over.normal) == (True, False, False)
    assert below is not None
    assert below.latency == pytest.approx(1)


def test_nothing_is_normal_at_full_utilisation_even_if_measured() -> None:
    curve = LatencyCurve((0.5, 1.2), (1.0, 1.0), math.inf)
    assert curve.at(0.999).normal
    assert not curve.at(1.0).normal


def test_without_overload_there_is_one_cluster() -> None:
    points = [ProfilePoint(1, rate, 1.0 + rate / 100) for rate in (10, 50, 90)]
    curve = model_of([*points, ProfilePoint(1, 100, 7200.0, True)]).curve()
    assert curve is not None
    assert curve.normal_until == math.inf
    assert curve.at(0.9).normal


def test_an_unknown_latency_is_none() -> None:
    assert model_of([]).predict(1, 10) is None
    assert model_of([ProfilePoint(1, 50, 1.0)]).predict(1, 10) is None  # no capacity
    assert model_of([ProfilePoint(1, 100, 99.0, True)]).predict(1, 10) is None  # no latency


def test_a_new_point_changes_the_prediction() -> None:
    model = model_of([ProfilePoint(1, 50, 1.0), ProfilePoint(1, 100, 99.0, True)])
    model.update(ProfilePoint(2, 100, 3.0))
    expected = model.predict(1, 50)  # both at 0.5: sqrt(1 * 3)
    assert expected is not None
    assert expected.latency == pytest.approx(math.sqrt(3))


@given(POINTS, st.floats(0, 1e5))
def test_predictions_never_decrease_with_the_rate(points: list[ProfilePoint], rate: float) -> None:
    curve = model_of(points).curve()
    if curve is None:
        return
    less, more = curve.at(rate / 1e4), curve.at(rate / 1e4 + 0.1)
    assert 0 < less.latency <= more.latency * (1 + 1e-9)
    assert less.normal or not more.normal


@given(POINTS)
def test_the_state_survives_json(points: list[ProfilePoint]) -> None:
    model, empty = model_of(points), Profile()
    restored = recall(LatencyModel(empty, ProfileCapacity(empty)), json.loads(json.dumps(memory(model))))
    assert restored == model
    assert restored.curve() == model.curve()
