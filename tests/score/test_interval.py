import pytest

from tidegate.score.interval import Interval, interval, student


def test_mean_and_interval_over_seeds() -> None:
    # mean 3, variance 10/4, standard error sqrt(2.5/5) = 0.70711, t of 4 degrees 2.77645
    found = interval([1, 2, 3, 4, 5])
    assert (found.mean, found.count) == (3.0, 5)
    assert found.half == pytest.approx(1.96324, abs=1e-5)
    assert (found.low, found.high) == pytest.approx((1.03676, 4.96324), abs=1e-5)


def test_unknown_values_do_not_count() -> None:
    assert interval([None, 4.0, None, 4.0]) == Interval(4.0, 0.0, 2)


def test_one_seed_has_no_interval() -> None:
    found = interval([7.0, None])
    assert (found, found.low, found.high) == (Interval(7.0, None, 1), None, None)


def test_nothing_known() -> None:
    assert interval([]) == interval([None, None]) == Interval(None, None, 0)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.30265), (5, 2.57058), (10, 2.22814), (30, 2.04227), (120, 1.97993)]
)
def test_students_table(freedom: int, t: float) -> None:
    assert student(freedom) == pytest.approx(t, abs=1e-4)
