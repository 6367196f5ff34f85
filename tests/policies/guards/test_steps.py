"""Wishes that are too small, and steps that are too large."""

import pytest

from tidegate.core import Decision, Observation, OperatorSample, Target
from tidegate.policies.guards import DeadBand, StepLimit, Tolerance


def at(requested: int) -> Observation:
    return Observation(0, requested, requested)


def wish(executors: int) -> Decision:
    return Decision(executors, "wished")


@pytest.mark.parametrize(("wished", "expected"), [(26, 26), (27, 27), (28, 30), (30, 30), (32, 30), (33, 33)])
def test_less_than_a_share_is_ignored(wished: int, expected: int) -> None:
    # 0.1 x 30 = 3: 27 and 33 differ by 3, which is not less; 26 differs by 4
    assert Tolerance(0.1).temper(wish(wished), at(30)).executors == expected


def test_a_share_of_few_or_of_none_stops_nothing() -> None:
    assert Tolerance(0.1).temper(wish(5), at(4)) == wish(5)  # 1 >= 0.4
    assert Tolerance(0.1).temper(wish(1), at(0)) == wish(1)


def test_workers_that_change_operators_are_the_difference() -> None:
    samples = (OperatorSample("map", parallelism=10), OperatorSample("window", parallelism=10))
    obs = Observation(0, 20, 20, operators=samples, isolated=True)
    small = Decision(Target(20, {"map": 11, "window": 9}), "uneven")
    large = Decision(Target(20, {"map": 12, "window": 8}), "uneven")
    reason = "hold: map 11, window 9 wished (uneven), but that is less than 10 % from 20"
    assert Tolerance(0.1).temper(small, obs) == Decision(20, reason)  # 1 < 2
    assert Tolerance(0.1).temper(large, obs) is large


def test_the_dead_band_is_phoebes() -> None:
    guard = DeadBand(down=2, up=1)
    executors = [guard.temper(wish(n), at(5)).executors for n in (1, 2, 3, 4, 5, 6, 7)]
    assert executors == [1, 2, 5, 5, 5, 5, 7]
    assert guard.temper(wish(3), at(5)).reason == (
        "hold: 3 wished (wished), but steps of up to 2 fewer than 5 are not taken"
    )
    assert guard.temper(wish(6), at(5)).reason == (
        "hold: 6 wished (wished), but steps of up to 1 more than 5 are not taken"
    )


def test_steps_are_limited_in_both_directions() -> None:
    guard = StepLimit(up=2, factor=1.5, down=0.5)
    assert guard.temper(wish(20), at(4)).executors == 6  # max(4 + 2, 6)
    assert guard.temper(wish(20), at(10)).executors == 15  # max(12, 15)
    assert guard.temper(wish(1), at(5)).executors == 3  # ceil(2.5)
    assert guard.temper(wish(1), at(5)).reason == "3 for now: 1 wished (wished), but a step from 5 goes to 3 at least"
    assert guard.temper(wish(5), at(4)) == wish(5)


def test_no_limit_is_none_and_a_step_of_one_is_always_possible() -> None:
    assert StepLimit(up=0, factor=0, down=0.5).temper(wish(99), at(2)) == wish(99)
    assert StepLimit(up=0, factor=1.5, down=0).temper(wish(1), at(9)) == wish(1)
    assert StepLimit(up=0, factor=1.5).temper(wish(9), at(1)).executors == 2  # floor(1.5) is no step
    assert StepLimit(up=0, factor=1.5).temper(wish(9), at(0)).executors == 1
    assert StepLimit(down=0.1).temper(wish(1), at(4)).executors == 3  # ceil(3.6) is no step
    assert StepLimit(down=0.9).temper(wish(0), at(10)).executors == 1  # 10 x (1 - 0.9) is 0.9999…8 or 1, never 2


def test_isolated_operators_take_steps_of_their_own() -> None:
    samples = (OperatorSample("map", parallelism=2), OperatorSample("window", parallelism=8))
    obs = Observation(0, 10, 10, operators=samples, isolated=True)
    # map min(20, 2 + 3), window max(1, ceil(8 x 0.5)), sink is new and has nothing to step from
    large = Decision(Target(27, {"map": 20, "window": 1, "sink": 6}), "busy")
    decision = StepLimit(up=3, factor=0, down=0.5).temper(large, obs)
    assert (decision.executors, decision.per_operator) == (15, {"map": 5, "window": 4, "sink": 6})
    assert decision.reason == (
        "15 for now: 27 wished (busy), but in a step map from 2 goes to 5 at most, window from 8 goes to 4 at least"
    )
    small = Decision(Target(11, {"map": 4, "window": 7}), "busy")
    assert StepLimit(up=3, factor=0, down=0.5).temper(small, obs) is small
