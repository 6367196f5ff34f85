import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tidegate.core import ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall
from tidegate.policies import HpaCpu


def seen(
    loads: Sequence[float | None], *, time: float = 0, requested: int | None = None, uptime: float = 100
) -> Observation:
    samples = tuple(ExecutorSample(str(k), cpu=load, uptime=uptime) for k, load in enumerate(loads))
    return Observation(time, len(loads), requested or len(loads), processing_rate=1.0, per_executor=samples)


def decide(policy: HpaCpu, obs: Observation) -> tuple[int, str]:
    policy.observe(obs)
    decision = policy.decide(obs)
    return decision.executors, decision.reason


def test_it_wishes_for_current_times_cpu_over_target() -> None:
    assert decide(HpaCpu(), seen([0.9, 0.9, 0.9]))[0] == 4  # ceil(3 * 0.9 / 0.7) = ceil(3.86)
    assert decide(HpaCpu(), seen([0.2, 0.3]))[0] == 1  # ceil(2 * 0.25 / 0.7) = ceil(0.71)
    assert decide(HpaCpu(), seen([0.0]))[0] == 1  # never less than one


def test_within_the_tolerance_it_holds() -> None:
    assert decide(HpaCpu(), seen([0.76, 0.76])) == (2, "hold: CPU 76% is within 10% of the target 70%")
    assert decide(HpaCpu(tolerance=0), seen([0.76, 0.76]))[0] == 3  # ceil(2 * 1.086), the papers' rule


def test_cpu_is_averaged_over_the_window() -> None:
    policy = HpaCpu(window=15)
    for time, load in [(0, 0.0), (10, 1.0), (20, 0.6)]:
        policy.observe(seen([load], time=time))
    assert policy.decide(seen([0.6], time=20)).evidence["cpu"] == pytest.approx(0.8)  # the 0.0 is 20 s old


def test_starting_executors_count_as_idle_on_the_way_up() -> None:
    policy = HpaCpu(readiness=30)
    policy.observe(seen([0.9], requested=3))
    # one of three ready at 0.9, two assumed idle: 0.3 on average, which is no reason to grow, and none to shrink
    assert policy.decide(seen([0.9], requested=3)).reason == "hold: CPU 90%, but 2 executors are still starting"


def test_starting_executors_count_as_saturated_on_the_way_down() -> None:
    policy = HpaCpu()
    policy.observe(seen([0.1, 0.1], requested=3))
    # (0.1 + 0.1 + 1.0) / 3 = 0.4; ceil(3 * 0.4 / 0.7) = 2
    assert policy.decide(seen([0.1, 0.1], requested=3)).executors == 2


def test_on_the_way_up_the_ready_ones_may_outweigh_the_starting_ones() -> None:
    policy = HpaCpu()
    policy.observe(seen([1.0] * 5, requested=6))
    assert policy.decide(seen([1.0] * 5, requested=6)).executors == 8  # 5 / 6 / 0.7 = 1.19; ceil(6 * 1.19)


def test_the_edge_of_the_tolerance_is_within_it() -> None:
    policy = HpaCpu(target=0.5, tolerance=0.5)
    window = OperatorSample("window", parallelism=4, cpu=3.0)  # 75 % of each: half above the target
    obs = Observation(0, 4, 4, operators=(window,), isolated=True)
    policy.observe(obs)
    assert policy.decide(obs).per_operator == {"window": 4}
    assert decide(HpaCpu(target=0.5, tolerance=0.5), seen([0.75, 0.75]))[0] == 2


def test_stalled_executors_are_taken_for_starting_ones() -> None:
    def stalled(*loads: float) -> Observation:
        """The last one does not respond, and shows no CPU."""
        obs = seen([*loads, 0.0])
        return replace(obs, per_executor=(*obs.per_executor[:-1], replace(obs.per_executor[-1], stalled=True)))

    # (0.3 + 0.3 + 1.0) / 3 = 0.53: ceil(3 * 0.53 / 0.7) = 3; with its 0.0 it would be ceil(3 * 0.2 / 0.7) = 1
    assert decide(HpaCpu(), stalled(0.3, 0.3))[0] == 3
    # (0.9 + 0.9 + 0.9 + 0.0) / 4 = 0.675, which is no reason for more
    assert decide(HpaCpu(), stalled(0.9, 0.9, 0.9)) == (4, "hold: CPU 90%, but 1 executors are still starting")


def test_young_executors_are_not_listened_to() -> None:
    policy = HpaCpu(readiness=30)
    assert decide(policy, seen([1.0], uptime=10)) == (1, "hold: no CPU figures of a ready executor yet")


def test_without_a_cpu_meter_the_busy_share_stands_in() -> None:
    policy = HpaCpu()
    samples = (ExecutorSample("0", busy=1.0, uptime=99), ExecutorSample("1", busy=1.0, uptime=99))
    obs = Observation(0, 2, 2, per_executor=samples)
    assert decide(policy, obs)[0] == 3  # ceil(2 / 0.7)


def test_an_executor_that_left_is_forgotten() -> None:
    policy = HpaCpu()
    policy.observe(seen([1.0, 0.1], time=0))
    policy.observe(seen([1.0], time=1))
    assert policy.decide(seen([1.0], time=1)).evidence["ready"] == 1


def isolated(*seen: tuple[str, int, float | None], time: float = 0) -> Observation:
    """Operators with workers of their own: name, parallelism, CPU-seconds per second of them all."""
    operators = tuple(OperatorSample(name, parallelism=size, cpu=cpu) for name, size, cpu in seen)
    total = sum(operator.parallelism for operator in operators)
    return Observation(time, total, total, operators=operators, isolated=True)


def test_isolated_operators_each_get_their_own_number() -> None:
    policy, obs = HpaCpu(), isolated(("source", 2, 1.8), ("window", 4, 1.0), ("sink", 3, 0.0))
    policy.observe(obs)
    decision = policy.decide(obs)
    # 2 * 0.9 / 0.7 = 2.57; 4 * 0.25 / 0.7 = 1.43; never less than one
    assert decision.per_operator == {"source": 3, "window": 2, "sink": 1}
    assert decision.executors == 6
    assert decision.reason == "CPU, target 70%: source 90%, 2 -> 3; window 25%, 4 -> 2; sink 0%, 3 -> 1"
    assert decision.evidence["cpu window"] == 0.25


def test_an_isolated_operator_without_figures_keeps_its_parallelism() -> None:
    policy, obs = HpaCpu(), isolated(("source", 2, 1.8), ("window", 4, None))
    policy.observe(obs)
    assert policy.decide(obs).per_operator == {"source": 3, "window": 4}
    assert policy.decide(isolated(("source", 5, 1.8), ("window", 6, None))).per_operator == {"source": 7, "window": 6}


def test_without_any_figures_of_operators_it_holds() -> None:
    policy, obs = HpaCpu(), isolated(("source", 2, None))
    policy.observe(obs)
    decision = policy.decide(obs)
    assert (decision.reason, decision.per_operator) == ("hold: no CPU figures of an operator yet", None)


def test_cpu_of_operators_is_averaged_over_the_window_and_within_the_tolerance_nothing_changes() -> None:
    policy = HpaCpu(window=15)
    for time, cpu in [(0, 0.0), (10, 4.0), (20, 2.4)]:
        policy.observe(isolated(("window", 4, cpu), time=time))
    obs = isolated(("window", 4, 2.4), time=20)
    assert policy.decide(obs).evidence["cpu window"] == pytest.approx(0.8)  # of 1.0 and 0.6; the first is 20 s old
    assert policy.decide(obs).per_operator == {"window": 5}  # 4 * 0.8 / 0.7 = 4.57
    policy.tolerance = 0.15  # 0.8 / 0.7 = 1.143
    assert policy.decide(obs).per_operator == {"window": 4}


def test_figures_older_than_the_window_are_no_figures() -> None:
    policy = HpaCpu(window=15)
    policy.observe(isolated(("window", 4, 4.0), time=0))
    policy.observe(isolated(("window", 4, None), time=14))
    assert policy.decide(isolated(("window", 4, None), time=14)).per_operator == {"window": 6}  # 4 / 0.7 = 5.71
    policy.observe(isolated(("window", 4, None), time=15))
    assert policy.decide(isolated(("window", 4, None), time=15)).reason == "hold: no CPU figures of an operator yet"


def test_flink_reactive_is_the_same_rule_with_a_target_of_35_percent() -> None:
    assert decide(HpaCpu(target=0.35), seen([0.7, 0.7]))[0] == 4  # 2 * 0.7 / 0.35


def test_it_remembers_through_json() -> None:
    policy, obs = HpaCpu(), isolated(("window", 4, 4.0))
    policy.observe(obs)
    assert recall(HpaCpu(), json.loads(json.dumps(memory(policy)))) == policy


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"policy hpa-cpu: need 0 < target <= 1, got 1\.5"):
        HpaCpu(target=1.5)
    with pytest.raises(InvalidInput, match=r"need 0 <= tolerance <= 1, got -0\.1"):
        HpaCpu(tolerance=-0.1)
    with pytest.raises(InvalidInput, match=r"need 0 < window, got 0"):
        HpaCpu(window=0)
