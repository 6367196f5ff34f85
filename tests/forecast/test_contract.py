"""Properties that hold for every forecaster and any input."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate.core import InvalidInput, UnknownName
from tidegate.forecast import FORECASTERS, LastValue, forecaster, names, register
from tidegate.memory import memory, recall

rates = st.one_of(st.just(0.0), st.floats(0, 1e9), st.sampled_from([1e-9, 1.0, 1e9, 1e18]))
#: level, change per step, and length of a segment
segments = st.lists(st.tuples(rates, st.floats(-1e6, 1e6), st.integers(1, 30)), min_size=1, max_size=4)
quick = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
every = pytest.mark.parametrize("name", FORECASTERS)


def series(segments):
    return [max(0.0, level + k * change) for level, change, length in segments for k in range(length)]


def assert_valid(forecast, horizon):
    levels = sorted(forecast.quantiles)
    assert {0.5, 0.9, 0.95} <= set(levels)
    rows = [forecast.mean, *(forecast.quantiles[level] for level in levels)]
    assert all(len(row) == horizon for row in rows)
    assert all(math.isfinite(rate) and rate >= 0 for row in rows for rate in row)
    for lower, upper in pairwise(levels):
        assert all(a <= b for a, b in zip(forecast.quantiles[lower], forecast.quantiles[upper], strict=True))


@every
@quick
@given(before=segments, after=segments)
def test_forecasts_of_any_rates_are_valid_and_survive_memory(name, before, after):
    model, restored = forecaster(name), forecaster(name)
    for rate in series(before):
        model.update(rate)
    assert_valid(model.forecast(60), 60)
    assert model.forecast(60) == model.forecast(60)  # forecasting does not change the state
    recall(restored, json.loads(json.dumps(memory(model), allow_nan=False)))
    for rate in series(after):
        model.update(rate)
        restored.update(rate)
    assert_valid(model.forecast(70), 70)
    assert model.forecast(70) == restored.forecast(70)
    assert memory(model) == memory(restored)


@every
def test_nothing_is_forecast_before_the_first_value(name):
    assert forecaster(name).forecast(4) is None


@every
def test_values_that_are_not_finite_are_ignored_and_negative_ones_clipped(name):
    model, expected = forecaster(name), forecaster(name)
    for rate in (5.0, math.nan, math.inf, -math.inf, -3.0):
        model.update(rate)
    for rate in (5.0, 0.0):
        expected.update(rate)
    assert model.forecast(3) == expected.forecast(3)


@every
def test_a_constant_is_forecast_as_itself(name):
    model = forecaster(name)
    for _ in range(130):
        model.update(700.0)
    forecast = model.forecast(60)
    assert forecast.step == 15.0
    assert forecast.mean == pytest.approx([700.0] * 60)
    assert forecast.quantiles[0.95] == pytest.approx([700.0] * 60)


@every
def test_other_steps_work(name):
    model = FORECASTERS[name](step=60.0)
    for k in range(40):
        model.update(float(k))
    assert_valid(model.forecast(15), 15)


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownName, match="no forecaster is named 'chosser'; did you mean 'chooser'"):
        forecaster("chosser")


def test_the_built_in_forecasters_cannot_be_changed():
    with pytest.raises(TypeError):
        FORECASTERS["mine"] = LastValue
    with pytest.raises(InvalidInput, match="forecaster 'holt' is built in"):
        register("holt", LastValue)


def test_a_registered_forecaster_is_available_by_name(monkeypatch):
    monkeypatch.setattr(names, "_registered", {})
    register("mine", lambda: LastValue(window=30.0))
    assert forecaster("mine") == LastValue(window=30.0)
    assert "mine" not in FORECASTERS
    with pytest.raises(UnknownName, match="did you mean 'mine'"):
        forecaster("mime")
