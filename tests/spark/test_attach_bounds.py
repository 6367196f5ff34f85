from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.attachment import Settings, bounds
from tidegate.core import InvalidInput, InvalidLimits, Limits, UnknownName

ENABLED, LEAST, MOST = (f"spark.dynamicAllocation.{key}" for key in ("enabled", "minExecutors", "maxExecutors"))


@pytest.mark.parametrize("on", ["true", "True", "TRUE"])
def test_spark_s_own_dynamic_allocation_is_refused(on: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        bounds({ENABLED: on, MOST: "4"}, 1, 4)
    assert str(refused.value) == (
        "Spark's own dynamic allocation is on and would undo what Tidegate does: start the application with"
        " spark.dynamicAllocation.enabled=false (its minExecutors and maxExecutors stay in force as bounds), or"
        ' watch with mode="monitor"'
    )
    assert bounds({ENABLED: on, MOST: "4"}, 1, 8, mode="monitor") == Limits(1, 4)


def test_arguments_alone_are_the_bounds() -> None:
    assert bounds({}, 2, 6) == Limits(2, 6)
    assert bounds({ENABLED: "false"}, None, 6) == Limits(1, 6)


def test_the_configuration_alone_gives_the_bounds() -> None:
    assert bounds({LEAST: "2", MOST: "6"}, None, None) == Limits(2, 6)
    assert bounds({LEAST: "0", MOST: " 6 "}, None, None) == Limits(1, 6)  # Spark's default for the least is 0


def test_of_configuration_and_arguments_the_tighter_holds() -> None:
    assert bounds({LEAST: "2", MOST: "6"}, 3, 8) == Limits(3, 6)
    assert bounds({LEAST: "3", MOST: "8"}, 2, 6) == Limits(3, 6)


@given(low=st.integers(0, 5), high=st.integers(5, 9), least=st.integers(1, 5), most=st.integers(5, 9))
def test_the_bounds_are_within_both(low: int, high: int, least: int, most: int) -> None:
    found = bounds({LEAST: str(low), MOST: str(high)}, least, most)
    assert found == Limits(max(low, least), min(high, most))


def test_a_maximum_must_come_from_somewhere() -> None:
    for conf in ({}, {LEAST: "2"}):
        with pytest.raises(InvalidInput) as refused:
            bounds(conf, 1, None)
        assert str(refused.value) == (
            "attach: need max_executors, or spark.dynamicAllocation.maxExecutors, as an upper bound"
        )


@pytest.mark.parametrize("text", ["many", "", "-1", "2.5", "infinity"])
def test_a_bound_that_is_no_whole_number_is_named(text: str) -> None:
    for key in (LEAST, MOST):
        with pytest.raises(InvalidInput) as refused:
            bounds({key: text}, 1, 4)
        assert str(refused.value) == f"{key} must be a whole number, got {text!r}"


def test_bounds_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(InvalidLimits, match="need 0 < minimum <= maximum executors, got 5, 4"):
        bounds({MOST: "4"}, 5, 8)
    with pytest.raises(InvalidLimits, match="got 5, 4"):
        bounds({LEAST: "5"}, None, 4)
    with pytest.raises(InvalidLimits, match="got 0, 4"):
        bounds({}, 0, 4)


@pytest.mark.parametrize("value", [2.0, True, "4"])
def test_a_bound_that_is_given_must_be_a_whole_number(value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"need a whole number as max_executors, got {value!r}"):
        bounds({}, 1, value)


def test_durations_are_seconds_or_text() -> None:
    chosen = Settings(period="500ms", slo="1m", patience=5)  # type: ignore[arg-type]
    assert (chosen.period, chosen.slo, chosen.patience) == (0.5, 60.0, 5.0)


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ({"period": 0}, "need a duration above 0 s as period, got 0"),
        ({"slo": -1}, "need a duration above 0 s as slo, got -1"),
        ({"slo": float("nan")}, "need a duration above 0 s as slo, got nan"),
        ({"period": True}, "need a duration above 0 s as period, got True"),
        ({"period": "fast"}, "period: duration 'fast' is not like 90s, 3m or 1h30m"),
        ({"sinks": [print]}, "need sinks with a name and a method take, got <built-in function print>"),
        ({"sinks": "log"}, "need sinks with a name and a method take, got 'log'"),
        ({"store": 7}, "need a path or None as store, got 7"),
        ({"store": "no/such/folder/runs.db"}, "the folder no/such/folder of the store .* does not exist"),
        ({"fallback": 2.5}, "need a whole number as fallback, got 2.5"),
        ({"fallback": 0}, "fallback: need at least 1 executor, got 0"),
        ({"fallback_after": 0}, "fallback: need at least 1 failure before it, got 0"),
        ({"fallback_behavior": "statik"}, "no fallback behavior is named 'statik'; did you mean 'static'"),
        ({"foreign": "ignore"}, "no way to treat foreign changes is named 'ignore'"),
        ({"perod": 1}, "no setting of attach is named 'perod'; did you mean 'period'"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_the_value_and_the_rule(setting: Any, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        Settings.of(setting)


def test_an_unknown_mode_is_refused_with_the_nearest_name() -> None:
    assert (Settings().mode, Settings(mode="monitor").mode) == ("active", "monitor")
    with pytest.raises(UnknownName) as refused:
        Settings(mode="monitoring")
    assert str(refused.value) == "no mode is named 'monitoring'; did you mean 'monitor'? (known: active, monitor)"
