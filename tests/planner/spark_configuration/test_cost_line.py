import numpy as np
import pytest

from tidegate.planner.spark_configuration.cost_line import cost_line

SIZES = [1_000.0 * k for k in range(1, 21)]


def test_both_parts_of_batches_that_differ() -> None:
    line = cost_line(SIZES, [0.8 + size * 2e-5 for size in SIZES])
    assert line is not None
    assert line.fixed == pytest.approx(0.8, rel=1e-3)
    assert line.each == pytest.approx(2e-5, rel=1e-3)


def test_a_few_batches_that_took_long_for_another_reason() -> None:
    costs = [0.8 + size * 2e-5 for size in SIZES]
    for late in (0, 1, 19):  # the ends of the line have most weight
        costs[late] += 5.0
    line = cost_line(SIZES, costs)
    assert line is not None
    assert line.fixed == pytest.approx(0.8, rel=0.02)
    assert line.each == pytest.approx(2e-5, rel=0.02)


def test_noise_in_every_batch() -> None:
    pace = np.random.default_rng(1).normal(1.0, 0.05, len(SIZES))
    line = cost_line(SIZES, [(0.8 + size * 2e-5) * p for size, p in zip(SIZES, pace, strict=True)])
    assert line is not None
    # of 20 batches plain least squares has a standard error of 3 % and 10 %
    assert line.fixed == pytest.approx(0.8, rel=0.1)
    assert line.each == pytest.approx(2e-5, rel=0.3)


def test_no_part_is_below_zero() -> None:
    # through (1000, 1) and (20000, 39): a plain line would begin at -1
    line = cost_line(SIZES, [2e-3 * size - 1.0 for size in SIZES])
    assert line is not None
    assert line.fixed == 0.0
    assert line.each > 0
    falling = cost_line(SIZES, [5.0 - size * 1e-5 for size in SIZES])
    assert falling is not None
    assert falling.each == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize(
    "sizes", [[1_000.0] * 50, [1_000.0, 1_020.0] * 25, [1_000.0, 2_000.0, 3_000.0]], ids=["same", "close", "few"]
)
def test_batches_of_about_one_size_say_nothing(sizes: list[float]) -> None:
    assert cost_line(sizes, [0.8 + size * 2e-5 for size in sizes]) is None
