import json
from dataclasses import replace

from tidegate.planner.averaging import Interval, SlotsInterval
from tidegate.planner.needs.day import AutoscaledDay, Outcome
from tidegate.planner.needs.description import describe_needs, plain_needs
from tidegate.planner.needs.needs import Needs, TracePeak
from tidegate.planner.needs.peak import Peak
from tidegate.planner.needs.recovery import RecoveryNeed, RecoveryTarget
from tidegate.planner.plan import Plan, Refusal

RATE = Plan(2e5, 13, SlotsInterval(11, 12, 12), Interval(2e5, 2.1e5, 2.2e5), reach=64)
PEAK = Plan(2.12e5, 14, SlotsInterval(12, 12, 13), Interval(2.15e5, 2.2e5, 2.3e5), reach=64)
HEADROOM = Plan(3.4e5, 22, SlotsInterval(20, 20, 21), Interval(3.4e5, 3.5e5, 3.7e5), reach=64)
DAY = AutoscaledDay(
    policy="hpa-cpu",
    seconds=86_400.0,
    minimum=1,
    maximum=22,
    slo=10.0,
    # 22 * 86,400 = 1,900,800
    static=Outcome(mean=22.0, most=22, worker_seconds=1_900_800.0, late=0.0),
    scaled=Outcome(mean=8.8, most=15, worker_seconds=760_320.0, late=0.004),
    weak=Outcome(mean=9.5, most=16, worker_seconds=820_800.0, late=0.006),
    strong=Outcome(mean=8.2, most=14, worker_seconds=708_480.0, late=0.003),
)
NEEDS = Needs(
    cores=1,
    rate=RATE,
    peak=TracePeak("traffic.parquet", Peak(2.12e5, 30.0, 50_000.0), PEAK),
    recovery=RecoveryNeed(
        RecoveryTarget(180.0, 30.0, 4.0), 2.12e5, 3.4e5, HEADROOM, Interval(149.4, 165.6, 179.5)
    ),
    day=DAY,
)  # fmt: skip


def test_a_sentence_for_each_need() -> None:
    # an executor costs 0.05 * 730 = 36.50 a month
    assert list(describe_needs(NEEDS, price=0.05)) == [
        "200 k records/s: 13 slots (the fewest that could do: 11 to 12), 474 a month (402 to 438)",
        "peak of traffic.parquet: 212 k records/s for 30 s: 14 slots (the fewest that could do: 12 to 13), "
        "511 a month (438 to 474)",
        "recovery within 180 s of a failure at 212 k records/s, 30 s of it outage: 22 slots (the fewest that could "
        "do: 20 to 21), 803 a month (730 to 766)",
        "  they recover in 166 s (149 s to 180 s), with 340 k records/s while the backlog is worked off",
        "autoscaled by hpa-cpu, 1 to 22 executors over 24:00:00: 8.8 executors on average (8.2 to 9.5), "
        "321 a month (299 to 347)",
        "  60 % less than 22 all the time for 803 a month; records later than 10 s: 0.4 % (0.3 % to 0.6 %), "
        "0 % with 22 all the time",
    ]


def test_without_a_price_there_are_no_costs() -> None:
    assert not any("month" in line for line in describe_needs(NEEDS))
    assert plain_needs(NEEDS)["rate"]["cost"] is None
    assert plain_needs(NEEDS)["day"]["cost"] is None


def test_refusals_are_said_and_notes_come_last() -> None:
    refused = Refusal(2e5, "too far", SlotsInterval(90, None, None), reach=64)
    needs = Needs(cores=1, rate=refused, notes=("no autoscaled day: there is no plan to scale within",))
    assert list(describe_needs(needs, price=0.05)) == [
        "200 k records/s: no plan: too far",
        "no autoscaled day: there is no plan to scale within",
    ]


def test_bounds_that_are_not_known() -> None:
    open_ended = replace(RATE, interval=SlotsInterval(12, 13, None))
    assert list(describe_needs(Needs(cores=1, rate=open_ended), price=0.05)) == [
        "200 k records/s: 13 slots (the fewest that could do: 12 or more), 474 a month (438 or more)"
    ]


def test_bounds_that_are_alike_are_said_once() -> None:
    certain = Plan(2e5, 8, SlotsInterval(8, 8, 8), Interval(2e5, 2.1e5, 2.2e5), reach=64)
    assert list(describe_needs(Needs(cores=1, rate=certain), price=0.05)) == [
        "200 k records/s: 8 slots (the fewest that could do: 8), 292 a month"
    ]
    calm = replace(DAY, scaled=replace(DAY.scaled, late=0.0), weak=DAY.static, strong=DAY.static)
    last = list(describe_needs(replace(NEEDS, day=calm)))[-1]
    assert last.endswith("; records later than 10 s: 0 %, 0 % with 22 all the time")


def test_a_policy_that_needs_more_than_static_executors() -> None:
    day = replace(DAY, scaled=replace(DAY.scaled, worker_seconds=1.1 * 1_900_800.0, late=None))
    last = list(describe_needs(replace(NEEDS, day=day)))[-1]
    assert last.startswith("  10 % more than 22 all the time; records later than 10 s: unknown")


def test_plain_values_can_be_written() -> None:
    assert NEEDS.recovery is not None
    infinite = replace(NEEDS.recovery, seconds=Interval(149.4, 165.6, float("inf")))
    plain = plain_needs(replace(NEEDS, recovery=infinite), price=0.05)
    assert json.loads(json.dumps(plain, allow_nan=False)) == json.loads(json.dumps(plain))
    assert plain["peak"]["rate"] == 2.12e5
    assert plain["peak"]["plan"]["cost"] == {"planned": 511.0, "low": 438.0, "high": 474.5}
    assert plain["recovery"]["seconds"] == {"low": 149.4, "median": 165.6, "high": None}
    assert plain["day"]["executors"] == {"low": 8.2, "high": 9.5}
    assert plain["day"]["cost"] == {"planned": 321.2, "low": 299.3, "high": 346.75, "static": 803.0}
    assert plain["notes"] == []


def test_the_largest_plan_bounds_the_executors() -> None:
    assert NEEDS.largest == HEADROOM
    assert replace(NEEDS, recovery=None).largest == PEAK
    refused = Refusal(2e5, "too far", SlotsInterval(None, None, None), reach=64)
    assert Needs(cores=1, rate=refused).largest is None
