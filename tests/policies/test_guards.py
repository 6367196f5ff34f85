import pytest

from tidegate.core import Decision, InvalidInput, Observation
from tidegate.policies import Cooldown, Stabilisation, StepLimit


def at(time: float, requested: int = 4) -> Observation:
    return Observation(time, requested, requested)


def wish(executors: int) -> Decision:
    return Decision(executors, "wished")


def test_down_waits_for_the_largest_of_the_window_and_up_is_immediate() -> None:
    guard = Stabilisation(down=30)
    tempered = [
        guard.temper(wish(n), at(t)).executors for t, n in [(0, 4), (10, 3), (20, 2), (31, 2), (41, 2), (51, 2)]
    ]
    # 4 expires after 30 s, then 3, then 2 is all there is
    assert tempered == [4, 4, 4, 3, 2, 2]
    assert guard.temper(wish(9), at(60)).executors == 9


def test_up_may_have_a_window_of_its_own() -> None:
    guard = Stabilisation(down=0, up=30)
    assert [guard.temper(wish(n), at(t)).executors for t, n in [(0, 4), (10, 6), (20, 8), (35, 8)]] == [4, 4, 4, 6]


def test_tempering_twice_gives_one_answer_and_a_clock_that_goes_back_is_survived() -> None:
    guard = Stabilisation(down=30)
    guard.temper(wish(4), at(100))
    assert guard.temper(wish(1), at(110)) == guard.temper(wish(1), at(110))
    assert guard.temper(wish(1), at(5)).executors == 1  # nothing is known of the time before


def test_steps_are_limited_in_both_directions() -> None:
    guard = StepLimit(up=2, factor=1.5, down=0.5)
    assert guard.temper(wish(20), at(0, requested=4)).executors == 6  # max(4 + 2, 6)
    assert guard.temper(wish(20), at(0, requested=10)).executors == 15  # max(12, 15)
    assert guard.temper(wish(1), at(0, requested=5)).executors == 3  # ceil(2.5)
    assert guard.temper(wish(5), at(0, requested=4)) == wish(5)


def test_cooldown_holds_after_a_rescale() -> None:
    guard = Cooldown(up=10, down=60)
    assert guard.temper(wish(6), at(0, requested=4)).executors == 6  # nothing was rescaled yet
    assert guard.temper(wish(8), at(5, requested=6)).executors == 6
    assert guard.temper(wish(8), at(15, requested=6)).executors == 8
    assert guard.temper(wish(2), at(20, requested=6)).reason.startswith(
        "hold: 2 wished (wished), but the last rescale is 15 s old"
    )


def test_bad_windows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="need windows >= 0 s, got down -1"):
        Stabilisation(down=-1)
