import numpy as np
import pytest

from tidegate.forecast.quantiles import LEVELS, MAX_LEAD, ErrorQuantiles, empirical_quantiles


def test_before_errors_are_known_the_bounds_are_shares_of_the_path():
    quantiles = ErrorQuantiles()
    quantiles.update(100.0, np.full(MAX_LEAD, 100.0))
    forecast = quantiles.forecast(np.full(2, 100.0), 15.0)
    assert forecast.quantiles == {0.5: (100.0, 100.0), 0.75: (115.0, 115.0), 0.9: (130.0, 130.0), 0.95: (150.0, 150.0)}


def test_long_leads_borrow_from_short_ones_by_the_root_of_the_lead():
    quantiles = ErrorQuantiles()
    for _ in range(9):  # eight errors of 10 at lead 1, five at lead 4
        quantiles.update(110.0, np.full(MAX_LEAD, 100.0))
    offsets = [bound - 100.0 for bound in quantiles.forecast(np.full(MAX_LEAD, 100.0), 15.0).quantiles[0.9]]
    assert offsets[0] == 10.0
    assert offsets[3] == pytest.approx(20.0)  # 10 * sqrt(4 / 1)
    assert offsets[59] == pytest.approx(10 * 60**0.5)


def test_an_exceeded_level_rises_and_one_that_held_falls():
    quantiles = ErrorQuantiles()
    quantiles.update(100.0, np.full(MAX_LEAD, 100.0))
    quantiles.update(1000.0, np.full(MAX_LEAD, 100.0))
    # above every bound of lead 1: 0.9 rises by 0.05 * (1 - 0.1), 0.5 by 0.05 * 0.5
    assert quantiles.used[0] == pytest.approx([0.525, 0.7875, 0.945, 0.9975])
    quantiles.update(0.0, np.full(MAX_LEAD, 100.0))
    assert quantiles.used[0] == pytest.approx([0.5, 0.775, 0.94, 0.995])  # down by 0.05 * (1 - level) each
    assert quantiles.used[1] == pytest.approx(LEVELS)  # no errors at lead 4 yet


def test_a_level_above_one_widens_beyond_the_largest_error():
    # 4 + 0.1 * 5 * (4 - 2)
    assert empirical_quantiles(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([1.1])) == pytest.approx([5.0])


def test_the_0_9_quantile_covers_90_percent_of_the_values():
    draws = np.random.default_rng(3).exponential(size=2000)
    quantiles, covered = ErrorQuantiles(), []
    for value in 100 * draws:
        if quantiles.seen > 200:
            covered.append(value <= quantiles.forecast(np.full(1, 100.0), 15.0).quantiles[0.9][0])
        quantiles.update(value, np.full(MAX_LEAD, 100.0))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.02)


def test_bounds_are_never_negative():
    quantiles = ErrorQuantiles()
    for _ in range(70):
        quantiles.update(10.0, np.full(MAX_LEAD, 100.0))
    assert quantiles.forecast(np.full(MAX_LEAD, 5.0), 15.0).quantiles[0.5] == (0.0,) * MAX_LEAD
