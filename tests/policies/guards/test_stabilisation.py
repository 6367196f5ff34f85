"""Windows over the last wishes, for the total and for each operator."""

import pytest

from tidegate.core import Decision, InvalidInput, Observation, OperatorSample, Target
from tidegate.policies.guards import Stabilisation
from tidegate.policies.guards.peaks import Peaks, largest


def at(time: float, requested: int = 4) -> Observation:
    return Observation(time, requested, requested)


def isolated(time: float, **parallelism: int) -> Observation:
    total = sum(parallelism.values())
    samples = tuple(OperatorSample(name, parallelism=n) for name, n in parallelism.items())
    return Observation(time, total, total, operators=samples, isolated=True)


def wish(executors: int) -> Decision:
    return Decision(executors, "wished")


def each(**shares: int) -> Decision:
    return Decision(Target(sum(shares.values()), shares), "wished")


def test_down_waits_for_the_largest_of_the_window_and_up_is_immediate() -> None:
    guard = Stabilisation(down=30)
    tempered = [
        guard.temper(wish(n), at(t)).executors for t, n in [(0, 4), (10, 3), (20, 2), (31, 2), (41, 2), (51, 2)]
    ]
    # 4 expires after 30 s, then 3, then 2 is all there is
    assert tempered == [4, 4, 4, 3, 2, 2]
    assert guard.temper(wish(9), at(60)).executors == 9


def test_the_windows_are_those_of_kubernetes_unless_others_are_given() -> None:
    guard = Stabilisation()
    # 4 expires after 300 s; up is immediate
    assert [guard.temper(wish(n), at(t)).executors for t, n in [(0, 4), (299, 1), (300, 1), (301, 9)]] == [4, 4, 1, 9]


def test_a_window_may_be_shorter_than_a_second() -> None:
    windows: dict[str, Peaks] = {}
    assert [largest(windows, "", value, time, age=0.5) for time, value in [(0.0, 4), (0.4, 3), (0.5, 3)]] == [4, 4, 3]
    assert largest({}, "", 2, 0.0, age=0) == 2


def test_a_wish_at_the_same_time_is_not_another_one() -> None:
    windows: dict[str, Peaks] = {}
    # at second 3, for a wish of 3: times are compared with times
    assert [largest(windows, "", value, time, age=10) for time, value in [(0.0, 3), (3.0, 2), (3.0, 1)]] == [3, 3, 3]
    assert windows == {"": Peaks([(0.0, 3), (3.0, 2)])}


def test_windows_are_not_negative() -> None:
    for windows in ({"down": -1.0}, {"up": -1.0}):
        with pytest.raises(InvalidInput, match="guard stabilisation: need windows >= 0 s"):
            Stabilisation(**windows)


def test_where_executors_are_shared_the_total_has_the_window() -> None:
    guard = Stabilisation(down=30)
    guard.temper(each(map=3, window=1), at(0))
    decision = guard.temper(each(map=1, window=1), at(10))
    assert decision.reason == "hold: 2 wished (wished), but 4 were needed within the last 30 s"


def test_up_may_have_a_window_of_its_own() -> None:
    guard = Stabilisation(down=0, up=30)
    decisions = [guard.temper(wish(n), at(t)) for t, n in [(0, 4), (10, 6), (20, 8), (35, 8)]]
    assert [decision.executors for decision in decisions] == [4, 4, 4, 6]
    assert decisions[2].reason == "hold: 8 wished (wished), but 4 would have done within the last 30 s"
    assert decisions[3].reason == "6 for now: 8 wished (wished), but 6 would have done within the last 30 s"


def test_tempering_twice_gives_one_answer_and_a_clock_that_goes_back_is_survived() -> None:
    guard = Stabilisation(down=30)
    guard.temper(wish(4), at(100))
    assert guard.temper(wish(1), at(110)) == guard.temper(wish(1), at(110))
    assert guard.temper(wish(1), at(5)).executors == 1  # nothing is known of the time before


def test_bad_windows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="need windows >= 0 s, got down -1"):
        Stabilisation(down=-1)


def test_isolated_operators_have_windows_of_their_own() -> None:
    guard = Stabilisation(down=30)
    assert guard.temper(each(map=3, window=1), isolated(0, map=3, window=4)) == each(map=3, window=1)
    # map: max(3, 1) = 3; window: max(1, 4) = 4: as it is
    decision = guard.temper(each(map=1, window=4), isolated(10, map=3, window=4))
    assert decision == Decision(7, "hold: 5 wished (wished), but map needed 3 instead of 1 within the last 30 s")
    # map: the 3 of 0 s is 30 s old: max(1, 1); window: max(4, 2) = 4
    decision = guard.temper(each(map=1, window=2), isolated(30, map=3, window=4))
    assert (decision.executors, decision.per_operator) == (5, {"map": 1, "window": 4})
    assert decision.reason == "5 for now: 3 wished (wished), but window needed 4 instead of 2 within the last 30 s"


def test_an_operator_gets_the_largest_of_its_window_even_if_it_never_had_it() -> None:
    guard = Stabilisation(down=300)
    guard.temper(each(map=5), isolated(0, map=1))
    assert guard.temper(each(map=2), isolated(15, map=1)).per_operator == {"map": 5}  # DEBS'24: max(5, 2)
    guard = Stabilisation(down=300, up=60)
    guard.temper(each(map=5), isolated(0, map=1))
    assert guard.temper(each(map=2), isolated(15, map=1)) == each(map=2)  # min(max(1, 2), 5)


def test_an_operator_has_one_worker_at_least_and_may_be_new() -> None:
    decision = Stabilisation(down=30).temper(each(map=0, window=2), isolated(0, map=1))
    assert (decision.executors, decision.per_operator) == (3, {"map": 1, "window": 2})


def test_memory_holds_what_may_yet_be_the_largest_and_no_more() -> None:
    windows: dict[str, Peaks] = {}
    for time in range(1000):
        largest(windows, "map", time % 7, time, age=900)
    # the last 6 was at 993 = 7 x 141 + 6; after it 0 gave way to 1, and so on to the 5 of 999
    assert windows == {"map": Peaks([(993, 6), (999, 5)])}
    largest(windows, "window", 1, 5000, age=900)
    assert list(windows) == ["window"]  # an operator that is gone is forgotten
