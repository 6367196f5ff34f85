"""Time after a rescale, whatever it changed."""

from tidegate.core import Decision, Observation, OperatorSample, Target
from tidegate.policies.guards import Cooldown


def at(time: float, requested: int = 4) -> Observation:
    return Observation(time, requested, requested)


def isolated(time: float, requested: int, **parallelism: int) -> Observation:
    samples = tuple(OperatorSample(name, parallelism=n) for name, n in parallelism.items())
    return Observation(time, sum(parallelism.values()), requested, operators=samples, isolated=True)


def wish(executors: int) -> Decision:
    return Decision(executors, "wished")


def each(**shares: int) -> Decision:
    return Decision(Target(sum(shares.values()), shares), "wished")


def test_cooldown_holds_after_a_rescale() -> None:
    guard = Cooldown(up=10, down=60)
    assert guard.temper(wish(6), at(0, requested=4)).executors == 6  # nothing was rescaled yet
    assert guard.temper(wish(8), at(5, requested=6)).executors == 6
    assert guard.temper(wish(8), at(15, requested=6)).executors == 8
    reason = "hold: 2 wished (wished), but the last rescale is 15 s old, 60 s are kept"
    assert guard.temper(wish(2), at(20, requested=6)).reason == reason


def test_operators_that_gave_to_each_other_start_a_cooldown() -> None:
    guard = Cooldown(up=10, down=60)
    assert guard.temper(each(map=3, window=1), isolated(0, 4, map=2, window=2)) == each(map=3, window=1)
    decision = guard.temper(each(map=4, window=1), isolated(5, 4, map=3, window=1))
    assert decision.reason == "hold: 5 wished (wished), but the last rescale is 0 s old, 10 s are kept"
    assert guard.temper(each(map=4, window=1), isolated(15, 4, map=3, window=1)).executors == 5


def test_giving_to_each_other_waits_for_the_longer_of_both() -> None:
    guard = Cooldown(up=10, down=60)
    guard.temper(wish(4), isolated(0, 3, map=1, window=2))
    guard.temper(wish(4), isolated(5, 4, map=2, window=2))
    decision = guard.temper(each(map=3, window=1), isolated(64, 4, map=2, window=2))
    assert decision == Decision(
        4, "hold: map 3, window 1 wished (wished), but the last rescale is 59 s old, 60 s are kept"
    )
    assert guard.temper(each(map=3, window=1), isolated(65, 4, map=2, window=2)) == each(map=3, window=1)


def test_workers_that_are_lost_and_come_back_are_no_rescale() -> None:
    guard = Cooldown(up=60, down=60)
    for time, workers in [(0, 2), (5, 1), (10, 2)]:
        assert guard.temper(wish(6), isolated(time, 4, map=2, window=workers)).executors == 6


def test_workers_that_arrive_late_do_not_start_it_again() -> None:
    guard = Cooldown(up=10)
    guard.temper(wish(6), isolated(0, 4, map=2, window=2))
    guard.temper(wish(6), isolated(5, 6, map=2, window=2))
    assert guard.temper(wish(8), isolated(14, 6, map=4, window=2)).executors == 6
    assert guard.temper(wish(8), isolated(15, 6, map=4, window=2)).executors == 8


def test_a_clock_that_goes_back_makes_it_wait_once_more_and_no_longer() -> None:
    guard = Cooldown(up=10)
    guard.temper(wish(4), at(1000, requested=2))
    guard.temper(wish(6), at(1005, requested=4))
    assert guard.temper(wish(6), at(100, requested=4)).executors == 4
    assert guard.temper(wish(6), at(110, requested=4)).executors == 6
