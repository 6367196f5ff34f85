"""Each formula, with figures that can be checked by hand."""

import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.forecast import Arima, Autoregression, Holt, LastValue, Linear, Seasonal
from tidegate.forecast.arima import ORDERS
from tidegate.forecast.bank import AutoregressionBank
from tidegate.forecast.boxjenkins import ArimaModel, aicc, fit_arima, forecast_arima
from tidegate.forecast.holt import ALPHA, BETA, PHI
from tidegate.forecast.ridge_ar import RidgeAr, ridge_fit, winsorized


def trained(forecaster, rates):
    for rate in rates:
        forecaster.update(float(rate))
    return forecaster


def test_last_is_the_mean_of_the_last_minute():
    assert trained(LastValue(), [1000, 10, 20, 30, 60]).forecast(2).mean == (30.0, 30.0)  # (10 + 20 + 30 + 60) / 4
    assert trained(LastValue(window=30.0), [10, 20, 60]).forecast(1).mean == (40.0,)  # (20 + 60) / 2


def test_linear_extrapolates_the_line_through_the_last_minute():
    # x -1.5 .. 1.5 against 10, 10, 20, 40: slope (-15 - 5 + 10 + 60) / 5 = 10 about the mean 20, next at x = 2.5
    assert trained(Linear(), [9999, 10, 10, 20, 40]).forecast(3).mean == (45.0, 55.0, 65.0)


def test_a_falling_line_stops_at_zero():
    assert trained(Linear(), [40, 30, 20, 10]).forecast(3).mean == (0.0, 0.0, 0.0)


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
    # the slowest filter starts with the mean of both values, not with 2 % of the second
    assert holt._level[0] == pytest.approx(105.0)


def test_holt_filters_are_weighted_by_their_losses():
    holt = Holt(power=2.0)
    holt._loss = np.full(ALPHA.size, 1e12)
    holt._loss[:2] = (1.0, 2.0)  # (1 / 1) ** 2 and (1 / 2) ** 2: four to one
    assert holt.weights()[:2] == pytest.approx([0.8, 0.2])


def test_ridge_regression_finds_the_weights_of_an_autoregression():
    series = [1.0, 2.0]
    for _ in range(40):
        series.append(0.5 * series[-1] - 0.3 * series[-2] + 4.0)
    assert ridge_fit(np.array(series), 2, 1e-9) == pytest.approx((0.5, -0.3, 4.0), abs=1e-3)


def test_a_jump_is_clipped_to_twice_the_usual_change():
    changes = np.array([3.0, -4.0, 2.0, 1.0, -2.0, 3.0, 2.0, -1.0, 900.0, 1.0])
    # sorted: 1 1 1 2 2 2 3 3 4 900; rank 9 of 10 is 900 itself: with ten changes one is not rare
    assert winsorized(changes).max() == 900.0
    # twice as many: rank 18 of 20 is 4, so 8 is the bound
    assert winsorized(np.concatenate((changes[:8], changes, changes[:2]))).max() == 8.0


def test_runs_of_large_changes_are_not_clipped():
    calm = [1.0, -1.0] * 20
    assert winsorized(np.array([*calm, 9.0, 9.0])).tolist() == [*calm, 2.0, 2.0]
    assert winsorized(np.array([*calm, 9.0, 9.0, 9.0])).tolist() == [*calm, 9.0, 9.0, 9.0]
    assert winsorized(np.array([*calm, 9.0, -9.0, 9.0])).tolist() == [*calm, 2.0, -2.0, 2.0]


def test_a_walk_drifts_by_its_mean_change():
    walk = RidgeAr(order=0, differenced=True)
    model = walk.fit(np.repeat(np.arange(31.0), 4), 15.0)  # 30 changes of 1 a minute, and the prior's 60 of none
    assert model == pytest.approx((30 / 90,))


def test_the_bank_refits_models_in_turn_once_the_history_is_long():
    bank = AutoregressionBank(15.0)
    for k in range(241):
        bank.learn(100.0 + k % 7)
    before = list(bank._models)
    bank.learn(500.0)  # the 242nd value: turn 2 of 4, models 2 and 6
    assert [k for k, model in enumerate(bank._models) if model != before[k]] == [2, 6]


def test_the_autoregression_follows_a_wave_through_its_turn():
    wave = 1000 + 500 * np.cos(2 * np.pi * np.arange(480) / 120)
    forecast = trained(Autoregression(ridge=1e-6), wave).forecast(60).mean  # from a peak to the next trough
    assert forecast[0] == pytest.approx(1500, rel=0.02)
    assert forecast[-1] == pytest.approx(500, rel=0.04)


def test_a_season_scales_with_the_level():
    day = np.where(np.arange(288) < 144, 1000.0, 500.0)
    seasonal = trained(Seasonal(step=300.0), day)
    trained(seasonal, day[:138] * 2)  # today is twice yesterday
    assert seasonal.ready
    # yesterday there were six more bins of 1000, then 500
    assert seasonal.forecast(9).mean == pytest.approx([2000.0] * 6 + [1000.0] * 3)


def test_the_seasonal_profile_is_unused_until_complete():
    seasonal = trained(Seasonal(step=300.0), [100.0] * 298 + [900.0])  # a day and an hour less five minutes
    assert not seasonal.ready
    assert seasonal.forecast(1).mean == (900.0,)


def test_older_seasons_fade_by_half():
    seasonal = trained(Seasonal(step=300.0), [100.0] * 288 + [300.0] * 20)
    # 0.5 * 100 + 0.5 * 300; the last hour, twelve bins, is not in the profile yet
    assert seasonal._day[6:10].tolist() == [200.0, 200.0, 100.0, 100.0]


def test_arima_forecasts_with_past_innovations():
    # w = e[t] + 0.5 * e[t-1]; values 1, 1, 3 after a run of zeros: e = 1, 1 - 0.5 = 0.5, 3 - 0.25 = 2.75
    model = ArimaModel(d=0, ar=(), ma=(0.5,), constant=0.0, aicc=0.0)
    assert forecast_arima(np.array([0.0, 0.0, 1.0, 1.0, 3.0]), model, 2) == pytest.approx([1.375, 0.0])


def test_arima_integrates_twice():
    # second differences of 1, 4, 9, 16 are 2; forecast as 0, so that the last slope, 7, continues
    model = ArimaModel(d=2, ar=(), ma=(), constant=0.0, aicc=0.0)
    assert forecast_arima(np.array([1.0, 4.0, 9.0, 16.0]), model, 2) == pytest.approx([23.0, 30.0])


def test_hannan_and_rissanen_find_a_moving_average():
    shocks = np.random.default_rng(1).normal(size=4001)
    model = fit_arima(100 + shocks[1:] + 0.6 * shocks[:-1], d=0, p=0, q=1)
    assert model.ma[0] == pytest.approx(0.6, abs=0.05)
    assert model.constant == pytest.approx(100, abs=0.1)


def test_an_unstable_fit_is_rejected():
    assert fit_arima(1.1 ** np.arange(60.0), d=0, p=1, q=0) is None


def test_akaike_with_correction():
    assert aicc(40.0, rows=40, count=2) == pytest.approx(40 * 0 + 4 + 12 / 37)  # ln(40 / 40) = 0


def orders(model):
    return len(model.ar), model.d, len(model.ma)


def test_a_search_tries_one_candidate_per_value():
    arima = trained(Arima(), 1000 + 50 * np.random.default_rng(2).normal(size=24))
    assert arima._search is None
    trained(arima, [1000])  # the 25th value starts the search, each later one tries one order
    assert len(arima._search.todo) == len(ORDERS) == 36
    trained(arima, [1000] * 3)
    assert len(arima._search.todo) == 33
    assert arima._model is not None  # the best so far, since no model preceded it
    trained(arima, [1000] * 22)  # the 50th: 25 means of two values exist, and the search restarts with them
    assert (arima._search.factor, len(arima._search.todo)) == (2, 36)


def test_the_old_model_is_used_until_the_search_ends():
    noise = np.random.default_rng(2).normal(size=300)
    arima = trained(Arima(renewal=1e9), 1000 + 50 * noise[:140])
    assert (arima._search, arima._factor) == (None, 4)
    before = orders(arima._model)
    trained(arima, 1000 + 300 * np.sin(np.arange(80) / 8))
    arima.retrain()
    trained(arima, [1000.0] * 35)
    assert orders(arima._model) == before
    assert len(arima._search.todo) == 1
    best = arima._search.best
    trained(arima, [1000.0])
    assert arima._search is None
    assert orders(arima._model) == orders(best)


def test_orders_are_searched_again_after_an_hour():
    arima = trained(Arima(), [1000.0 + k % 3 for k in range(339)])  # the last search started at the 100th value
    assert arima._search is None
    assert trained(arima, [1000.0])._search is not None  # 240 values of 15 s later


def test_consecutive_bad_minutes_start_a_search():
    arima = trained(Arima(patience=2), [100.0] * 140)
    assert arima._search is None
    # alternating minutes of 0 and 1000 are forecast badly
    trained(arima, ([1000.0] * 4 + [0.0] * 4) * 2)
    assert arima._search is not None
