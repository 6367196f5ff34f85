"""What a store keeps, decided without a store."""

import math

import pytest

from tidegate.core import InvalidInput
from tidegate.store.retention import COARSE, DAY, FULL, MINUTES, Retention, RunAge

R = Retention()


def test_a_run_that_goes_on_is_full_for_a_day_by_minutes_for_two_weeks_and_kept_for_ninety_days() -> None:
    going, now = RunAge("r", 0.0), 100 * DAY
    horizons = [R.horizon(going, grain, now, now, 0) for grain in (FULL, MINUTES, COARSE)]
    assert horizons == [99 * DAY, 86 * DAY, 10 * DAY]


def test_a_tick_from_the_future_makes_nothing_older() -> None:
    assert R.horizon(RunAge("r", 0.0), FULL, newest=1e12, now=3 * DAY, ticks=0) == 2 * DAY


def test_a_query_that_stood_still_is_not_folded_by_the_clock() -> None:
    assert R.horizon(RunAge("r", 0.0), FULL, newest=3 * DAY, now=300 * DAY, ticks=0) == 2 * DAY


def test_a_simulated_run_is_not_folded_while_it_runs() -> None:
    assert R.horizon(RunAge("r", 0.0, simulated=True), FULL, 500 * DAY, 500 * DAY, 0) is None


@pytest.mark.parametrize("simulated", [True, False])
def test_a_run_that_has_ended_is_folded_once_when_it_is_long_and_old(simulated: bool) -> None:
    ended = RunAge("r", 0.0, ended=DAY, simulated=simulated)
    later = DAY + R.ended + 1
    assert R.horizon(ended, FULL, DAY, later, R.short + 1) == math.inf
    assert R.horizon(ended, FULL, DAY, later, R.short) is None
    assert R.horizon(ended, FULL, DAY, later - 2, R.short + 1) is None
    assert R.horizon(ended, MINUTES, DAY, later, R.short + 1) is None


def test_runs_go_for_their_age_unless_they_are_among_the_newest() -> None:
    runs = [RunAge(str(n), n * DAY, ended=n * DAY) for n in range(200)]
    gone = R.expired(runs, now=200 * DAY)
    # those before day 110 are older than 90 days, those from day 100 on are the newest hundred
    assert gone == [str(n) for n in range(100)]
    assert R.expired(runs, now=120 * DAY) == [str(n) for n in range(30)]


def test_a_run_that_goes_on_is_never_removed() -> None:
    runs = [RunAge(str(n), float(n), ended=None if n % 2 else float(n)) for n in range(6)]
    strict = Retention(runs=1.0, newest=1, most_runs=1, size=1)
    assert strict.expired(runs, now=1e9) == ["0", "2", "4"]
    assert strict.for_room(runs, used=2) == "0"
    assert strict.for_room([run for run in runs if run.ended is None], used=2) is None
    assert strict.for_room(runs, used=1) is None


def test_too_many_runs_go_however_new_they_are() -> None:
    runs = [RunAge(str(n), float(n), ended=float(n)) for n in range(5)]
    assert Retention(most_runs=3, newest=3).expired(runs, now=10.0) == ["0", "1"]


@pytest.mark.parametrize("name", ["full", "size", "newest"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_what_must_be_above_zero_is(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=rf"retention: {name} must be above 0, got "):
        Retention(**{name: value})


def test_spans_grow() -> None:
    with pytest.raises(InvalidInput, match="need full <= minutes <= whole, got 100, 50 and 200 s"):
        Retention(full=100.0, minutes=50.0, whole=200.0)
