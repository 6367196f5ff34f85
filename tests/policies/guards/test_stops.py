"""Scaling that people stopped: by hand, or by the clock."""

import pytest

from tidegate.core import Decision, InvalidInput, Observation, OperatorSample, Target
from tidegate.policies.guards import Excluded, Pause
from tidegate.policies.guards.excluded import periods

HOUR, DAY = 3600, 86_400
MONDAY = 4 * DAY  # 1970-01-05


def wish(executors: int) -> Decision:
    return Decision(executors, "wished")


@pytest.mark.parametrize(("what", "fewer", "more"), [("none", 2, 6), ("in", 4, 6), ("out", 2, 4), ("both", 4, 4)])
def test_a_pause_has_directions(what: str, fewer: int, more: int) -> None:
    obs = Observation(0, 4, 4)
    assert [Pause(what).temper(wish(n), obs).executors for n in (2, 4, 6)] == [fewer, 4, more]


def test_a_pause_says_what_is_paused() -> None:
    obs = Observation(0, 4, 4)
    assert Pause("out").temper(wish(6), obs).reason == "hold: 6 wished (wished), but scaling out is paused"
    assert Pause("both").temper(wish(6), obs).reason == "hold: 6 wished (wished), but scaling is paused"
    with pytest.raises(InvalidInput, match="guard pause: need one of none, in, out, both, got 'up'"):
        Pause("up")


def test_only_a_full_pause_keeps_operators_from_giving_to_each_other() -> None:
    samples = (OperatorSample("map", parallelism=2), OperatorSample("window", parallelism=2))
    obs = Observation(0, 4, 4, operators=samples, isolated=True)
    uneven = Decision(Target(4, {"map": 3, "window": 1}), "uneven")
    assert Pause("in").temper(uneven, obs) is uneven
    assert Pause("both").temper(uneven, obs).reason == "hold: map 3, window 1 wished (uneven), but scaling is paused"


def test_a_pause_in_one_direction_leaves_a_hold_as_it_is() -> None:
    still = Decision(4, "hold: nothing known")
    for what in ("in", "out", "both"):
        assert Pause(what).temper(still, Observation(0, 4, 4)) is still


@pytest.mark.parametrize(
    ("text", "time", "within"),
    [
        ("08:00-10:00", MONDAY + 8 * HOUR, True),
        ("08:00-10:00", MONDAY + 10 * HOUR, False),
        ("08:00-10:00", MONDAY + 8 * HOUR - 0.5, False),
        ("Mon-Fri 22:00-06:00", MONDAY + 5 * HOUR, False),  # the night that began on Sunday
        ("Mon-Fri 22:00-06:00", MONDAY + 22 * HOUR, True),
        ("Mon-Fri 22:00-06:00", MONDAY + 29 * HOUR, True),
        ("Mon-Fri 22:00-06:00", MONDAY + 5 * DAY + 5 * HOUR, True),  # Saturday morning, from Friday
        ("Mon-Fri 22:00-06:00", MONDAY + 5 * DAY + 23 * HOUR, False),
        ("sat-mon 00:00-24:00", MONDAY + 23.9 * HOUR, True),  # round the end of the week
        ("sat-mon 00:00-24:00", MONDAY + DAY, False),
        ("Wed 09:00 - 17:30", MONDAY + 2 * DAY + 17.4 * HOUR, True),
        ("22:00-00:00", MONDAY + 23 * HOUR, True),
        ("22:00-00:00", MONDAY, False),
        ("08:00-10:00, 12:00-13:00", MONDAY + 12.5 * HOUR, True),
        ("08:00-10:00", float("inf"), False),
        ("08:00-10:00", -DAY + 9 * HOUR, True),
        ("", MONDAY, False),
    ],
)
def test_periods_are_of_utc_by_day_and_week(text: str, time: float, within: bool) -> None:
    decision = Excluded(text).temper(wish(6), Observation(time, 4, 4))
    assert decision.executors == (4 if within else 6)


def test_a_period_without_days_is_that_of_monday_to_sunday() -> None:
    daily, named = (periods(text)[0].days for text in ("08:00-10:00", "Mon-Sun 08:00-10:00"))
    assert daily == named == {0, 1, 2, 3, 4, 5, 6}


def test_the_period_is_named() -> None:
    decision = Excluded("08:00-10:00, Mon 12:00-13:00").temper(wish(6), Observation(MONDAY + 12 * HOUR, 4, 4))
    assert decision.reason == "hold: 6 wished (wished), but nothing is rescaled within Mon 12:00-13:00 UTC"


@pytest.mark.parametrize(
    "text",
    ["8-10", "25:00-26:00", "08:00-24:01", "08:60-09:00", "09:00-09:00", "Mo 08:00-10:00", "08:00", "24:00-08:00"],
)
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=f"excluded period '{text}' is not like 08:00-10:00 or Mon-Fri 22:00-06:00"):
        Excluded(f"12:00-13:00, {text}")
    with pytest.raises(InvalidInput, match="excluded period '' is not like"):
        Excluded("12:00-13:00,")
