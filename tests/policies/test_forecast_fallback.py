"""A forecaster that is trusted as long as it was right."""

from dataclasses import dataclass

import pytest

from tidegate.core import Forecast, InvalidInput
from tidegate.policies.forecast_fallback import ForecastWithFallback


@dataclass
class Level:
    """An outlook on one rate, for ever."""

    rate: float = 100.0
    trained: int = 0
    seen: tuple[float, ...] = ()

    def observe(self, time: float, rate: float) -> None:
        self.seen = (*self.seen, rate)

    def ahead(self, seconds: float) -> Forecast:
        return Forecast(seconds, (self.rate,))

    def recent(self, seconds: float) -> float:
        return self.rate

    def retrain(self) -> None:
        self.trained += 1


def told(**options: float) -> tuple[ForecastWithFallback, Level]:
    """One that says 100 while its straight line says 7."""
    forecast, level = ForecastWithFallback(forecaster="last", loop=10.0, **options), Level()  # type: ignore[arg-type]
    forecast.outlook, forecast.line = level, Level(7.0)  # type: ignore[assignment]
    forecast.observe(0.0, 100.0)
    return forecast, level


def loop(forecast: ForecastWithFallback, start: int, *rates: float) -> None:
    """Rates after the start of a loop, evenly until its end."""
    for k, rate in enumerate(rates, 1):
        forecast.observe(start + 10.0 * k / len(rates), rate)


def level(forecast: ForecastWithFallback) -> float:
    ahead = forecast.ahead(30)
    assert ahead is not None
    return ahead.max()


def test_nothing_is_trusted_before_it_was_compared() -> None:
    forecast, _ = told()
    forecast.observe(9.9, 100.0)
    assert (forecast.trusted, forecast.evidence(), level(forecast)) == (False, {}, 7)
    forecast.observe(10.0, 100.0)
    assert (forecast.trusted, forecast.evidence(), level(forecast)) == (True, {"wape": 0}, 100)
    assert forecast.recent(30) == 100


def test_both_learn_from_every_rate() -> None:
    forecast, outlook = told()
    forecast.observe(1.0, 90.0)
    forecast.observe(2.0, None)
    assert outlook.seen == (100, 90)
    assert forecast.line.seen == (100, 90)  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="forecast: need 1 <= retrain-after, got 0"):
        told(retrain_after=0)


def test_the_error_is_relative_to_the_load() -> None:
    forecast, _ = told()
    loop(forecast, 0, 150.0, 50.0, 125.0, 175.0)  # 50, 50, 25 and 75 off, of 500
    assert forecast.evidence() == {"wape": 0.4}
    loop(forecast, 10, 125.0, 125.0)  # each loop has an error of its own: 50 of 250
    assert forecast.evidence() == {"wape": 0.2}


@pytest.mark.parametrize(("limit", "trusted"), [(0.5, False), (0.51, True)])
def test_an_error_of_the_limit_is_too_large(limit: float, trusted: bool) -> None:
    forecast, _ = told(wape_limit=limit)
    loop(forecast, 0, 200.0, 200.0)
    assert (forecast.evidence(), forecast.trusted) == ({"wape": 0.5}, trusted)
    assert level(forecast) == (100 if trusted else 7)


def test_without_load_there_is_nothing_to_compare() -> None:
    forecast, _ = told()
    loop(forecast, 0, 100.0)
    assert forecast.trusted
    loop(forecast, 10, 0.0, 0.0)
    assert (forecast.trusted, forecast.evidence()) == (False, {})
    loop(forecast, 20, 100.0)
    forecast.observe(25.0, None)
    assert forecast.trusted


def test_a_gap_or_a_clock_that_goes_back_begins_a_new_loop() -> None:
    forecast, _ = told()
    forecast.observe(11.0, 500.0)  # later than the forecast went: not compared with it
    assert forecast.evidence() == {}
    forecast.observe(3.0, 500.0)
    loop(forecast, 3, 100.0)
    assert forecast.evidence() == {"wape": 0}


def test_many_poor_loops_in_a_row_retrain_it() -> None:
    forecast, outlook = told(retrain_wape=0.5, retrain_after=2)
    for at, rate, poor, trained in [
        (0, 200.0, 1, 0),  # 0.5 is poor
        (10, 199.0, 0, 0),  # and less is not
        (20, 200.0, 1, 0),
        (30, 200.0, 0, 1),
        (40, 200.0, 1, 1),
    ]:
        loop(forecast, at, rate)
        assert (forecast._poor, outlook.trained) == (poor, trained)
