"""Policies, guards and forecasters of others, by entry points, those that fail included."""

import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import tidegate.presets as registry
import tidegate.presets.plugins as plugged
from tidegate.control import Autoscaler, control
from tidegate.core import Decision, InvalidInput, Limits, Observation, QueryEnded, UnknownName, parameter
from tidegate.forecast import FORECASTERS, LastValue
from tidegate.policies import Daedalus
from tidegate.presets import Preset, autoscaler
from tidegate.presets.plugins import Plugins, loaded

LIMITS = Limits(1, 8)


@dataclass(slots=True)
class Greedy:
    """Always so many more than there are."""

    interval: float = parameter(5.0, "s", "time between decisions", above=0)
    more: int = parameter(1, "executors", "how many more", least=1)

    def observe(self, obs: Observation) -> None:
        pass

    def decide(self, obs: Observation) -> Decision:
        return Decision(obs.requested + self.more, f"{self.more} more")


@dataclass(frozen=True, slots=True)
class Even:
    """Only even numbers."""

    name: str = "even"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        return Decision(wish.executors + wish.executors % 2, f"even: {wish.reason}")


class Broken:
    name = "broken"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        raise ZeroDivisionError("I cannot count")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> str:
    made = ModuleType("others")
    made.Greedy, made.Even, made.Broken = Greedy, Even, Broken  # type: ignore[attr-defined]
    made.PRESET = Preset("twice as greedy", "others", Greedy, {"more": 2})  # type: ignore[attr-defined]
    made.NUMBER = 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "others", made)
    return "others"


@pytest.fixture
def plugins(module: str, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    points = [
        EntryPoint("greedy", "others:Greedy", "tidegate.policies"),
        EntryPoint("greedier", "others:PRESET", "tidegate.policies"),
        EntryPoint("static", "others:Greedy", "tidegate.policies"),
        EntryPoint("number", "others:NUMBER", "tidegate.policies"),
        EntryPoint("gone", "nowhere.to:Be", "tidegate.policies"),
        EntryPoint("even", "others:Even", "tidegate.guards"),
        EntryPoint("broken", "others:Broken", "tidegate.guards"),
    ]
    found = loaded(points)
    monkeypatch.setattr(registry, "installed", lambda: found)
    return found


def obs(requested: int = 2) -> Observation:
    return Observation(0, requested, requested, processing_rate=1.0)


def wish(scaler: Autoscaler) -> Decision:
    return scaler.decide(obs())[-1].decision


def test_a_policy_of_a_plug_in_has_options_and_guards_like_any_other(plugins: Plugins) -> None:
    assert wish(autoscaler("greedy", LIMITS)).executors == 3
    assert wish(autoscaler("greedier", LIMITS)).executors == 4
    assert wish(autoscaler("greedy", LIMITS, {"more": 4, "pause": "out"})).executors == 2
    assert registry.preset("greedy").summary == "Always so many more than there are."
    with pytest.raises(UnknownName, match="no option of policy greedy is named 'mor'; did you mean 'more'"):
        autoscaler("greedy", LIMITS, {"mor": 4})


def test_it_cannot_take_a_name_that_is_taken(plugins: Plugins) -> None:
    assert wish(autoscaler("static", LIMITS)).executors == 8


def test_one_that_cannot_be_loaded_is_told_when_it_is_asked_for_and_harms_nobody(plugins: Plugins) -> None:
    assert set(plugins.broken) == {"gone", "number"}
    with pytest.raises(InvalidInput, match=r"'gone' could not be loaded: nowhere\.to:Be: ModuleNotFoundError"):
        autoscaler("gone", LIMITS)
    with pytest.raises(InvalidInput, match="need something that can be called, got int"):
        autoscaler("number", LIMITS)


def test_forecasters_of_plug_ins_are_known_by_name(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.modules["others"].Mine = LastValue  # type: ignore[attr-defined]
    point = EntryPoint("mine", "others:Mine", "tidegate.forecasters")
    monkeypatch.setattr(plugged, "entry_points", lambda group: [point] if group == point.group else [])
    monkeypatch.setattr(plugged, "KNOWN", known := dict(FORECASTERS))
    monkeypatch.setattr("tidegate.forecast.names.FORECASTERS", known)
    plugged.installed.cache_clear()
    try:
        assert plugged.installed().forecasters == {"mine": LastValue}
        policy = autoscaler("daedalus", LIMITS, {"forecaster": "mine"}).policy
        assert isinstance(policy, Daedalus)
        assert policy.forecast.outlook.forecaster == LastValue()
    finally:
        plugged.installed.cache_clear()


def test_guards_of_plug_ins_come_before_those_that_cap_and_stop(plugins: Plugins) -> None:
    scaler = autoscaler("greedy", LIMITS, {"guards": "even"})
    assert [step.by for step in scaler.decide(obs())] == ["greedy", "even"]
    assert wish(scaler).executors == 4
    assert wish(autoscaler("greedy", LIMITS, {"guards": "even", "core-quota": 3})).executors == 3
    with pytest.raises(UnknownName, match=r"no guard \(option guards of policy greedy\) is named 'evn'"):
        autoscaler("greedy", LIMITS, {"guards": "evn"})


class Brief:
    """An engine and clock that end after two observations."""

    left, time = 2, 0.0

    def observe(self) -> Observation:
        self.left -= 1
        if self.left < 0:
            raise QueryEnded("over")
        return obs()

    def scale(self, decision: Decision) -> None:
        raise AssertionError("nothing may be scaled")

    def now(self) -> float:
        return self.time

    def sleep_until(self, time: float) -> None:
        self.time = time + 10


def test_a_guard_that_raises_is_named_and_the_loop_holds(plugins: Plugins) -> None:
    engine = Brief()
    made = list(control(engine, autoscaler("greedy", LIMITS, {"guards": "broken"}), engine))
    told = "hold: the guard broken failed: ZeroDivisionError: I cannot count"
    assert [tick.decision and tick.decision.reason for tick in made] == [told, told]
