"""Linear and reciprocal fits of measured capacities."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.profile import SHAPES
from tidegate.capacity.shapes import Linear, Reciprocal, bounded_least_squares
from tidegate.core import InvalidInput

POINTS = st.lists(st.tuples(st.integers(1, 64), st.floats(1e-3, 1e7)), min_size=1, max_size=12)
COEFFICIENT = st.floats(0, 1e6)


def test_ridge_shrinks_the_slope_and_leaves_the_mean() -> None:
    # x = 1, 2, 3, 4 about 2.5: squares 5; y = 10 x, so products 50; ridge 1: 50 / 6, through (2.5, 25)
    line = Linear.fit([(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0)], alphas=(1.0,))
    assert line.slope == pytest.approx(50 / 6)
    assert line.intercept == pytest.approx(25 - 2.5 * 50 / 6)
    assert line.at(2.5) == pytest.approx(25)


def test_the_penalty_is_chosen_by_leave_one_out_cross_validation() -> None:
    # an exact line is predicted best with the smallest penalty: 50 / 5.1
    exact = Linear.fit([(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0)])
    assert exact.slope == pytest.approx(50 / 5.1)
    # rates without a trend: the largest penalty. x about 3: squares 10; y about 50: products 2 * 8 + 8 - 8 + 2 * 4 = 8
    level = Linear.fit([(1, 46.0), (2, 58.0), (3, 50.0), (4, 42.0), (5, 54.0)])
    assert level.slope == pytest.approx((-2 * -4 - 8 - 8 + 2 * 4) / 20)


def test_the_leverage_shortcut_equals_explicit_leave_one_out() -> None:
    points = [(2, 36.5), (5, 83.5), (8, 129.6), (11, 195.8), (14, 221.0)]

    def squared_error(alpha: float) -> float:
        others = [(p, Linear.fit([q for q in points if q != p], alphas=(alpha,))) for p in points]
        return sum((line.at(x) - y) ** 2 for (x, y), line in others)

    best = min((0.1, 1.0, 10.0), key=squared_error)
    assert Linear.fit(points) == Linear.fit(points, alphas=(best,))


def test_two_numbers_of_executors_give_the_line_through_them() -> None:
    # (80 - 40) / (6 - 2) = 10 each, 40 - 2 * 10 = 20; the points at 2 count by their mean
    line = Linear.fit([(2, 30.0), (2, 50.0), (6, 80.0)])
    assert (line.slope, line.intercept) == (pytest.approx(10), pytest.approx(20))


def test_a_negative_slope_becomes_constant_and_a_negative_intercept_zero() -> None:
    assert Linear.fit([(2, 50.0), (4, 30.0)]) == Linear(0.0, 40.0)
    # free: 30 x - 50; through the origin: (2 * 10 + 4 * 70) / (4 + 16) = 15
    assert Linear.fit([(2, 10.0), (4, 70.0)]) == Linear(15.0, 0.0)


def test_a_line_may_be_level_or_rise_slowly() -> None:
    assert Linear.fit([(2, 50.0), (4, 50.0)]) == Linear(0.0, 50.0)
    assert Linear.fit([(2, 50.0), (4, 51.0)]) == Linear(0.5, 49.0)
    assert Linear.fit([(2, 4.0), (4, 8.0)]) == Linear(2.0, 0.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_number_of_executors_is_proportional(shape: str) -> None:
    for points in ([(4, 100.0)], [(4, 100.0)] * 3, [(4, 90.0), (4, 110.0)]):
        # usl takes the mean of n / C, weighed by share: 1 / 90 and 1 / 110 differ by 1 %
        assert SHAPES[shape](points).at(8) == pytest.approx(200, rel=0.02)
    assert SHAPES[shape]([(4, 100.0)]).at(0) == 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("points", [[], [(0, 10.0)], [(2, 0.0)], [(2, float("nan"))], [(2, float("inf"))]])
def test_invalid_points_are_rejected(shape: str, points: list[tuple[float, float]]) -> None:
    with pytest.raises(InvalidInput, match="a shape of capacity: need"):
        SHAPES[shape](points)


def test_reciprocal_prefers_the_fewest_and_first_terms() -> None:
    # 5 + 2.5 s goes through both, and so would 10 s / 3 + 20 / (3 s): the first has no decreasing term
    fit = Reciprocal.fit([(2, 10.0), (4, 15.0)])
    assert fit.slope == pytest.approx(2.5)
    assert fit.constant == pytest.approx(5)
    assert (fit.inverse, fit.square) == (0, 0)


def test_reciprocal_may_decrease_with_executors() -> None:
    # 1 * 1 + 100 / 1 = 101 and 2 + 50 = 52
    shape = Reciprocal(0.0, 1.0, 100.0, 0.0)
    assert (shape.at(1), shape.at(2)) == (101, 52)


@given(COEFFICIENT, st.floats(1, 1e6))
def test_a_line_is_recovered(intercept: float, slope: float) -> None:
    line = Linear.fit([(n, intercept + slope * n) for n in (1, 3, 8, 20)], alphas=(0.0,))
    assert line.at(40) == pytest.approx(intercept + slope * 40, rel=1e-6)


@given(COEFFICIENT, st.floats(1, 1e6), COEFFICIENT, COEFFICIENT)
def test_a_reciprocal_is_recovered(constant: float, slope: float, inverse: float, square: float) -> None:
    true = Reciprocal(constant, slope, inverse, square)
    fit = Reciprocal.fit([(n, true.at(n)) for n in (1, 2, 3, 5, 8, 16)])
    for n in (1, 4, 12):
        assert fit.at(n) == pytest.approx(true.at(n), rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@given(points=POINTS)
def test_capacity_is_finite_and_not_negative(shape: str, points: list[tuple[int, float]]) -> None:
    fit = SHAPES[shape](points)
    rates = [fit.at(n) for n in range(65)]
    assert all(0 <= rate < float("inf") for rate in rates)


@given(POINTS)
def test_a_line_never_decreases(points: list[tuple[int, float]]) -> None:
    line = Linear.fit(points)
    assert all(line.at(a) <= line.at(b) for a, b in pairwise(range(65)))


@given(st.lists(st.tuples(*[st.integers(-10, 10).map(float)] * 4), min_size=3, max_size=8))
def test_bounded_least_squares_satisfies_the_kkt_conditions(rows: list[tuple[float, ...]]) -> None:
    columns, target = np.array(rows)[:, :3], np.array(rows)[:, 3]
    solution = np.array(bounded_least_squares(columns, target))
    assert (solution >= 0).all()
    # zero gradient for free coefficients, none negative at the bound
    gradient = columns.T @ (columns @ solution - target)
    scale = 1e-6 * (1 + np.abs(columns).max() * (1 + np.abs(target).max()))
    assert (gradient >= -scale).all()
    assert abs(gradient @ (solution > 0)) <= 3 * scale
