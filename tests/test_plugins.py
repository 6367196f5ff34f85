"""Policies, guards, forecasters and sinks of others, by entry points, those that fail included."""

import sys
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import tidegate.presets as registry
import tidegate.presets.plugins as plugged
from tidegate.control import Autoscaler, drive, ticks
from tidegate.control.sinks import KeptTicks
from tidegate.core import Decision, InvalidInput, Lever, Limits, Observation, QueryEnded, Tick, UnknownName, parameter
from tidegate.forecast import FORECASTERS, LastValue
from tidegate.policies import Daedalus
from tidegate.presets import Preset, autoscaler
from tidegate.presets.plugins import Plugins, loaded
from tidegate.sinks import find_sinks, known_sinks
from tidegate.sinks.log import LogSink

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
    levers = frozenset(Lever)

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
    made = list(ticks(engine, autoscaler("greedy", LIMITS, {"guards": "broken"}), engine))
    told = "hold: the guard broken failed: ZeroDivisionError: I cannot count"
    assert [tick.decision and tick.decision.reason for tick in made] == [told, told]
    # the policy's step, then the guard's with its error
    steps = [(step.by, step.error) for step in made[0].steps]
    assert steps == [("greedy", None), ("broken", "ZeroDivisionError: I cannot count")]


@dataclass(slots=True)
class Noted:
    """A sink that keeps times."""

    argument: str
    times: list[float] = field(default_factory=list)
    name: str = "noted"

    def take(self, tick: Tick) -> None:
        self.times.append(tick.observation.time)


@pytest.fixture
def sinks(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.modules["others"].Noted = Noted  # type: ignore[attr-defined]
    group = "tidegate.sinks"
    points = [
        EntryPoint("noted", "others:Noted", group),
        EntryPoint("log", "others:Noted", group),
        EntryPoint("gone", "nowhere.to:Be", group),
        EntryPoint("number", "others:NUMBER", group),
    ]

    def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
        return [point for point in points if point.group == group and name in (None, point.name)]

    monkeypatch.setattr("tidegate.sinks.entry_points", entry_points)


def test_sinks_of_plug_ins_are_known_by_name_and_made_from_their_argument(sinks: None) -> None:
    noted, log = find_sinks("noted:a:b, log:orders")
    assert isinstance(noted, Noted)
    assert noted.argument == "a:b"
    assert isinstance(log, LogSink)  # a name that is taken stays with its owner
    engine = Brief()
    drive(engine, autoscaler("static", LIMITS, {"executors": 2}), engine, (noted,))
    assert noted.times == [0, 0]


def test_a_sink_that_cannot_be_made_is_told_when_it_is_asked_for(sinks: None) -> None:
    assert set(known_sinks()) == {"jsonl", "log", "noted", "gone", "number"}
    with pytest.raises(InvalidInput, match="the plug-in sink 'gone' could not be made: No module named 'nowhere'"):
        find_sinks("gone")
    with pytest.raises(InvalidInput, match="the plug-in sink 'number' could not be made: 'int' object is not callable"):
        find_sinks("noted:x,number")
    with pytest.raises(UnknownName, match="no sink is named 'notd'; did you mean 'noted'"):
        find_sinks("notd")


class Full:
    """A sink with no room left."""

    name = "full"

    def take(self, tick: Tick) -> None:
        raise OSError("no space left")


def test_a_sink_that_raises_is_an_event_and_the_others_go_on(sinks: None) -> None:
    engine, (noted,) = Brief(), find_sinks("noted")
    kept = KeptTicks()
    drive(engine, autoscaler("static", LIMITS, {"executors": 2}), engine, (Full(), noted, kept))
    assert len(kept.ticks) == 2
    # what failed at the first tick is told with the second
    (event,) = kept.ticks[1].observation.events
    assert (event.kind, event.message) == ("SinkFailed", "full: OSError: no space left")
