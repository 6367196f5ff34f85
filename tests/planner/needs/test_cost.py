import pytest

from tidegate.core import InvalidInput
from tidegate.planner.averaging import Interval, SlotsInterval
from tidegate.planner.needs.cost import MonthlyCost, checked_price, cost_of
from tidegate.planner.plan import Plan, Refusal


def test_slots_are_bought_as_executors() -> None:
    plan = Plan(1e5, 14, SlotsInterval(9, 12, 13), Interval(1e5, 1.1e5, 1.2e5), reach=64)
    # 14, 9 and 13 slots are 4, 3 and 4 executors of 4 cores, 73 a month each
    assert cost_of(plan, cores=4, price=0.1) == MonthlyCost(planned=292.0, low=219.0, high=292.0)


def test_a_refusal_has_no_planned_cost() -> None:
    refusal = Refusal(1e5, "too far", SlotsInterval(10, None, None), reach=8)
    assert cost_of(refusal, cores=1, price=1.0) == MonthlyCost(planned=None, low=7300.0, high=None)


@pytest.mark.parametrize("price", [0.0, -0.05, float("inf"), float("nan")])
def test_what_is_no_price(price: float) -> None:
    with pytest.raises(InvalidInput, match=f"^plan: need --price > 0 for an executor-hour, got {price:g}$"):
        checked_price(price)
