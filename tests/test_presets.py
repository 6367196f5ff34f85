from dataclasses import dataclass

import pytest

from tidegate.control import Autoscaler
from tidegate.core import Decision, ExecutorSample, InvalidInput, Limits, Observation, UnknownName
from tidegate.policies import HpaCpu, Stabilisation, Static, StepLimit
from tidegate.presets import PRESETS, autoscaler

LIMITS = Limits(1, 8)


@dataclass
class Mine:
    """A user's own policy."""

    interval: float = 3.0

    def observe(self, obs: Observation) -> None:
        pass

    def decide(self, obs: Observation) -> Decision:
        return Decision(2, "mine")


def busy(time: float) -> Observation:
    return Observation(time, 1, 1, per_executor=(ExecutorSample("0", cpu=1.0, uptime=100),))


def wish(scaler: Autoscaler, time: float) -> int:
    return scaler.decide(busy(time))[0].decision.executors


def test_an_unknown_policy_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName) as refused:
        autoscaler("hpacpu", LIMITS)
    assert str(refused.value) == "no policy is named 'hpacpu'; did you mean 'hpa-cpu'? (known: hpa-cpu, static)"


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName) as refused:
        autoscaler("static", LIMITS, {"executor": 3})
    told = "no option of policy static is named 'executor'; did you mean 'executors'? (known: executors, interval)"
    assert str(refused.value) == told
    with pytest.raises(UnknownName, match="did you mean 'tolerance'"):
        autoscaler("hpa-cpu", LIMITS, {"tolerence": 0.2})


def test_options_reach_the_policy_and_its_guards() -> None:
    options = {"target": 0.5, "tolerance": 0.2, "interval": 7, "window": 9, "readiness": 11, "down-window": 13}
    scaler = autoscaler("hpa-cpu", LIMITS, options)
    assert scaler.policy == HpaCpu(target=0.5, tolerance=0.2, interval=7, window=9, readiness=11)
    assert scaler.guards == (StepLimit(), Stabilisation(down=13))
    assert (scaler.interval, scaler.limits, scaler.name) == (7, LIMITS, "hpa-cpu")


def test_without_options_the_defaults_are_those_of_kubernetes() -> None:
    scaler = autoscaler("hpa-cpu", LIMITS)
    assert scaler.policy == HpaCpu(target=0.7, tolerance=0.1, interval=15, window=15, readiness=30)
    assert scaler.guards == (StepLimit(up=4, factor=2.0, down=1.0), Stabilisation(down=300, up=0))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_made_from_its_own_options(name: str) -> None:
    assert autoscaler(name, LIMITS, PRESETS[name].options).name == name


def test_two_autoscalers_share_nothing() -> None:
    one, other = autoscaler("hpa-cpu", LIMITS), autoscaler("hpa-cpu", LIMITS)
    one.observe(busy(0))
    assert (wish(one, 0), wish(other, 0)) == (2, 1)  # ceil(1 / 0.7); the other has seen nothing and holds
    assert one.guards[1] is not other.guards[1]
    assert one.guards[1] != other.guards[1]  # each remembers its own wishes


def test_a_policy_object_is_taken_as_it_is() -> None:
    mine = Mine()
    scaler = autoscaler(mine, Limits(1, 4))
    assert scaler.policy is mine
    assert (scaler.name, scaler.interval, scaler.guards) == ("Mine", 3.0, ())


def test_static_is_the_maximum_unless_told_how_many() -> None:
    assert autoscaler("static", LIMITS).policy == Static(8, interval=15)
    assert autoscaler("static", LIMITS, {"executors": 0}).policy == Static(8, interval=15)
    assert autoscaler("static", LIMITS, {"executors": 3, "interval": 5}).policy == Static(3, interval=5)
    with pytest.raises(InvalidInput, match="policy static: need a whole number of executors >= 0, got -2"):
        autoscaler("static", LIMITS, {"executors": -2})


@pytest.mark.parametrize("interval", [0, -1.5])
def test_an_interval_must_be_positive(interval: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        autoscaler("hpa-cpu", LIMITS, {"interval": interval})
    assert str(refused.value) == f"policy hpa-cpu: need interval > 0 s, got {interval:g}"


def test_values_that_a_policy_or_guard_refuses_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="need 0 < target <= 1, got 70"):
        autoscaler("hpa-cpu", LIMITS, {"target": 70})
    with pytest.raises(InvalidInput, match="guard stabilisation: need windows >= 0 s, got down -1"):
        autoscaler("hpa-cpu", LIMITS, {"down-window": -1})


def test_a_window_that_holds_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="need window > 0 s and readiness >= 0 s, got 0, 30"):
        autoscaler("hpa-cpu", LIMITS, {"window": 0})
    with pytest.raises(InvalidInput, match=r"need a whole number of executors >= 0, got 2\.5"):
        autoscaler("static", LIMITS, {"executors": 2.5})
