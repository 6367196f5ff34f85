from dataclasses import replace

import pytest

from tidegate.core import Decision, ExecutorSample, InvalidInput, Limits, Observation
from tidegate.policies import Daedalus
from tidegate.policies.daedalus import Downtime
from tidegate.policies.forecast_fallback import ForecastWithFallback


def obs(time: float, requested: int, rate: float | None = 2500.0, **more: float) -> Observation:
    return Observation(time, requested, requested, arrival_rate=rate, processing_rate=rate, **more)  # type: ignore[arg-type]


def ready(requested: int, rate: float = 2500.0, **options: float) -> Daedalus:
    """One that knows 1000/s for each executor and has seen a level load for two minutes."""
    policy = Daedalus(limits=Limits(1, 8), **options)  # type: ignore[arg-type]
    policy.capacity._seen = {n: 1000.0 * n for n in range(1, 9)}
    for t in range(120):
        policy.observe(obs(t, requested, rate))
    return policy


def decided(policy: Daedalus, seen: Observation) -> Decision:
    policy.observe(seen)
    return policy.decide(seen)


def test_the_smallest_number_that_can_do_the_load_and_recover_in_time() -> None:
    # 3 do 3000/s. Down for 30 s with 10 s to do again: 40 x 2500 = 100,000 at 500/s to spare: 30 + 200 s
    decision = ready(1).decide(obs(120, 1))
    assert decision.executors == 3
    assert decision.evidence["recovery"] == pytest.approx(230, rel=1e-3)
    assert decision.reason == "3 can do 3k/s and recover in 230 s; 2.5k/s arrive, 2.5k/s expected"
    # within 180 s only 4 can: 100,000 at 1500/s: 30 + 66.7 s
    assert ready(1, target_recovery=180).decide(obs(120, 1)).executors == 4


def test_records_that_are_behind_must_be_worked_off_too() -> None:
    # 100,000 more at 500/s: 430 s; 1,000,000 more with 4: 1,100,000 at 1500/s is 763 s, with 5 470 s
    assert ready(1).decide(obs(120, 1, backlog=100_000)).evidence["recovery"] == pytest.approx(430, rel=1e-3)
    assert ready(1).decide(obs(120, 1, backlog=1_000_000)).executors == 5


def test_it_stays_where_the_current_number_is_the_smallest_valid_one() -> None:
    decision = ready(3).decide(obs(120, 3))
    assert (decision.executors, decision.reason) == (3, "hold: 3 can do 3k/s and recover in 230 s, 2.5k/s arrive")


def test_fewer_only_when_nothing_is_behind() -> None:
    # down: 25 x 2500 = 62,500 at 500/s: 15 + 125 s
    assert ready(6).decide(obs(120, 6)).evidence["recovery"] == pytest.approx(140, rel=1e-3)
    assert ready(6).decide(obs(120, 6)).executors == 3
    # 3500 records are behind: more than 3 do in a second, not more than 4 do; 6 do 6000, as the released code compares
    assert ready(6).decide(obs(120, 6, backlog=3500)).executors == 4
    assert ready(6, current_lag=1).decide(obs(120, 6, backlog=3500)).executors == 3


def test_after_a_rescale_it_leaves_the_query_alone_and_then_does_only_what_must_be() -> None:
    policy = ready(6)
    assert decided(policy, obs(120, 4)).reason.startswith("hold: rescaled 0 s ago, 180 s are left to it")
    for t in range(121, 301):
        policy.observe(obs(t, 4))
    # at 180 s: 4 are enough until the next loop, although 3 would do
    assert policy.decide(obs(301, 4)).reason == "hold: rescaled 181 s ago, and it is enough until the next loop"
    for t in range(301, 721):
        policy.observe(obs(t, 4))
    assert policy.decide(obs(721, 4)).executors == 3


def test_an_emergency_does_not_wait_for_ten_minutes() -> None:
    policy = ready(6)
    for t in range(120, 310):
        policy.observe(obs(t, 2))
    assert policy.decide(obs(310, 2)).executors == 3  # 2000/s for 2500/s


def test_where_no_number_will_do_it_takes_all() -> None:
    decision = ready(2, rate=9000).decide(obs(120, 2, rate=9000))
    assert (decision.executors, decision.reason) == (8, "no number recovers in 600 s: 9k/s arrive, 9k/s expected")


def test_a_rising_load_is_met_before_it_is_there() -> None:
    policy = Daedalus(limits=Limits(1, 8), forecast=ForecastWithFallback(forecaster="linear"))
    policy.capacity._seen = {n: 1000.0 * n for n in range(1, 9)}
    for t in range(120):
        policy.observe(obs(t, 1, rate=1000 + 2.0 * t))
    # 1240/s now, and 2/s more each second: 2994/s at the end of 15 minutes, for which 2 are not enough
    assert policy.decide(obs(120, 1, rate=1240)).executors == 3
    # but who has 2 already stays: they can do what comes until they would have recovered
    assert policy.decide(obs(120, 2, rate=1240)).reason.startswith("hold: 2 can do 2k/s")


def test_unknown_means_hold() -> None:
    policy = Daedalus(limits=Limits(1, 8))
    assert decided(policy, obs(0, 2, rate=None)).reason == "hold: no arrivals seen yet"
    for t in range(1, 100):
        policy.observe(obs(t, 2))
    assert policy.decide(obs(100, 2)).reason.startswith("hold: the capacity of an executor is not known yet")


@pytest.mark.parametrize(("stands_still", "downtime"), [(5, 29.0), (300, 31.0)])
def test_the_downtime_follows_what_was_measured(stands_still: int, downtime: float) -> None:
    policy = ready(2)
    for t in range(120, 600):
        processed = 0.0 if t < 120 + stands_still else 2500.0
        policy.observe(replace(obs(t, 3), processing_rate=processed))
    # predicted: 230 s. Recovered earlier: a second less; later: a second more
    assert (policy._downtime.up, policy._downtime.down) == (downtime, 15.0)


@pytest.mark.parametrize(("stands_still", "downtime"), [(5, 14.0), (400, 16.0)])
def test_a_scale_in_has_a_downtime_of_its_own(stands_still: int, downtime: float) -> None:
    policy = ready(6)
    for t in range(120, 700):
        processed = 0.0 if t < 120 + stands_still else 2500.0
        policy.observe(replace(obs(t, 4), processing_rate=processed))
    assert (policy._downtime.up, policy._downtime.down) == (30.0, downtime)


def test_a_downtime_is_not_negative_and_depends_on_the_direction() -> None:
    downtime = Downtime(up=0.5, down=0.25)
    assert [downtime.of(4, n) for n in (3, 4, 5)] == [0.25, 0.5, 0.5]
    downtime.learn(down=True, longer=False)
    downtime.learn(down=False, longer=False)
    assert downtime == Downtime(0.0, 0.0)
    downtime.learn(down=True, longer=True)
    assert downtime == Downtime(0.0, 1.0)


def test_each_rescale_is_judged_once_and_by_its_own_recovery() -> None:
    policy = ready(2)
    for t in range(120, 600):
        policy.observe(obs(t, 3))
    assert policy._downtime.up == 29
    policy.observe(obs(600, 4))
    assert policy._downtime.up == 29  # what was measured is the recovery before this one
    for t in range(601, 700):
        policy.observe(obs(t, 4))
    assert policy._downtime.up == 28


def test_it_learns_the_capacity_from_what_it_sees() -> None:
    policy = Daedalus(limits=Limits(1, 8))
    for t in range(130):
        executors = (ExecutorSample("0", cpu=0.5, rate=500.0, uptime=999.0),)
        policy.observe(replace(obs(t, 1, rate=500.0), per_executor=executors))
    assert policy.capacity.capacity(3) == pytest.approx(3000)


def test_without_a_grace_a_rescale_is_left_alone_if_it_is_enough() -> None:
    policy = ready(6, grace=0)
    assert decided(policy, obs(120, 4)).reason == "hold: rescaled 0 s ago, and it is enough until the next loop"


def test_the_largest_number_may_be_the_one() -> None:
    # 8 do 8000/s: 40 x 7500 at 500/s to spare: 30 + 600 s
    decision = ready(1, rate=7500, target_recovery=700).decide(obs(120, 1, rate=7500))
    assert decision.reason == "8 can do 8k/s and recover in 630 s; 7.5k/s arrive, 7.5k/s expected"


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match="policy daedalus: need 0 < target-recovery, got 0"):
        Daedalus(target_recovery=0)
