"""What every forecaster keeps, whatever it is shown."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate.core import UnknownName
from tidegate.forecast import FORECASTERS, forecaster
from tidegate.memory import memory, recall

rates = st.one_of(st.just(0.0), st.floats(0, 1e9), st.sampled_from([1e-9, 1.0, 1e9, 1e18]))
#: a level, what it changes by at each step, and how long
stretches = st.lists(st.tuples(rates, st.floats(-1e6, 1e6), st.integers(1, 30)), min_size=1, max_size=4)
quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
every = pytest.mark.parametrize("name", FORECASTERS)


def drawn(found):
    return [max(0.0, level + k * change) for level, change, length in found for k in range(length)]


def sound(found, horizon):
    levels = sorted(found.quantiles)
    assert {0.5, 0.9, 0.95} <= set(levels)
    rows = [found.mean, *(found.quantiles[level] for level in levels)]
    assert all(len(row) == horizon for row in rows)
    assert all(math.isfinite(rate) and rate >= 0 for row in rows for rate in row)
    for below, above in pairwise(levels):
        assert all(a <= b for a, b in zip(found.quantiles[below], found.quantiles[above], strict=True))


@every
@quick
@given(before=stretches, after=stretches)
def test_any_rates_give_sound_forecasts_that_memory_keeps(name, before, after):
    one, other = forecaster(name), forecaster(name)
    for rate in drawn(before):
        one.update(rate)
    sound(one.forecast(60), 60)
    assert one.forecast(60) == one.forecast(60)  # asking twice gives one answer
    recall(other, json.loads(json.dumps(memory(one), allow_nan=False)))
    for rate in drawn(after):
        one.update(rate)
        other.update(rate)
    sound(one.forecast(70), 70)
    assert one.forecast(70) == other.forecast(70)
    assert memory(one) == memory(other)


@every
def test_nothing_is_forecast_before_the_first_value(name):
    assert forecaster(name).forecast(4) is None


@every
def test_what_is_no_rate_is_ignored_and_less_than_none_is_none(name):
    one, other = forecaster(name), forecaster(name)
    for rate in (5.0, math.nan, math.inf, -math.inf, -3.0):
        one.update(rate)
    for rate in (5.0, 0.0):
        other.update(rate)
    assert one.forecast(3) == other.forecast(3)


@every
def test_a_constant_is_forecast_as_itself(name):
    one = forecaster(name)
    for _ in range(130):
        one.update(700.0)
    found = one.forecast(60)
    assert found.step == 15.0
    assert found.mean == pytest.approx([700.0] * 60)
    assert found.quantiles[0.95] == pytest.approx([700.0] * 60)


@every
def test_other_steps_work(name):
    one = FORECASTERS[name](step=60.0)
    for k in range(40):
        one.update(float(k))
    sound(one.forecast(15), 15)


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownName, match="no forecaster is named 'chosser'; did you mean 'chooser'"):
        forecaster("chosser")
