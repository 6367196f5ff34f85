import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from tidegate.control import Autoscaler
from tidegate.core import (
    Decision,
    ExecutorSample,
    InvalidInput,
    Limits,
    Observation,
    UnknownName,
    parameter,
    parameters,
)
from tidegate.experiment import Experiment
from tidegate.policies import HpaCpu, Stabilisation, StepLimit
from tidegate.policies.guards import Arriving, CatchingUp, Ceiling, GuardSettings, Late, Stalled, Uneven
from tidegate.presets import PRESETS, Preset, autoscaler, parsed_options

LIMITS = Limits(1, 8)
#: guards of what acts on a query
LIVE = ("late", "catching-up", "stalled")


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "job.csv"
    path.write_text("executors,rate,latency,saturated\n2,1900,60.0,1\n5,4700,60.0,1\n")
    return str(path)


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
    assert [guard.name for guard in scaler.guards] == ["step", "stabilisation", "uneven", "stalled", "ceiling"]


def test_a_name_may_have_other_defaults_than_its_class() -> None:
    assert autoscaler("flink-reactive", LIMITS).policy == HpaCpu(target=0.35)
    assert PRESETS["flink-reactive"].own["target"].default == 0.35


def test_guards_can_be_added_to_any_policy() -> None:
    options = {"cooldown-up": 60, "pause": "in", "excluded": "12:00-13:00", "core-quota": 6.0}
    names = [guard.name for guard in autoscaler("daedalus", LIMITS, options).guards]
    assert names == ["arriving", "uneven", "stalled", "ceiling", "quota", "cooldown", "pause", "excluded"]


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


def test_a_policy_object_gets_the_guards_that_keep_any_policy_from_harm() -> None:
    mine = Mine()
    scaler = autoscaler(mine, Limits(1, 4), {"arriving": "2m"}, slo=20)
    assert scaler.policy is mine
    assert (scaler.name, scaler.interval) == ("Mine", 3.0)
    assert scaler.guards == (Arriving(120), Uneven(60), Stalled(), Late(20), CatchingUp(10), Ceiling())
    assert autoscaler(mine, Limits(1, 4)).guards == (Arriving(60), Uneven(60), Stalled(), Ceiling())
    with pytest.raises(UnknownName, match="no option of policy Mine is named 'lat'; did you mean 'late'"):
        autoscaler(mine, Limits(1, 4), {"lat": 3})
    with pytest.raises(UnknownName, match="no option of policy Mine is named 'interval'"):  # its own are its own
        autoscaler(mine, Limits(1, 4), {"interval": 3})


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"static"}))
def test_with_an_slo_nothing_scales_in_while_late(name: str, profile: str) -> None:
    options = {"profile": profile} if "profile" in PRESETS[name].own else {}
    guards = autoscaler(name, LIMITS, options, slo=30).guards
    assert {Late(30), CatchingUp(15), Stalled()} <= {guard for guard in guards if guard.name in LIVE}
    without = autoscaler(name, LIMITS, options).guards
    assert [guard.name for guard in without if guard.name in LIVE] == ["stalled"]
    assert [guard for guard in guards if guard.name not in ("late", "catching-up")] == list(without)


def test_what_is_said_goes_before_the_slo() -> None:
    options: dict[str, float | str] = {"late": 0, "catching-up": "5m", "stalled": False}
    guards = autoscaler("ds2", LIMITS, options, slo=30).guards
    assert [guard for guard in guards if guard.name in LIVE] == [CatchingUp(300)]
    # a fixed number is the user's own
    assert [guard for guard in autoscaler("static", LIMITS, slo=30).guards if guard.name in LIVE] == [Stalled()]


@pytest.mark.parametrize("slo", [0, -1.0, math.nan, math.inf])
def test_an_slo_must_be_positive_and_end(slo: float) -> None:
    with pytest.raises(InvalidInput, match="need an SLO above 0 s, got"):
        autoscaler("ds2", LIMITS, slo=slo)


@pytest.mark.parametrize("name", ["phoebe", "twres"])
def test_what_needs_a_profile_does_not_act_without(name: str, profile: str) -> None:
    sentence = f"policy {name} decides by a profile of the job and has none: measure one, or simulate it with"
    for options in ({}, {"profile": ""}):
        with pytest.raises(InvalidInput, match=sentence):
            autoscaler(name, LIMITS, options, slo=10)
    with pytest.raises(InvalidInput, match=sentence):
        Experiment(policy=name)
    with pytest.raises(InvalidInput, match=sentence):
        Experiment(policy=name, safe=False)
    assert autoscaler(name, LIMITS, {"profile": profile}, slo=10).name == name
    assert autoscaler(name, LIMITS, slo=10, simulated=True).name == name
    assert Experiment(policy=name, engine="sim").autoscaler().name == name


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (
            {"interval": "5s", "window": "1m30s", "down-window": "0.5h"},
            {"interval": 5, "window": 90, "down-window": 1800},
        ),
        (
            {"target": "70%", "tolerance": "0.2", "min-change": "5 %"},
            {"target": 0.7, "tolerance": 0.2, "min-change": 0.05},
        ),
        (
            {"step-up": "3", "core-quota": 6.0, "step-factor": "1.5"},
            {"step-up": 3, "core-quota": 6, "step-factor": 1.5},
        ),
        ({"ceiling": False, "stalled": "off"}, {"ceiling": 0, "stalled": 0}),
        ({"ceiling": True, "stalled": "1"}, {"ceiling": 1, "stalled": 1}),
        ({"pause": "in", "readiness": "250ms"}, {"pause": "in", "readiness": 0.25}),
    ],
)
def test_options_have_units(options: dict[str, Any], values: dict[str, Any]) -> None:
    found = parsed_options("hpa-cpu", options)
    assert found == values
    whole = ("step-up", "core-quota", "ceiling", "stalled")
    assert all(type(value) is int for name, value in found.items() if name in whole)
    assert Experiment(engine="sim", options=options).options == values  # as a run stores them


def test_rates_and_numbers_of_records_have_prefixes() -> None:
    assert parsed_options("dhalion", {"lag-threshold": "250k", "lag-rate-threshold": "1.2M"}) == {
        "lag-threshold": 250_000,
        "lag-rate-threshold": 1_200_000,
    }
    with pytest.raises(
        InvalidInput, match=r"need a number of records like 5000, 250k or 1\.2M as lag-threshold, got '5k/s'"
    ):
        parsed_options("dhalion", {"lag-threshold": "5k/s"})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"interval": "soon"}, "need a duration like 90s or 3m, or a number of seconds, as interval, got 'soon'"),
        ({"interval": "70%"}, "need a duration like 90s or 3m, or a number of seconds, as interval, got '70%'"),
        ({"interval": True}, "need a duration like 90s or 3m, or a number of seconds, as interval, got True"),
        ({"interval": None}, "need a duration like 90s or 3m, or a number of seconds, as interval, got None"),
        ({"interval": [5]}, "need a duration like 90s or 3m, or a number of seconds, as interval, got [5]"),
        ({"interval": "-5"}, "need 0 < interval, got -5"),
        ({"interval": "9" * 400}, "need a duration like 90s or 3m, or a number of seconds, as interval, got '9999"),
        ({"interval": 10**400}, "need a duration like 90s or 3m, or a number of seconds, as interval, got 1000"),
        ({"interval": "1e999"}, "need 0 < interval, got inf"),
        ({"window": "400d"}, "need window <= 3.16224e+07 s (a year), got 3.456e+07"),
        ({"step-up": 10_000_000}, "need step-up <= 1e+06 executors (a million), got 1e+07"),
        ({"target": "5s"}, "need a share like 70% or 0.7 as target, got '5s'"),
        ({"target": "170%"}, "need 0 < target <= 1, got 1.7"),
        ({"step-up": 2.5}, "need a whole number as step-up, got 2.5"),
        ({"step-up": "many"}, "need a whole number as step-up, got 'many'"),
        ({"step-factor": "twice"}, "need a number as step-factor, got 'twice'"),
        ({"ceiling": "maybe"}, "need true or false, or 1 or 0, as ceiling, got 'maybe'"),
        ({"ceiling": 2}, "need 0 <= ceiling <= 1, got 2"),
        ({"pause": 3}, "need text as pause, got 3"),
        ({"pause": None}, "need text as pause, got None"),
    ],
)
def test_what_is_no_such_amount_is_refused_with_place_rule_and_value(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        autoscaler("hpa-cpu", LIMITS, options)
    assert str(refused.value).startswith(f"policy hpa-cpu: {sentence}")
    assert len(str(refused.value)) < 220


def test_a_policy_that_does_not_check_itself_is_checked_all_the_same() -> None:
    @dataclass
    class Loose(Mine):
        each: float = parameter(1.0, "records/s", "load per executor")

    preset = Preset("loose", "", Loose)
    assert preset.make("loose", LIMITS, {"each": "400k"}, {}).policy == Loose(each=400_000)
    with pytest.raises(InvalidInput, match="policy loose: need a finite number as each, got nan"):
        preset.make("loose", LIMITS, {"each": math.nan}, {})


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
    with pytest.raises(InvalidInput, match=r"policy hpa-cpu: need a share like 70% or 0\.7 as target, got 'high'"):
        autoscaler("hpa-cpu", LIMITS, {"target": "high"})
    with pytest.raises(InvalidInput, match="policy hpa-cpu: need 0 <= down-window, got -1"):
        autoscaler("hpa-cpu", LIMITS, {"down-window": -1})
    with pytest.raises(InvalidInput, match="guards: need pause to be one of none, in, out, both, got 'all'"):
        autoscaler("ds2", LIMITS, {"pause": "all"})
    with pytest.raises(InvalidInput, match=r"cannot read the profile 'nowhere\.csv'"):
        autoscaler("phoebe", LIMITS, {"profile": "nowhere.csv"})
