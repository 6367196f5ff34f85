"""Averaged capacity: predictions over all laws, with intervals."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from tidegate.core import InvalidInput, UnknownName
from tidegate.planner.averaging import average
from tidegate.planner.evidence import Beliefs
from tidegate.planner.laws import LAWS
from tidegate.planner.measurement import Measurement
from tidegate.planner.tasks import Tasks

EVEN = Beliefs(unevenness=((0.0, 1.0),))
SLOTS = (1, 2, 5, 12, 18, 47, 48, 48)


def points(*pairs: tuple[int, float]) -> list[Measurement]:
    return [Measurement(slots, 512, rate) for slots, rate in pairs]


def test_a_single_law_in_figures() -> None:
    # 100 e^0.1 with a slot and 200 e^-0.1 with two: 100 a slot on average, residuals of 0.1 and -0.1.
    # variance (4 * 0.05^2 + 0.02) / 5 = 0.006, of the mean 0.003; the 95 % quantile of t with 5 degrees is 2.015048
    capacity = average(points((1, 100 * math.exp(0.1)), (2, 200 * math.exp(-0.1))), None, EVEN, LAWS[:1])
    assert capacity.quantile(4, 0.5) == pytest.approx(400)
    assert capacity.quantile(4, 0.95) == pytest.approx(400 * math.exp(2.015048 * math.sqrt(0.003)), rel=1e-6)
    assert capacity.probability(4, 400.0) == pytest.approx(0.5)
    assert capacity.noise == pytest.approx(math.sqrt(0.006))


@pytest.mark.parametrize(
    ("law", "curve"),
    [
        ("proportional", float),
        ("linear", lambda s: s - 0.8),
        ("square root", lambda s: math.sqrt(s) - 0.5),
        ("logarithm", lambda s: math.log(s) + 0.3),
        ("usl", lambda s: s / (1 + 0.05 * (s - 1))),
        ("stragglers", lambda s: s / (1 + 0.3 * ndtri((s - 0.375) / (s + 0.25)))),
    ],
)
def test_the_law_that_made_the_measurements_is_the_heaviest(law: str, curve: type[float]) -> None:
    capacity = average(points(*((s, 1000.0 * curve(s)) for s in SLOTS)))
    assert capacity.weights[0].law == law
    assert capacity.quantile(480, 0.5) == pytest.approx(1000 * curve(480), rel=0.05)
    assert sum(weight.weight for weight in capacity.weights) == pytest.approx(1, abs=1e-3)


def test_a_loss_that_cannot_be_seen_is_improbable_and_can_be_asked_for() -> None:
    capacity = average(points(*((s, 1000.0 * s) for s in SLOTS)))
    assert capacity.weights[0].law == "proportional"
    # contention that takes 1 % at 48 slots takes 17 % at 1,000
    assert capacity.under("usl").quantile(1000, 0.5) < 0.85 * capacity.quantile(1000, 0.5)
    with pytest.raises(UnknownName, match="no law is named 'amdahl'"):
        capacity.under("amdahl")


def test_intervals_widen_with_distance_and_narrow_with_measurements() -> None:
    rng = np.random.default_rng(1)
    noisy = [Measurement(s, 512, 1000 * s**0.85 * math.exp(0.05 * rng.standard_normal())) for s in SLOTS * 4]
    few, many = average(noisy[:8]), average(noisy)

    def width(interval: object) -> float:
        return math.log(interval.high / interval.low)  # type: ignore[attr-defined]

    assert width(few.interval(48)) < width(few.interval(200)) < width(few.interval(1000))
    assert width(many.interval(1000)) < width(few.interval(1000))


def test_tasks_make_a_staircase_before_it_is_reached() -> None:
    capacity = average(points(*((s, 1000.0 * s) for s in (4, 8, 16, 24))), Tasks(96))
    # 96 tasks: two waves from 48 to 95 slots
    assert capacity.quantile(48, 0.5) == capacity.quantile(95, 0.5)
    assert capacity.quantile(96, 0.5) == pytest.approx(2 * capacity.quantile(48, 0.5), rel=0.01)
    assert capacity.slots_for(60_000, 0.5) == 96
    assert capacity.slots_for(120_000, 0.5) is None


def test_memory_shifts_the_whole_curve() -> None:
    # 20 % less with half the memory; believed is an effect of 0 +- 0.1 per doubling, which 16 measurements outweigh
    data = [Measurement(s, m, 1000.0 * s * (1.0 if m == 2 else 0.8)) for s in SLOTS for m in (1.0, 2.0)]
    capacity = average(data)
    assert capacity.quantile(100, 0.5, memory=1.0) / capacity.quantile(100, 0.5) == pytest.approx(0.8, rel=0.02)
    assert capacity.quantile(100, 0.5) == capacity.quantile(100, 0.5, memory=2.0)


def test_what_contradicts_all_others_is_left_out_and_named() -> None:
    data = points(*((s, 1000.0 * s) for s in SLOTS), (48, 6_000.0))
    capacity = average(data)
    assert capacity.left_out == (data[-1],)
    assert capacity.quantile(48, 0.5) == pytest.approx(48_000, rel=0.01)


def test_a_single_measurement_says_little() -> None:
    interval = average(points((8, 1000.0))).interval(256)
    # between hardly more than 8 slots' worth, and more than proportional
    assert interval.low < 3_000
    assert interval.high > 32_000


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 64), st.floats(10, 1e6)), min_size=1, max_size=8),
    st.sampled_from([0.05, 0.5, 0.95]),
    st.sampled_from([None, 100]),
)
def test_predictions_never_decrease_with_slots(
    pairs: list[tuple[int, float]], level: float, partitions: int | None
) -> None:
    capacity = average(points(*pairs), Tasks(partitions))
    predictions = [capacity.quantile(slots, level) for slots in (1, 2, 7, 33, 64, 65, 99, 100, 400)]
    assert all(b >= a * (1 - 1e-6) for a, b in pairwise(predictions))


def test_the_smallest_number_of_slots_is_the_smallest() -> None:
    capacity = average(points(*((s, 1000.0 * s**0.9) for s in SLOTS)))
    slots = capacity.slots_for(300_000, 0.9)
    assert slots is not None
    assert capacity.probability(slots, 300_000) >= 0.9 > capacity.probability(slots - 1, 300_000)
    assert capacity.slots_for(300_000, 0.9, most=slots - 1) is None


def test_no_measurement_is_refused() -> None:
    with pytest.raises(InvalidInput, match="averaged capacity: need at least 1 measurement, got 0"):
        average([])
