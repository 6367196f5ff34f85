from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.placement import Move, affordable, moves, portion, spread

EXECUTORS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4), min_size=1)
HELD = st.lists(st.tuples(st.sampled_from([*"abcdefxy", None])), min_size=1, max_size=40)


@given(HELD, EXECUTORS)
def test_every_partition_is_on_a_present_executor_in_proportion_to_its_slots(
    holders: list[tuple[str | None]], slots: dict[str, int]
) -> None:
    target = spread(holders, slots)
    assert len(target) == len(holders)
    counts, whole = Counter(target), sum(slots.values())
    for executor, count in slots.items():
        assert abs(counts[executor] - len(holders) * count / whole) < 1


@given(HELD, EXECUTORS)
def test_what_is_spread_stays(holders: list[tuple[str | None]], slots: dict[str, int]) -> None:
    target = spread(holders, slots)
    assert moves([(executor,) for executor in target], slots) == []


@given(HELD, EXECUTORS)
def test_no_executor_gives_up_more_than_it_has_to(holders: list[tuple[str | None]], slots: dict[str, int]) -> None:
    # those that are gone or unknown must move; of the others only what exceeds an executor's share
    target, whole = spread(holders, slots), sum(slots.values())
    held = Counter(holder for (holder,) in holders)
    left = Counter(holder for (holder,), executor in zip(holders, target, strict=True) if holder != executor)
    for executor, count in slots.items():
        assert left[executor] <= max(0, held[executor] - int(len(holders) * count / whole))


def test_one_to_four_moves_three_quarters_and_back_to_two_a_half() -> None:
    one = [("1",)] * 12
    four = {"1": 1, "2": 1, "3": 1, "4": 1}
    assert len(moves(one, four)) == 9
    spread_out = [(executor,) for executor in spread(one, four)]
    assert len(moves(spread_out, {"1": 1, "2": 1})) == 6


def test_operators_of_a_partition_are_brought_together() -> None:
    assert moves([("1", "2"), ("1", "1"), ("2", "2"), ("2", "1")], {"1": 1, "2": 1}) == [Move(0, "1"), Move(3, "2")]


def test_an_executor_with_two_slots_gets_twice_as_much() -> None:
    assert Counter(spread([(None,)] * 6, {"1": 2, "2": 1})) == {"1": 4, "2": 2}


def test_a_portion_counts_for_each_executor() -> None:
    wanted = [Move(k, "1" if k < 3 else "2") for k in range(6)]
    assert [move.partition for move in portion(wanted, each=2)] == [0, 1, 3, 4]


def test_how_many_partitions_a_batch_can_load() -> None:
    # 5 s at 50 MB/s are 250 MB: two partitions of 100 MB, and at least one of any size
    assert [affordable(size, 5.0, 50e6) for size in (100e6, 250e6, 251e6, 9e9)] == [2, 1, 1, 1]
    assert affordable(None, 5.0, 50e6) > 1000
