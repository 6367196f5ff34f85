"""How wishes are changed: holds, totals, and operators that follow the total."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core import Decision, Observation, OperatorSample, Target
from tidegate.policies.guards.adjustments import change, held, moved, shared, spread, stays

TWO = (OperatorSample("map", parallelism=3), OperatorSample("window", parallelism=5))
ISOLATED = Observation(0, 8, 8, operators=TWO, isolated=True)


def test_a_hold_stays_with_what_was_requested_and_names_no_operators() -> None:
    wish = Decision(Target(12, {"map": 4, "window": 8}), "busy", {"cpu": 0.9})
    assert held(wish, ISOLATED, "but no") == Decision(8, "hold: 12 wished (busy), but no", {"cpu": 0.9})


def test_operators_follow_the_total_where_they_are_isolated() -> None:
    # f = (8 - 2) / (16 - 2) = 3/7; map 1 + round(3/7 x 5 = 2.14) = 3, window 1 + round(3/7 x 9 = 3.86) = 5: as it is
    wish = Decision(Target(16, {"map": 6, "window": 10}), "busy")
    assert moved(wish, ISOLATED, 8, "but no").reason == "hold: 16 wished (busy), but no"
    # the same total, spread otherwise: f = 6/14; map 1 + round(4.71) = 6, window 1 + round(1.29) = 2
    wish = Decision(Target(16, {"map": 12, "window": 4}), "busy")
    assert moved(wish, ISOLATED, 8, "but 8 at most") == Decision(
        Target(8, {"map": 6, "window": 2}), "8 for now: 16 wished (busy), but 8 at most"
    )


def test_where_operators_share_executors_their_slots_change_by_the_same_factor() -> None:
    # 9 slots for 3 executors, 2 executors are left: 6 slots; f = 4/7; 1 + round(4/7 x 2), 1 + round(4/7 x 5) = 2, 4
    wish = Decision(Target(3, {"map": 3, "window": 6}), "busy")
    assert moved(wish, Observation(0, 1, 1), 2, "but no").per_operator == {"map": 2, "window": 4}
    assert moved(Decision(Target(0, {"map": 1}), "?"), Observation(0, 1, 1), 2, "but").per_operator == {"map": 1}


def test_each_isolated_operator_keeps_a_worker_whatever_the_total() -> None:
    wish = Decision(Target(16, {"map": 6, "window": 10}), "busy")
    assert moved(wish, ISOLATED, 1, "but no").executors == 2
    assert moved(wish, ISOLATED, 1, "but no").per_operator == {"map": 1, "window": 1}


def test_rounding_is_corrected_at_the_largest() -> None:
    # f = 2/6; 1 + round(2/6 x 2 = 0.67) three times is 6, one too many
    assert spread({"a": 3, "b": 3, "c": 3}, 5) == {"a": 1, "b": 2, "c": 2}
    # f = 2/5; 1 + round(0.4) five times is 5, two too few, and the largest is then the first
    assert spread(dict.fromkeys("abcde", 2), 7) == {"a": 3, "b": 1, "c": 1, "d": 1, "e": 1}


def test_an_operator_with_one_worker_or_none_has_nothing_to_give() -> None:
    # f = (6 - 2) / 3: 1 + round(0), 1 + round(4/3 x 3)
    assert spread({"a": 1, "b": 4}, 6) == {"a": 1, "b": 5}
    assert spread({"a": 0, "b": 4}, 6) == {"a": 1, "b": 5}


@given(st.dictionaries(st.text(max_size=3), st.integers(-2, 10**6), min_size=1, max_size=9), st.integers(-5, 10**7))
def test_what_is_spread_adds_up_and_leaves_one_for_each(shares: dict[str, int], total: int) -> None:
    scaled = spread(shares, total)
    assert sum(scaled.values()) == max(total, len(shares))
    assert min(scaled.values()) >= 1
    assert list(scaled) == list(shares)


def test_operators_that_give_to_each_other_are_a_change() -> None:
    wish = Decision(Target(8, {"map": 5, "window": 3}), "uneven")
    assert change(wish, ISOLATED) == (2, 2)
    assert not stays(wish, ISOLATED)
    assert stays(wish, Observation(0, 8, 8, operators=TWO))  # shared executors: only the total counts
    assert held(wish, ISOLATED, "but no").reason == "hold: map 5, window 3 wished (uneven), but no"


def test_where_executors_are_shared_a_wish_is_its_total() -> None:
    wish = Decision(Target(8, {"map": 5, "window": 3}), "uneven")
    assert held(wish, Observation(0, 8, 8, operators=TWO), "but no").reason == "hold: 8 wished (uneven), but no"


def test_operators_that_nobody_has_seen_yet_are_new() -> None:
    wish = Decision(Target(10, {"map": 3, "window": 5, "sink": 2}), "new")
    assert change(wish, ISOLATED) == (2, 0)
    # none is known: only the totals can be compared
    assert change(wish, Observation(0, 4, 4, isolated=True)) == (6, 0)


def test_numbers_for_each_operator_make_the_total() -> None:
    wish = Decision(Target(4, {"map": 2, "window": 2}), "idle")
    assert shared(wish, ISOLATED, {"map": 2, "window": 5}, "but no") == Decision(
        Target(7, {"map": 2, "window": 5}), "7 for now: 4 wished (idle), but no"
    )
