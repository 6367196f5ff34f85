"""Phoebe and TWRES, which need a profile."""

from typing import Any

import pytest

from tidegate.core import Decision, Event, Forecast, InvalidInput, Limits, Observation
from tidegate.policies import Phoebe, Twres
from tidegate.policies.phoebe import Candidate, projected
from tidegate.policies.profiled import Profiled

#: 1000/s for each executor; latency 1 s until 90 % of that, 30 s beyond
PROFILE = """executors,rate,latency,saturated
2,500,1.0,0
2,1800,1.0,0
2,1990,30.0,0
2,2000,99.0,1
4,500,1.0,0
4,3600,1.0,0
4,3960,30.0,0
4,4000,99.0,1
"""


def obs(time: float, requested: int, rate: float = 2500.0, latency: float = 1.0, **more: Any) -> Observation:
    figures = {"arrival_rate": rate, "processing_rate": rate, "backlog": 0.0, "latency": latency, **more}
    return Observation(time, requested, requested, **figures)


def seen(policy: Phoebe | Twres, requested: int, rate: float = 2500.0, latency: float = 1.0) -> None:
    for t in range(120):
        policy.observe(obs(t, requested, rate, latency))


def phoebe(rate: float = 2500.0, **options: float) -> Phoebe:
    policy = Phoebe(limits=Limits(1, 8), profiled=Profiled(PROFILE, forecaster="last"), **options)  # type: ignore[arg-type]
    seen(policy, 4, rate)
    return policy


def test_phoebe_takes_the_smallest_number_that_is_normal_and_recovers_in_time() -> None:
    # 3: 2500/s is 83 % of 3000/s, a normal latency. 120 x 2500 = 300,000 at 3000/s: terms 100, 83.3, ... sum to
    # 100 / (1 - 5/6) = 600 s: too long. 8: 300,000 / 8000 = 37.5 / (1 - 5/16) = 54.5 + 110 = 165 s; 7: 66.7 + 110
    # = 177 s; 6: 85.7 + 110 = 196 s
    decision = phoebe().decide(obs(120, 4))
    assert decision.executors == 7
    assert decision.evidence["recovery"] == pytest.approx(176, abs=1)
    assert decision.reason.startswith("smallest that is valid: 7 recover in 176 s with 1.0 s latency at 2500/s")
    # with time enough the latency decides: 1 s at 90 % of the capacity, 30 s at 99.5 %, and the cut between the
    # clusters at their geometric mean, 5.5 s, which is at 95 %
    assert phoebe(target_recovery=7200).decide(obs(120, 4)).executors == 3
    assert phoebe(2950, target_recovery=7200).decide(obs(120, 4)).executors == 4  # 98 % of 3


def test_phoebe_takes_the_largest_where_none_is_valid() -> None:
    decision = phoebe(7900).decide(obs(120, 4))
    assert decision.executors == 8
    assert decision.reason.startswith("none is valid within 180 s")


class FixedModels:
    """Models with fixed results."""

    def __init__(self, *candidates: Candidate) -> None:
        self.candidates = list(candidates)

    def judge(self, numbers: object, ahead: object, rate: float) -> list[Candidate]:
        return self.candidates


def test_the_released_fallback_is_the_larger_of_the_quickest_and_the_least_latent() -> None:
    # quickest within 5 %: 200 and 205, the smaller number is 5; lowest latency within 5 %: 1.0 and 1.04, that is 3
    models = FixedModels(
        Candidate(2, 900, 9.0, False), Candidate(3, 500, 1.04, True), Candidate(5, 205, 1.5, True),
        Candidate(6, 200, 1.0, True),
    )  # fmt: skip
    for released, number in ((0, 6), (1, 5)):
        policy = Phoebe(limits=Limits(1, 8), models=models, released_fallback=released)
        seen(policy, 4)
        assert policy.decide(obs(120, 4)).executors == number


def test_in_the_released_fallback_five_per_cent_are_a_tie() -> None:
    policy = Phoebe(limits=Limits(1, 8), released_fallback=1)

    def chosen(*numbers: tuple[int, float, float]) -> int:
        return policy._fallback(
            [Candidate(n, recovery, latency, normal=False) for n, recovery, latency in numbers]
        ).executors

    assert chosen((2, 105.0, 1.05), (4, 100.0, 1.0)) == 2
    assert chosen((2, 105.1, 1.0), (4, 100.0, 1.0)) == 4
    assert chosen((2, 100.0, 1.0501), (4, 100.0, 1.0)) == 4


def test_phoebe_waits_for_an_evaluation_interval_after_a_rescale_or_a_loss() -> None:
    policy = phoebe()
    policy.observe(obs(120, 5))
    assert policy.decide(obs(121, 5)).reason == "hold: rescaled or lost an executor 1 s ago, evaluated after 600 s"
    assert policy.decide(obs(720, 5)).executors == 7
    policy.observe(obs(500, 5))
    policy.observe(obs(800, 5, events=(Event(800, "ExecutorLost", "gone"),)))
    assert policy.decide(obs(900, 5)).reason.startswith("hold: rescaled or lost an executor 100 s ago")


def test_phoebe_waits_from_the_very_moment_of_a_rescale() -> None:
    policy = phoebe()
    policy.observe(obs(120, 5))
    assert policy.decide(obs(120, 5)).reason == "hold: rescaled or lost an executor 0 s ago, evaluated after 600 s"


def test_without_a_profile_it_says_so_and_learns_from_saturation() -> None:
    policy = Phoebe(limits=Limits(1, 8), profiled=Profiled(forecaster="last"), target_recovery=3600)
    seen(policy, 2)
    assert policy.decide(obs(120, 2)).reason.startswith("hold: no capacity is known: give a profile")
    for t in range(120, 180):  # 2 executors do 2000/s of 2500/s, and the backlog grows
        full = Observation(t, 2, 2, arrival_rate=2500.0, processing_rate=2000.0, backlog=1e5, latency=9.0)
        policy.observe(full)
    assert policy.decide(obs(180, 2)).executors == 3


def test_two_minutes_of_steady_operation_are_a_point_of_the_profile() -> None:
    profiled = Profiled(forecaster="last")

    def learned() -> list[tuple[int, float, float]]:
        return [(point.executors, point.rate, point.latency) for point in profiled.capacity.profile.points]

    for t in range(241):
        profiled.observe(obs(t, 1, rate=1000.0 if t <= 120 else 2000.0, latency=1.0 if t <= 120 else 3.0))
    assert learned() == [(1, 1000, 1.0), (1, 2000, 3.0)]
    for t in range(241, 361):  # two minutes from the rescale, not from the last point
        profiled.observe(obs(t, 3, rate=5000.0))
    assert len(learned()) == 2
    profiled.observe(obs(361, 3, rate=5000.0))
    assert learned()[2:] == [(3, 5000, 1.0)]


def test_what_is_not_steady_is_no_point() -> None:
    full = Observation(0, 2, 2, arrival_rate=90.0, processing_rate=80.0, backlog=1e4, latency=60.0)
    coming = Observation(0, 2, 3, arrival_rate=90.0, processing_rate=90.0, backlog=0.0, latency=1.0)
    silent = Observation(0, 2, 2, arrival_rate=90.0, processing_rate=90.0, backlog=0.0)
    for seen_first in (full, coming, silent):
        profiled = Profiled(forecaster="last")
        profiled.observe(seen_first)
        assert profiled.capacity.profile.points == ()


def test_the_load_is_that_of_the_highest_part_of_the_forecast() -> None:
    assert projected(Forecast(10, (1.0, 9.0, 2.0, 2.0)), bins=2) == 5
    assert projected(Forecast(10, (1.0, 9.0, 2.0, 2.0)), bins=4) == 9
    assert projected(Forecast(10, (3.0,)), bins=4) == 3  # no more parts than steps


def twres(rate: float = 2500.0, latency: float = 1.0, **options: float) -> Twres:
    policy = Twres(limits=Limits(1, 8), profiled=Profiled(PROFILE, forecaster="last"), **options)  # type: ignore[arg-type]
    seen(policy, 3, rate, latency)
    return policy


def decided(policy: Twres, latency: float = 1.0, rate: float = 2500.0, requested: int = 3) -> Decision:
    return policy.decide(obs(120, requested, rate, latency))


def test_twres_takes_the_smallest_number_that_can_do_the_window() -> None:
    # 600 s x 2500/s = 1.5 million records; 3 can do 1.8 million, 2 only 1.2 million
    assert decided(twres()).executors == 3
    assert decided(twres()).reason == "1500000 records expected in 600 s: 3 can do 1800000"
    assert decided(twres(), requested=6).executors == 3
    assert decided(twres(3500), rate=3500).executors == 4
    assert decided(twres(9000), rate=9000).executors == 8  # more than any can do: the most capable


def test_twres_takes_one_more_where_latency_is_too_high_although_it_can_do_the_load() -> None:
    assert decided(twres(latency=2.5)).executors == 4
    assert decided(twres(latency=2.5), requested=8).executors == 8  # within the limits
    # on Spark a record waits for its trigger: 5.5 s with a trigger of 4 s are 1.5 s
    policy = twres(latency=5.5)
    assert policy.decide(obs(120, 3, trigger=4.0)).executors == 3
    # overloaded it goes by the load alone
    assert decided(twres(5500, latency=9.0), rate=5500).executors == 6
    assert decided(twres(3500, latency=9.0), rate=3500).executors == 4


def test_twres_decides_without_a_latency() -> None:
    policy = Twres(limits=Limits(1, 8), profiled=Profiled(PROFILE, forecaster="last"))
    for t in range(120):
        policy.observe(obs(t, 3, latency=None))  # type: ignore[arg-type]
    decision = policy.decide(obs(120, 3, latency=None))  # type: ignore[arg-type]
    assert (decision.executors, decision.evidence["latency"]) == (3, 0)


def test_bad_profiles_and_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match="policy twres: need 0 < window, got 0"):
        Twres(window=0)
    with pytest.raises(InvalidInput, match="profile, line 2: need executors to be a whole number"):
        Profiled("executors,rate,latency,saturated\n0,1,1,0\n")
    with pytest.raises(InvalidInput, match="policy phoebe: need 1 <= bins, got 0"):
        Phoebe(bins=0)
    with pytest.raises(InvalidInput, match="no forecaster is named 'arma'; did you mean 'arima'"):
        Profiled(forecaster="arma")
