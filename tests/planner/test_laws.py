import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.capacity import Usl
from tidegate.planner.laws import LAWS, Ends, Law

ENDS = Ends(low=2.0, high=32.0)
BY_ELASTICITY = [law for law in LAWS if law.name in {"linear", "square root", "logarithm", "usl"}]


def relative(law: Law, shape: float, effective: float, ends: Ends = ENDS) -> float:
    """Capacity over that at the high end."""
    return math.exp(law.curve(np.array([shape]), np.array([effective]), ends)[0, 0])


def named(name: str) -> Law:
    return next(law for law in LAWS if law.name == name)


@pytest.mark.parametrize("law", BY_ELASTICITY, ids=lambda law: law.name)
def test_the_shape_is_the_mean_elasticity_between_the_ends(law: Law) -> None:
    shape = 0.8 if law.low < 0.8 else 1.2
    # 32 / 2 = 16 times the slots
    assert relative(law, shape, 2.0) == pytest.approx(16**-shape)
    assert relative(law, shape, 32.0) == pytest.approx(1)


def test_the_linear_law_is_a_line() -> None:
    # 0.04 at 2 and 1 at 32: 0.032 a slot
    shape = -math.log(0.04) / math.log(16)
    assert relative(named("linear"), shape, 12.0) == pytest.approx(0.04 + 10 * 0.032)
    assert relative(named("linear"), shape, 62.0) == pytest.approx(1.96)


def test_the_scalability_law_is_that_of_the_capacity_models() -> None:
    # contention 0.05 only: 1 + 31 * 0.05 = 2.55 at 32 slots, 1.05 at 2
    shape = 1 - math.log(2.55 / 1.05) / math.log(16)
    law = Usl(1.0, contention=0.05)
    contention, _, coherency = (law for law in LAWS if law.name == "usl")
    assert relative(contention, shape, 500.0) == pytest.approx(law.at(500) / law.at(32))
    # coherency 0.001 only: 1 + 32 * 31 * 0.001 = 1.992 at 32 slots, 1.002 at 2; its peak is at sqrt(1000) = 31.6
    shape = 1 - math.log(1.992 / 1.002) / math.log(16)
    law = Usl(1.0, coherency=0.001)
    assert relative(coherency, shape, 20.0) == pytest.approx(law.at(20) / law.at(law.peak), rel=1e-3)
    assert relative(coherency, shape, 500.0) == pytest.approx(1)


def test_the_largest_of_two_pareto_loads() -> None:
    # index 2, mean 1: E[largest of 2] = G(3) G(1/2) / G(5/2) / 2 = 4/3, so two slots do 2 / (4/3) = 1.5 times one
    law = named("skew")
    assert relative(law, 0.5, 2.0) / relative(law, 0.5, 1.0) == pytest.approx(1.5)
    # and with many tasks a power of 1 - 1/2
    assert relative(law, 0.5, 4e4) / relative(law, 0.5, 1e4) == pytest.approx(2, rel=1e-3)


def test_the_slowest_of_normal_times() -> None:
    # Of one: its mean. Of 32: quantile 31.625 / 32.25 = 0.98062, 2.0667 deviations over the mean (exactly 2.0697).
    # 1 against 32 / (1 + 0.2 * 2.0667)
    assert relative(named("stragglers"), 0.2, 1.0) == pytest.approx((1 + 0.2 * 2.0667) / 32, rel=1e-4)


@settings(max_examples=40)
@given(st.floats(1, 40), st.floats(2.01, 1000), st.floats(0.001, 0.999))
def test_no_law_ever_decreases(low: float, ratio: float, position: float) -> None:
    ends = Ends(low, max(2.0, low * ratio))
    slots = np.geomspace(1, 20 * ends.high, 60)
    for law in LAWS:
        shape = law.low + position * (law.high - law.low)
        curve = law.curve(np.array([shape]), slots, ends)[0]
        assert np.isfinite(curve).all(), law.name
        assert (np.diff(curve) >= -1e-9).all(), law.name
