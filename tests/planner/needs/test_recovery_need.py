import math

import pytest

from tidegate.capacity.recovery import by_terms
from tidegate.core import Forecast, InvalidInput
from tidegate.planner.averaging import AveragedCapacity, average
from tidegate.planner.measurement import Measurement
from tidegate.planner.needs.recovery import RecoveryTarget, plan_recovery
from tidegate.planner.plan import Plan, Refusal, plan


@pytest.fixture(scope="module")
def capacity() -> AveragedCapacity:
    return average([Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16, 32)])


def test_the_capacity_that_a_recovery_takes() -> None:
    target = RecoveryTarget(within=200.0, outage=100.0, trigger=10.0)
    # 200 s and 2 triggers of 10 s have 220 s of records, for which there are 100 s
    assert target.capacity_for(50_000.0) == 110_000.0
    # 6,000,000 records at 110,000 - 50,000 a second: 100 s after the outage
    assert target.seconds(110_000.0, 50_000.0) == 200.0
    assert target.seconds(50_000.0, 50_000.0) == math.inf


def test_it_is_what_the_policy_phoebe_expects() -> None:
    target = RecoveryTarget(within=200.0, outage=100.0, trigger=10.0)
    # the sum of Phoebe's terms, with the records of two triggers as those since the last checkpoint
    assert by_terms(110_000.0, Forecast(1.0, (50_000.0,)), 20 * 50_000.0, 100.0) == pytest.approx(200.0)
    assert target.seconds(110_000.0, 50_000.0) == 200.0


def test_the_plan_is_that_of_the_needed_capacity(capacity: AveragedCapacity) -> None:
    target = RecoveryTarget(within=200.0, outage=100.0, trigger=10.0)
    need = plan_recovery(capacity, 50_000.0, target)
    assert need.capacity == 110_000.0
    assert need.answer == plan(capacity, 110_000.0)
    assert isinstance(need.answer, Plan)
    assert need.seconds is not None
    # at the bounds of the planned slots' capacity: the lower one still recovers in time
    assert need.seconds.low < need.seconds.median < need.seconds.high <= 200.0
    assert need.seconds.high == target.seconds(need.answer.capacity.low, 50_000.0)


def test_an_outage_that_is_longer_than_the_recovery(capacity: AveragedCapacity) -> None:
    need = plan_recovery(capacity, 50_000.0, RecoveryTarget(within=60.0, outage=110.0, trigger=5.0))
    assert isinstance(need.answer, Refusal)
    assert need.capacity is None
    # 32 * 32 slots; 120 s of 50,000 records/s at their lower bound of 948,000/s, less 50,000: 6.7 s
    assert need.answer.reach == 1024
    assert need.answer.reason == (
        "no number of slots recovers within 60 s, as the outage alone lasts 110 s; "
        "the best possible is 117 s, with 1,024 slots, the most within reach"
    )


def test_more_than_is_within_reach(capacity: AveragedCapacity) -> None:
    # 121 s of records in 1 s
    need = plan_recovery(capacity, 50_000.0, RecoveryTarget(within=111.0, outage=110.0, trigger=5.0))
    assert need.capacity == 6_050_000.0
    assert isinstance(need.answer, Refusal)
    assert need.answer.reason == (
        "it takes 6.05 M records/s, and 6.05 M records/s need more slots than can be predicted: measurements with up "
        "to 32 slots support predictions up to 1,024 slots, 32 times as many; "
        "the best possible is 117 s, with 1,024 slots, the most within reach"
    )


def test_a_peak_that_is_out_of_reach(capacity: AveragedCapacity) -> None:
    need = plan_recovery(capacity, 5e6, RecoveryTarget(within=180.0, outage=110.0, trigger=5.0))
    assert isinstance(need.answer, Refusal)
    assert need.answer.reason.endswith("1,024 slots, the most within reach, do not even keep up with 5 M records/s")


def test_measurements_that_support_nothing() -> None:
    capacity = average([Measurement(s, 512, r) for s, r in ((4, 900.0), (4, 4000.0), (8, 1500.0), (8, 9000.0))])
    need = plan_recovery(capacity, 1e5, RecoveryTarget())
    assert isinstance(need.answer, Refusal)
    assert "within reach" not in need.answer.reason


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"within": 0.0}, "recovery: need 0 < within, got 0"),
        ({"within": -3.0}, "recovery: need 0 < within, got -3"),
        ({"outage": -1.0}, "recovery: need 0 <= outage, got -1"),
        ({"within": math.nan}, "recovery: need 0 < within, got nan"),
    ],
)
def test_what_is_no_target(values: dict[str, float], text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        RecoveryTarget(**values)
    assert str(refused.value) == text
