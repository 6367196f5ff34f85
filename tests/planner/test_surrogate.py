import numpy as np
import pytest

from tidegate.planner.surrogate import expected_improvement, standardised

GRID = np.array([[x, y] for x in np.linspace(0, 1, 8) for y in np.linspace(0, 1, 8)])


def bowl(points: np.ndarray) -> np.ndarray:
    return ((points - np.array([0.7, 0.3])) ** 2).sum(axis=1)


def test_the_bottom_of_a_bowl_is_near_after_ten_points() -> None:
    points = GRID[[0, 7, 56, 63]]
    for _ in range(6):
        chosen = int(np.argmax(expected_improvement(points, bowl(points), GRID)))
        points = np.vstack([points, GRID[chosen]])
    # the grid's best is (5/7, 2/7), at 0.0004
    assert bowl(points).min() < 0.02


def test_the_same_seed_gives_the_same_improvement() -> None:
    points = GRID[[0, 7, 56, 63, 30]]
    first, second = (expected_improvement(points, bowl(points), GRID, seed=3) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_a_measured_point_may_be_worth_repeating() -> None:
    # two measurements of the best point disagree: it is uncertain
    points = np.array([[0.0], [0.5], [0.5], [1.0]])
    improvement = expected_improvement(points, np.array([3.0, 0.0, 2.0, 3.0]), np.array([[0.0], [0.5], [1.0]]))
    assert int(np.argmax(improvement)) == 1
    assert improvement[1] > 0


def test_values_are_winsorised() -> None:
    # of five values, the highest but one is the 80 % quantile from below
    assert standardised(np.array([0.0, 0.0, 2.0, 2.0, 1e9])) == pytest.approx(standardised(np.array([0.0, 0, 2, 2, 2])))
    assert standardised(np.full(3, 7.0)).tolist() == [0, 0, 0]
