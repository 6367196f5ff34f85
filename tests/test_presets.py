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
    known = ", ".join(sorted(PRESETS))
    assert str(refused.value) == f"no policy is named 'hpacpu'; did you mean 'hpa-cpu'? (known: {known})"


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName) as refused:
        autoscaler("static", LIMITS, {"executor": 3})
    told = "no option of policy static is named 'executor'; did you mean 'executors'? (known: arriving, "
    assert str(refused.value).startswith(told)
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
    """Parameters of a policy and of its parts are one list: a name that stood twice would set both."""
    kind = PRESETS[name].policy
    names = [one for part in _parts(kind) for one in part]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", PRESETS)
def test_no_parameter_hides_an_option_of_the_guards(name: str) -> None:
    assert set(parameters(GuardSettings)) <= set(PRESETS[name].guards)


def _parts(kind: Any) -> list[list[str]]:
    own = [one.name for one in fields(kind) if "parameter" in one.metadata]
    parts = [found for one in fields(kind) if "part" in one.metadata for found in _parts(one.metadata["part"])]
    return [own, *parts]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_made_from_its_own_options(name: str) -> None:
    known = {**PRESETS[name].own, **PRESETS[name].guards}
    assert autoscaler(name, LIMITS, {key: one.default for key, one in known.items()}).name == name


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
