"""The universal scalability law."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.usl import Usl


def test_the_law() -> None:
    # 100 * 4 / (1 + 0.1 * 3 + 0.01 * 4 * 3) = 400 / 1.42
    assert Usl(100.0, 0.1, 0.01).at(4) == pytest.approx(400 / 1.42)
    assert Usl(100.0).at(7) == 700  # no losses
    assert Usl(100.0, contention=0.25).at(1e9) == pytest.approx(400)  # Amdahl: at most 1 / 0.25 executors' worth


def test_the_peak() -> None:
    # sqrt((1 - 0.19) / 0.01) = 9
    law = Usl(100.0, 0.19, 0.01)
    assert law.peak == pytest.approx(9)
    assert law.at(8) < law.at(9) > law.at(10)
    assert Usl(100.0, 0.5).peak == math.inf
    assert Usl(100.0, 1.2, 0.1).peak == 1
    assert Usl(100.0, 0.0, 4.0).peak == 1  # sqrt(1 / 4) is below the first


def test_two_points_give_contention() -> None:
    # n / C = 1 / 100 at 1 and 4 / 320 = 1 / 80 at 4: 1 / 80 = (1 + 3 s) / 100, s = 1 / 12
    law = Usl.fit([(1, 100.0), (4, 320.0)])
    assert law.single == pytest.approx(100)
    assert law.contention == pytest.approx(1 / 12)
    assert law.coherency == 0


def test_superlinear_growth_becomes_proportional() -> None:
    law = Usl.fit([(1, 100.0), (2, 220.0), (4, 480.0)])
    assert (law.contention, law.coherency) == (0, 0)
    assert 100 < law.single < 120


def test_the_rate_of_one_executor_is_bounded_by_the_highest_measured_rate() -> None:
    law = Usl.fit([(10, 100.0), (20, 20.0)])
    assert law.single <= 100 * (1 + 1e-9)
    assert law.at(20) < law.at(10)


@given(st.floats(1, 1e6), st.floats(0, 1), st.floats(0, 0.1))
def test_a_law_is_recovered(single: float, contention: float, coherency: float) -> None:
    true = Usl(single, contention, coherency)
    fit = Usl.fit([(n, true.at(n)) for n in (1, 2, 4, 8, 16)])
    assert fit.single == pytest.approx(single, rel=1e-6)
    assert fit.contention == pytest.approx(contention, rel=1e-5, abs=1e-7)
    assert fit.coherency == pytest.approx(coherency, rel=1e-5, abs=1e-8)


@given(st.floats(0, 1), st.floats(0, 0.1))
def test_capacity_increases_up_to_the_peak_and_decreases_beyond(contention: float, coherency: float) -> None:
    law = Usl(1.0, contention, coherency)
    for a, b in pairwise(range(1, 65)):
        change = law.at(b) - law.at(a)
        assert change >= -1e-12 if b <= law.peak else a < law.peak or change <= 1e-12
