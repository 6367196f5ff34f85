"""Operators, their slots, and the executors that provide them."""

import pytest

from tidegate.core import ExecutorSample, Observation, OperatorSample
from tidegate.policies.operators import cores, decision, fold, operators, whole

STAGES = (
    OperatorSample("map", (), 8, rate_in=100.0, rate_out=50.0, busy=1.0, cpu=0.6),
    OperatorSample("sum", ("map",), 2, busy=3.0, cpu=None),
)
TWO_CORES = (ExecutorSample("1", cores=1), ExecutorSample("2", cores=2))


def test_on_spark_stages_share_the_slots_by_their_work() -> None:
    obs = Observation(0, 3, 5, operators=STAGES, per_executor=TWO_CORES)
    assert cores(obs) == 2
    assert cores(Observation(0, 3, 5)) == 1
    first, second = operators(obs)
    assert (first.slots, second.slots) == (1.5, 4.5)  # a quarter and three quarters of 3 x 2
    assert (first.cpu, second.cpu) == (pytest.approx(0.4), None)  # 0.6 of 1.5 slots
    assert (first.source, second.source) == (True, False)
    assert (first.rate_in, first.rate_out, first.busy) == (100, 50, 1)


def test_without_work_they_share_evenly_and_without_slots_there_is_no_cpu() -> None:
    idle = (OperatorSample("map", busy=0.0, cpu=0.0), OperatorSample("sum", ("map",)))
    assert [operator.slots for operator in operators(Observation(0, 3, 3, operators=idle))] == [1.5, 1.5]
    assert operators(Observation(0, 0, 3, operators=idle))[0].cpu is None
    assert operators(Observation(0, 3, 3)) == ()


def test_isolated_operators_have_their_own() -> None:
    first, second = operators(Observation(0, 10, 10, operators=STAGES, isolated=True, per_executor=TWO_CORES))
    assert (first.slots, second.slots, first.cpu) == (8, 2, 0.075)


def test_slots_are_added_up_and_rounded_once_where_they_are_shared() -> None:
    needs = {"map": 1.2, "sum": 2.6}
    assert fold(Observation(0, 2, 2), needs) == 4  # 3.8
    assert fold(Observation(0, 2, 2, per_executor=TWO_CORES), needs) == 2  # 3.8 / 2
    assert fold(Observation(0, 2, 2, isolated=True), needs) == 5  # 2 + 3
    found = decision(Observation(0, 2, 2), needs, "why", {"x": 1.0})
    assert (found.executors, found.per_operator, found.reason, found.evidence) == (
        4, {"map": 2, "sum": 3}, "why", {"x": 1.0},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("need", "number"),
    [
        (0.0, 1),
        (-3.0, 1),
        (0.2, 1),
        (1.0, 1),
        (2.0, 2),
        (2.0000000001, 2),
        (2.00000001, 3),
        (2.1, 3),
        (2.9999999999, 3),
    ],
)
def test_rounding_up_ignores_the_errors_of_arithmetic(need: float, number: int) -> None:
    assert whole(need) == number
