import pytest

from tidegate.score.estimate import Estimate, over_cells, over_seeds, student_t


def test_mean_and_interval_over_seeds() -> None:
    # mean 3, variance 10/4, standard error sqrt(2.5/5) = 0.70711, t of 4 degrees 2.77645
    found = over_seeds([1, 2, 3, 4, 5])
    assert found is not None
    assert (found.mean, found.freedom) == (3.0, 4)
    assert found.half is not None
    assert found.half == pytest.approx(1.96324, abs=1e-5)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((1.03676, 4.96324), abs=1e-5)


def test_unknown_values_do_not_count() -> None:
    found = over_seeds([None, 4.0, None, 4.0])
    assert found == Estimate(4.0, error=0.0, freedom=1)
    assert found.half == 0.0


def test_one_seed_has_no_interval() -> None:
    found = over_seeds([7.0, None])
    assert found == Estimate(7.0, freedom=0)
    assert found.half is None


def test_nothing_known() -> None:
    assert (over_seeds([]), over_seeds([None, None]), over_cells([])) == (None, None, None)


def test_what_has_no_number_is_counted_beside_the_mean() -> None:
    assert over_seeds([7.0], missed=2) == Estimate(7.0, missed=2)


def test_cells_count_the_same_however_many_seeds_they_have() -> None:
    many, one = over_seeds([1, 2, 3, 4, 5], missed=1), over_seeds([9.0], missed=3)
    assert many is not None
    assert one is not None
    found = over_cells([many, one])
    # (3 + 9) / 2; the error is that of the first, sqrt(0.5), over two cells
    assert found is not None
    assert (found.mean, found.freedom, found.missed) == (6.0, 4, 4)
    assert found.error == pytest.approx(0.5**0.5 / 2)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.30265), (5, 2.57058), (10, 2.22814), (30, 2.04227), (120, 1.97993)]
)
def test_students_table(freedom: int, t: float) -> None:
    assert student_t(freedom) == pytest.approx(t, abs=1e-4)
