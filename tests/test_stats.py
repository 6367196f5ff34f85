import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.stats import Line, Mean, Var, Window

numbers = st.floats(-1e6, 1e6)


@given(st.lists(numbers, min_size=2, max_size=50))
def test_mean_and_variance_are_those_of_the_textbook(values: list[float]) -> None:
    mean, var = Mean(), Var()
    for value in values:
        mean.update(value)
        var.update(value)
    assert mean.value == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert var.value == pytest.approx(statistics.variance(values), rel=1e-6, abs=1e-3)


def test_one_value_has_no_variance_and_one_point_no_line() -> None:
    var, line = Var(), Line()
    var.update(3)
    line.update(1, 1)
    assert var.value is None
    assert line.slope is None
    assert line.at(2) is None


@given(numbers, st.floats(-100, 100), st.lists(st.integers(-1000, 1000), min_size=2, max_size=20, unique=True))
def test_line_finds_the_line_its_points_lie_on(intercept: float, slope: float, xs: list[int]) -> None:
    line = Line()
    for x in xs:
        line.update(x, intercept + slope * x)
    assert line.slope == pytest.approx(slope, abs=1e-3)


def test_window_forgets_by_age_and_ignores_a_clock_that_stands_or_goes_back() -> None:
    window = Window(age=10)
    for time, value in [(0, 9.0), (5, 1.0), (5, 100.0), (4, 100.0), (10, 3.0)]:
        window.update(time, value)
    assert list(window.items) == [(5, 1.0), (10, 3.0)]  # 0 is exactly 10 s old: out
    assert (window.mean, window.max, window.slope) == (2.0, 3.0, pytest.approx(0.4))  # (3 - 1) / 5


def test_an_empty_window_knows_nothing() -> None:
    window = Window(age=1)
    assert (window.mean, window.max, window.slope) == (None, None, None)
