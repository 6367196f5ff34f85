"""BIDS2: worked allocations, and agreement with the paper's integer program."""

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from tidegate.core import InvalidInput
from tidegate.planner.bids2 import Allocation, IsolatedOperator, best_allocation, fewest_slots

#: one slot is worth 400, 200 and 900 records/s of the source
MAP, JOIN, SINK = IsolatedOperator(1.0, 400.0), IsolatedOperator(0.5, 100.0), IsolatedOperator(0.1, 90.0)
QUERY = (MAP, JOIN, SINK)

positive = st.floats(1e-3, 1e6)
operators = st.lists(st.builds(IsolatedOperator, input_ratio=positive, true_rate=positive), min_size=1, max_size=6)


def test_one_slot_each_is_the_smallest_budget() -> None:
    # min(400, 200, 900)
    assert best_allocation(QUERY, 3) == Allocation((1, 1, 1), 200.0, bottleneck=1)


def test_each_further_slot_goes_to_the_bottleneck() -> None:
    # 4 slots: join 2 * 200 = 400 as the map; 5: map 800; 6: join 600; 7: join 800 as the map; 8: map 1200
    allocations = [best_allocation(QUERY, budget) for budget in range(4, 9)]
    assert [allocation.slots for allocation in allocations] == [(1, 2, 1), (2, 2, 1), (2, 3, 1), (2, 4, 1), (3, 4, 1)]
    assert [allocation.source_rate for allocation in allocations] == [400, 400, 600, 800, 800]


def test_slots_that_are_left_over_are_used_as_in_the_paper_or_saved() -> None:
    # with 5 slots two operators are at 400 and one slot cannot help both
    best = best_allocation(QUERY, 5)
    assert (best.source_rate, best.total) == (400, 5)
    assert fewest_slots(QUERY, best.source_rate) == Allocation((1, 2, 1), 400.0, bottleneck=0)


def test_the_fewest_slots_for_a_rate() -> None:
    # 1000 / 400 = 2.5, 1000 / 200 = 5, 1000 / 900 = 1.1; the join's 5 slots are worth 1000 exactly
    assert fewest_slots(QUERY, 1000.0) == Allocation((3, 5, 2), 1000.0, bottleneck=1)
    # 1000.1 / 200 = 5.0005
    assert fewest_slots(QUERY, 1000.1).slots == (3, 6, 2)
    assert fewest_slots(QUERY, 1e-9).slots == (1, 1, 1)


def test_rounding_does_not_cost_a_slot() -> None:
    # 3 * 0.1 is a little more than 0.3, and 0.3 / 0.1 a little less than 3
    third = IsolatedOperator(1.0, 0.1)
    assert fewest_slots([third], third.source_rate(3)).slots == (3,)
    assert fewest_slots([third], 0.3).slots == (3,)


def test_a_large_budget_is_not_handed_out_slot_by_slot() -> None:
    # per record of the source 1/400 + 1/200 + 1/900 slots: 900,000,000 slots are worth 1.0453e11 records/s
    best = best_allocation(QUERY, 900_000_000)
    assert best.total == 900_000_000
    assert best.source_rate == pytest.approx(9e8 / (1 / 400 + 1 / 200 + 1 / 900), rel=1e-8)


def test_the_rate_is_that_of_the_integer_program_on_300_random_graphs() -> None:
    random = Random(5)
    for number in range(300):
        query = random_query(random)
        budget = random.randint(len(query), len(query) + 12)
        best = best_allocation(query, budget)
        assert best.total == budget
        assert best.source_rate == pytest.approx(integer_program(query, budget), rel=1e-6), f"graph {number}"


def random_query(random: Random) -> list[IsolatedOperator]:
    """Operators of a random graph: each takes in the output of the source or of some operators before it."""
    outputs = [1.0]
    query = []
    for _ in range(random.randint(1, 7)):
        ratio = sum(random.sample(outputs, random.randint(1, len(outputs))))
        outputs.append(ratio * random.choice([0.1, 0.5, 0.92, 1.0, 2.0]))
        query.append(IsolatedOperator(ratio, 10 ** random.uniform(4, 6)))
    return query


def integer_program(query: list[IsolatedOperator], budget: int) -> float:
    """The paper's equations 1 to 4. Variables: the rate in units of one slot's best, then the slots."""
    unit = max(operator.true_rate / operator.input_ratio for operator in query)
    ratios = np.array([[operator.input_ratio / operator.true_rate * unit] for operator in query])
    count = len(query)
    result = milp(
        c=np.array([-1.0, *[0.0] * count]),
        integrality=np.array([0, *[1] * count]),
        bounds=Bounds(np.array([0.0, *[1.0] * count]), np.array([np.inf, *[float(budget)] * count])),
        constraints=[
            LinearConstraint(np.hstack([ratios, -np.eye(count)]), -np.inf, 0),
            LinearConstraint(np.array([[0.0, *[1.0] * count]]), budget, budget),
        ],
        options={"mip_rel_gap": 0},
    )
    return float(result.x[0]) * unit


@given(operators, st.integers(0, 20))
def test_moving_one_slot_gives_no_higher_rate(query: list[IsolatedOperator], spare: int) -> None:
    best = best_allocation(query, len(query) + spare)
    assert best.total == len(query) + spare
    for source in range(len(query)):
        for target in range(len(query)):
            if source != target and best.slots[source] > 1:
                slots = list(best.slots)
                slots[source] -= 1
                slots[target] += 1
                moved = min(operator.source_rate(n) for operator, n in zip(query, slots, strict=True))
                assert moved <= best.source_rate


@given(operators, st.integers(0, 200))
def test_the_fewest_slots_for_the_best_rate_are_within_the_budget(query: list[IsolatedOperator], spare: int) -> None:
    best = best_allocation(query, len(query) + spare)
    fewest = fewest_slots(query, best.source_rate)
    assert fewest.source_rate == best.source_rate
    assert fewest.total <= best.total
    # one slot more than the budget would be needed for any higher rate
    higher = fewest_slots(query, math.nextafter(best.source_rate, math.inf))
    assert higher.total > best.total


@pytest.mark.parametrize(
    ("query", "budget", "sentence"),
    [
        ((), 4, "BIDS2: need at least one operator, got none"),
        (QUERY, 2, r"BIDS2: need 3 \(one per operator\) <= slots <= 1,000,000,000, got a budget of 2"),
        (QUERY, 10**12, "got a budget of 1000000000000"),
        ((MAP, replace(JOIN, true_rate=0.0)), 4, "BIDS2, operator 2: need a finite true rate > 0, got 0"),
        ((MAP, replace(JOIN, true_rate=math.inf)), 4, "operator 2: need a finite true rate > 0, got inf"),
        ((replace(MAP, input_ratio=-1.0),), 4, "operator 1: need a finite input ratio > 0, got -1"),
        ((replace(MAP, input_ratio=math.nan),), 4, "operator 1: need a finite input ratio > 0, got nan"),
        ((IsolatedOperator(1e-300, 1e300),), 4, r"operator 1: a ratio of 1e-300 at 1e\+300 records/s is out of range"),
    ],
)
def test_bad_input_is_refused(query: tuple[IsolatedOperator, ...], budget: int, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        best_allocation(query, budget)


@pytest.mark.parametrize("rate", [0.0, -5.0, math.nan, math.inf])
def test_a_rate_must_be_positive_and_finite(rate: float) -> None:
    with pytest.raises(InvalidInput, match=f"BIDS2: need a finite source rate > 0 records/s, got {rate:g}"):
        fewest_slots(QUERY, rate)


def test_a_rate_beyond_any_cluster_is_refused() -> None:
    sentence = r"1e\+30 records/s would need more than 1,000,000,000 slots of 200 records/s each"
    with pytest.raises(InvalidInput, match=sentence):
        fewest_slots(QUERY, 1e30)
