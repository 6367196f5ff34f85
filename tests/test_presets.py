import math
from dataclasses import dataclass, fields
from typing import Any

import pytest

from tidegate.control import Autoscaler
from tidegate.core import Decision, ExecutorSample, InvalidInput, Limits, Observation, UnknownName, parameters
from tidegate.policies import HpaCpu, Stabilisation, StepLimit
from tidegate.policies.guards import GuardSettings
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
    names = ", ".join(sorted(PRESETS))
    assert str(refused.value) == f"no policy is named 'hpacpu'; did you mean 'hpa-cpu'? (known: {names})"


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName) as refused:
        autoscaler("static", LIMITS, {"executor": 3})
    message = "no option of policy static is named 'executor'; did you mean 'executors'? (known: arriving, "
    assert str(refused.value).startswith(message)
    with pytest.raises(UnknownName, match="did you mean 'tolerance'"):
        autoscaler("hpa-cpu", LIMITS, {"tolerence": 0.2})


def test_options_reach_the_policy_and_its_guards() -> None:
    options = {"target": 0.5, "tolerance": 0.2, "interval": 7, "window": 9, "readiness": 11, "down-window": 13}
    scaler = autoscaler("hpa-cpu", LIMITS, options)
    assert scaler.policy == HpaCpu(target=0.5, tolerance=0.2, interval=7, window=9, readiness=11)
    assert scaler.guards[:2] == (StepLimit(up=4, factor=2.0, down=0), Stabilisation(down=13))
    assert (scaler.interval, scaler.limits, scaler.name) == (7, LIMITS, "hpa-cpu")


def test_without_options_the_defaults_are_those_of_kubernetes() -> None:
    scaler = autoscaler("hpa-cpu", LIMITS)
    assert scaler.policy == HpaCpu(target=0.7, tolerance=0.1, interval=15, window=15, readiness=30)
    assert scaler.guards[:2] == (StepLimit(up=4, factor=2.0, down=0), Stabilisation(down=300, up=0))
    assert [guard.name for guard in scaler.guards] == ["step", "stabilisation", "ceiling"]


def test_a_name_may_have_other_defaults_than_its_class() -> None:
    assert autoscaler("flink-reactive", LIMITS).policy == HpaCpu(target=0.35)
    assert PRESETS["flink-reactive"].own["target"].default == 0.35


def test_guards_can_be_added_to_any_policy() -> None:
    options = {"cooldown-up": 60, "pause": "in", "excluded": "12:00-13:00", "core-quota": 6.0}
    names = [guard.name for guard in autoscaler("daedalus", LIMITS, options).guards]
    assert names == ["arriving", "ceiling", "quota", "cooldown", "pause", "excluded"]


@pytest.mark.parametrize("name", PRESETS)
def test_no_name_of_an_option_means_two_things(name: str) -> None:
    """A policy and its parts share one list of options, so a duplicate name would set two parameters."""
    options = [option for part in _parts(PRESETS[name].policy) for option in part]
    assert sorted(options) == sorted(set(options))


@pytest.mark.parametrize("name", PRESETS)
def test_no_parameter_hides_an_option_of_the_guards(name: str) -> None:
    assert set(parameters(GuardSettings)) <= set(PRESETS[name].guards)


def _parts(kind: Any) -> list[list[str]]:
    own = [field.name for field in fields(kind) if "parameter" in field.metadata]
    kinds = [field.metadata["part"] for field in fields(kind) if "part" in field.metadata]
    return [own, *(part for inner in kinds for part in _parts(inner))]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_made_from_its_own_options(name: str) -> None:
    available = {**PRESETS[name].own, **PRESETS[name].guards}
    defaults = {option: parameter.default for option, parameter in available.items()}
    assert autoscaler(name, LIMITS, defaults).name == name


def test_two_autoscalers_share_nothing() -> None:
    first, second = autoscaler("hpa-cpu", LIMITS), autoscaler("hpa-cpu", LIMITS)
    first.observe(busy(0))
    assert (wish(first, 0), wish(second, 0)) == (2, 1)  # ceil(1 / 0.7); the second has seen nothing and holds
    assert first.guards[1] is not second.guards[1]
    assert first.guards[1] != second.guards[1]  # each remembers its own wishes


def test_a_policy_object_is_taken_as_it_is() -> None:
    mine = Mine()
    scaler = autoscaler(mine, Limits(1, 4))
    assert scaler.policy is mine
    assert (scaler.name, scaler.interval, scaler.guards) == ("Mine", 3.0, ())


def test_static_is_the_maximum_unless_told_how_many() -> None:
    def number(**options: float) -> int:
        return autoscaler("static", LIMITS, options).decide(busy(0))[0].decision.executors

    assert number() == 8
    assert number(executors=0) == 8
    assert number(executors=3) == 3
    with pytest.raises(InvalidInput, match="policy static: need 0 <= executors, got -2"):
        number(executors=-2)
    with pytest.raises(InvalidInput, match=r"policy static: need a whole number as executors, got 2\.5"):
        number(executors=2.5)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("interval", [0, -1.5, math.inf, math.nan])
def test_an_interval_must_be_positive_and_end(name: str, interval: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        autoscaler(name, LIMITS, {"interval": interval})
    assert "need 0 < interval" in str(refused.value)


def test_values_that_a_policy_or_guard_refuses_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="policy hpa-cpu: need 0 < target <= 1, got 70"):
        autoscaler("hpa-cpu", LIMITS, {"target": 70})
    with pytest.raises(InvalidInput, match="policy hpa-cpu: option target needs a number or a duration, got 'high'"):
        autoscaler("hpa-cpu", LIMITS, {"target": "high"})
    with pytest.raises(InvalidInput, match="guards: need 0 <= down-window, got -1"):
        autoscaler("hpa-cpu", LIMITS, {"down-window": -1})
    with pytest.raises(InvalidInput, match="guards: need pause to be one of none, in, out, both, got 'all'"):
        autoscaler("ds2", LIMITS, {"pause": "all"})
    with pytest.raises(InvalidInput, match=r"cannot read the profile 'nowhere\.csv'"):
        autoscaler("phoebe", LIMITS, {"profile": "nowhere.csv"})
