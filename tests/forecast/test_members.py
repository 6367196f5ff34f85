"""Each formula with numbers that can be worked out by hand."""

import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.forecast import Arima, Autoregression, Holt, LastValue, Linear, Seasonal
from tidegate.forecast.arima import ORDERS
from tidegate.forecast.bank import Bank
from tidegate.forecast.boxjenkins import Model, aicc, extended, fitted
from tidegate.forecast.holt import ALPHA, BETA, PHI
from tidegate.forecast.recipe import Recipe, ridge_fit, tamed


def shown(forecaster, rates):
    for rate in rates:
        forecaster.update(float(rate))
    return forecaster


def test_the_last_value_is_the_mean_of_a_minute():
    assert shown(LastValue(), [1000, 10, 20, 30, 60]).forecast(2).mean == (30.0, 30.0)  # (10 + 20 + 30 + 60) / 4
    assert shown(LastValue(window=30.0), [10, 20, 60]).forecast(1).mean == (40.0,)  # (20 + 60) / 2


def test_the_line_through_a_minute_is_drawn_on():
    # x -1.5 .. 1.5 against 10, 10, 20, 40: slope (-15 - 5 + 10 + 60) / 5 = 10 about the mean 20, next at x = 2.5
    assert shown(Linear(), [9999, 10, 10, 20, 40]).forecast(3).mean == (45.0, 55.0, 65.0)


def test_a_falling_line_stops_at_nothing():
    assert shown(Linear(), [40, 30, 20, 10]).forecast(3).mean == (0.0, 0.0, 0.0)


def test_a_parameter_out_of_bounds_is_refused():
    with pytest.raises(InvalidInput, match="forecaster linear: need 0 < window, got 0"):
        Linear(window=0.0)


def test_one_holt_filter_by_hand():
    holt = Holt()
    for rate in (100.0, 110.0):
        holt.learn(rate)
    # the filter of alpha 0.7, beta 0.3, phi 0.8: level 100, trend 0; expected 100, level 100 + 0.7 * 10 = 107,
    # trend 0.3 * 7 = 2.1
    k = int(np.flatnonzero((ALPHA == 0.7) & (BETA == 0.3) & (PHI == 0.8))[0])
    assert (holt._level[k], holt._trend[k]) == pytest.approx((107.0, 2.1))
    # the slowest takes the mean of two values, not 2 % of the second
    assert holt._level[0] == pytest.approx(105.0)


def test_holt_filters_weigh_by_their_losses():
    holt = Holt(power=2.0)
    holt._loss = np.full(ALPHA.size, 1e12)
    holt._loss[:2] = (1.0, 2.0)  # (1 / 1) ** 2 and (1 / 2) ** 2: four to one
    assert holt.weights()[:2] == pytest.approx([0.8, 0.2])


def test_ridge_regression_finds_the_weights_of_an_autoregression():
    series = [1.0, 2.0]
    for _ in range(40):
        series.append(0.5 * series[-1] - 0.3 * series[-2] + 4.0)
    assert ridge_fit(np.array(series), 2, 1e-9) == pytest.approx((0.5, -0.3, 4.0), abs=1e-3)


def test_a_jump_is_cut_down_to_twice_the_usual_change():
    changes = np.array([3.0, -4.0, 2.0, 1.0, -2.0, 3.0, 2.0, -1.0, 900.0, 1.0])
    # sorted: 1 1 1 2 2 2 3 3 4 900; place 9 of 10 is 900 itself: with ten changes one is not rare
    assert tamed(changes).max() == 900.0
    # twice as many: place 18 of 20 is 4, so 8 is the bound
    assert tamed(np.concatenate((changes[:8], changes, changes[:2]))).max() == 8.0


def test_a_change_that_lasts_is_no_jump():
    calm = [1.0, -1.0] * 20
    assert tamed(np.array([*calm, 9.0, 9.0])).tolist() == [*calm, 2.0, 2.0]
    assert tamed(np.array([*calm, 9.0, 9.0, 9.0])).tolist() == [*calm, 9.0, 9.0, 9.0]
    assert tamed(np.array([*calm, 9.0, -9.0, 9.0])).tolist() == [*calm, 2.0, -2.0, 2.0]


def test_a_walk_drifts_by_its_mean_change():
    walk = Recipe(order=0, differenced=True)
    model = walk.fit(np.repeat(np.arange(31.0), 4), 15.0)  # thirty changes of 1 a minute, sixty of nothing
    assert model == pytest.approx((30 / 90,))


def test_the_bank_takes_turns_when_it_is_no_longer_young():
    bank = Bank(15.0)
    for k in range(241):
        bank.learn(100.0 + k % 7)
    before = list(bank._models)
    bank.learn(500.0)  # the 242nd: turn 2 of 4, recipes 2 and 6
    assert [k for k, model in enumerate(bank._models) if model != before[k]] == [2, 6]


def test_the_autoregression_of_a_wave_turns_where_the_wave_turns():
    wave = 1000 + 500 * np.cos(2 * np.pi * np.arange(480) / 120)
    found = shown(Autoregression(ridge=1e-6), wave).forecast(60).mean  # from a top to the next bottom
    assert found[0] == pytest.approx(1500, rel=0.02)
    assert found[-1] == pytest.approx(500, rel=0.04)


def test_a_season_scales_with_the_level():
    day = np.where(np.arange(288) < 144, 1000.0, 500.0)
    seasonal = shown(Seasonal(step=300.0), day)
    shown(seasonal, day[:138] * 2)  # today is twice yesterday
    assert seasonal.ready
    # yesterday there were six more bins of 1000, then 500
    assert seasonal.forecast(9).mean == pytest.approx([2000.0] * 6 + [1000.0] * 3)


def test_a_season_abstains_until_it_was_seen():
    seasonal = shown(Seasonal(step=300.0), [100.0] * 298 + [900.0])  # a day and an hour less five minutes
    assert not seasonal.ready
    assert seasonal.forecast(1).mean == (900.0,)


def test_older_seasons_fade_by_half():
    seasonal = shown(Seasonal(step=300.0), [100.0] * 288 + [300.0] * 20)
    # 0.5 * 100 + 0.5 * 300; the last hour, twelve bins, still waits
    assert seasonal._day[6:10].tolist() == [200.0, 200.0, 100.0, 100.0]


def test_arima_carries_shocks_on():
    # w = e[t] + 0.5 * e[t-1]; values 1, 1, 3 after a run of zeros: e = 1, 1 - 0.5 = 0.5, 3 - 0.25 = 2.75
    model = Model(d=0, ar=(), ma=(0.5,), constant=0.0, aicc=0.0)
    assert extended(np.array([0.0, 0.0, 1.0, 1.0, 3.0]), model, 2) == pytest.approx([1.375, 0.0])


def test_arima_sums_differences_up_twice():
    # second differences of 1, 4, 9, 16 are 2; with none to come the last slope, 7, goes on
    model = Model(d=2, ar=(), ma=(), constant=0.0, aicc=0.0)
    assert extended(np.array([1.0, 4.0, 9.0, 16.0]), model, 2) == pytest.approx([23.0, 30.0])


def test_hannan_and_rissanen_find_a_moving_average():
    shocks = np.random.default_rng(1).normal(size=4001)
    found = fitted(100 + shocks[1:] + 0.6 * shocks[:-1], d=0, p=0, q=1)
    assert found.ma[0] == pytest.approx(0.6, abs=0.05)
    assert found.constant == pytest.approx(100, abs=0.1)


def test_a_fit_that_would_explode_is_refused():
    assert fitted(1.1 ** np.arange(60.0), d=0, p=1, q=0) is None


def test_akaike_with_correction():
    assert aicc(40.0, rows=40, count=2) == pytest.approx(40 * 0 + 4 + 12 / 37)  # ln(40 / 40) = 0


def orders(model):
    return len(model.ar), model.d, len(model.ma)


def test_a_search_goes_one_candidate_a_value():
    arima = shown(Arima(), 1000 + 50 * np.random.default_rng(2).normal(size=24))
    assert arima._search is None
    shown(arima, [1000])  # the 25th value begins the search, each of the next tries one order
    assert len(arima._search.todo) == len(ORDERS) == 36
    shown(arima, [1000] * 3)
    assert len(arima._search.todo) == 33
    assert arima._model is not None  # the best so far: there was none before
    shown(arima, [1000] * 22)  # the 50th: 25 means of two values are there, and it begins anew with them
    assert (arima._search.factor, len(arima._search.todo)) == (2, 36)


def test_the_old_model_answers_until_the_new_one_is_found():
    noise = np.random.default_rng(2).normal(size=300)
    arima = shown(Arima(renewal=1e9), 1000 + 50 * noise[:140])
    assert (arima._search, arima._factor) == (None, 4)
    before = orders(arima._model)
    shown(arima, 1000 + 300 * np.sin(np.arange(80) / 8))
    arima.retrain()
    shown(arima, [1000.0] * 35)
    assert orders(arima._model) == before
    assert len(arima._search.todo) == 1
    best = arima._search.best
    shown(arima, [1000.0])
    assert arima._search is None
    assert orders(arima._model) == orders(best)


def test_orders_are_looked_for_anew_after_an_hour():
    arima = shown(Arima(), [1000.0 + k % 3 for k in range(339)])  # the last search began with the hundredth value
    assert arima._search is None
    assert shown(arima, [1000.0])._search is not None  # 240 values of 15 s later


def test_bad_minutes_in_a_row_begin_a_search():
    arima = shown(Arima(patience=2), [100.0] * 140)
    assert arima._search is None
    # minutes of 0 and of 1000, by turns, are forecast badly
    shown(arima, ([1000.0] * 4 + [0.0] * 4) * 2)
    assert arima._search is not None
