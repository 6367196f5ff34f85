"""The loop over time: when decisions are due, how often failures are told, what a blind turn shows; and the bounds."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from tidegate.control import Autoscaler, drive
from tidegate.control.drive import _Loop
from tidegate.control.fallback import Fallback
from tidegate.control.sinks import Callback, KeptTicks
from tidegate.control.validity import valid
from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    InvalidInput,
    Lever,
    Limits,
    Observation,
    QueryEnded,
    Target,
    Tick,
    UnknownName,
)
from tidegate.policies import Cooldown, Static


@dataclass
class Scripted:
    """An engine that shows what a function of the time says, for some turns."""

    shows: Callable[[float], Observation]
    turns: int
    time: float = 0.0
    scaled: list[Decision] = field(default_factory=list)
    levers: frozenset[Lever] = frozenset(Lever)

    def observe(self) -> Observation:
        if self.turns == 0:
            raise QueryEnded("over")
        self.turns -= 1
        return self.shows(self.time)

    def scale(self, decision: Decision) -> None:
        self.scaled.append(decision)

    def now(self) -> float:
        return self.time

    def sleep_until(self, time: float) -> None:
        self.time = time


@dataclass
class Policy:
    """Decides what a function of the observation says."""

    decides: Callable[[Observation], Decision]
    interval: float = 1.0
    asked: list[float] = field(default_factory=list)

    def observe(self, obs: Observation) -> None:
        """Learns nothing."""

    def decide(self, obs: Observation) -> Decision:
        self.asked.append(obs.time)
        return self.decides(obs)


def steady(time: float) -> Observation:
    return Observation(time, 2, 2, processing_rate=1.0)


def driven(engine: Scripted, policy: object, **how: object) -> list[Tick]:
    kept = KeptTicks()
    drive(engine, Autoscaler(policy, Limits(1, 8), name="policy"), engine, (kept,), **how)  # type: ignore[arg-type]
    return kept.ticks


def told(ticks: list[Tick]) -> list[tuple[float, str]]:
    return [(event.time, event.kind) for tick in ticks for event in tick.observation.events]


def test_a_decision_is_due_as_soon_as_its_interval_is_over() -> None:
    policy = Policy(lambda obs: Decision(2, "stay"), interval=3.0)
    driven(Scripted(steady, 8), policy)
    assert policy.asked == [0, 3, 6]  # at 3 s exactly, not at 4 s
    policy = Policy(lambda obs: Decision(2, "stay"), interval=3.0)
    driven(Scripted(steady, 8), policy, period=2.0)
    assert policy.asked == [0, 4, 8, 12]  # turns are at 0, 2, 4 …


def test_a_failure_that_lasts_is_told_once_a_minute() -> None:
    def failing(obs: Observation) -> Decision:
        raise ValueError("no idea")

    ticks = driven(Scripted(steady, 13), Policy(failing), period=10.0)
    assert told(ticks) == [(0.0, "PolicyFailed"), (60.0, "PolicyFailed"), (120.0, "PolicyFailed")]


def test_another_failure_is_told_at_once() -> None:
    def failing(obs: Observation) -> Decision:
        raise ValueError(f"no idea at {obs.time:g}")

    assert len(told(driven(Scripted(steady, 3), Policy(failing)))) == 3


def test_failures_that_are_over_are_forgotten() -> None:
    def failing(obs: Observation) -> Decision:
        raise ValueError(f"no idea at {obs.time:g}")

    engine = Scripted(steady, 200)
    loop = _Loop(engine, Autoscaler(Policy(failing), Limits(1, 8)), engine, act=True)
    assert len(list(loop.turns(1.0))) == 200
    assert len(loop._reported) == 60  # those of the last minute: 140 s to 199 s


def test_a_blind_turn_shows_the_last_figures_at_its_own_time_without_what_happened_then() -> None:
    batch, event = Batch(0, 0, 1, 0, 100), Event(0.0, "ExecutorLost", "1 was lost")

    def shows(time: float) -> Observation:
        if time > 0:
            raise OSError("no answer")
        return replace(steady(time), backlog=70.0, batches=(batch,), events=(event,))

    first, second = driven(Scripted(shows, 2), Static(2))
    assert (first.observation.batches, first.observation.events) == ((batch,), (event,))
    seen = second.observation
    assert (seen.time, seen.backlog, seen.batches) == (1.0, 70.0, ())
    assert [(e.time, e.kind, e.message) for e in seen.events] == [(1.0, "ObserveFailed", "OSError: no answer")]
    (step,) = second.steps
    assert (step.by, step.error) == ("engine", "OSError: no answer")


def test_a_failure_between_two_successes_starts_the_count_anew() -> None:
    def every_third(obs: Observation) -> Decision:
        if obs.time % 3:
            raise ValueError("no idea")
        return Decision(2, "stay")

    engine = Scripted(steady, 9)
    driven(engine, Policy(every_third), fallback=Fallback(5, after=3))
    assert engine.scaled == []  # two in a row at most
    engine = Scripted(steady, 9)
    driven(engine, Policy(every_third), fallback=Fallback(5, after=2))
    assert {decision.executors for decision in engine.scaled} == {5}


def test_a_turn_without_a_decision_is_no_success() -> None:
    def failing(obs: Observation) -> Decision:
        raise ValueError("no idea")

    engine = Scripted(steady, 5)
    driven(engine, Policy(failing, interval=2.0), fallback=Fallback(5, after=3))
    assert [decision.reason for decision in engine.scaled] == [
        "fallback to 5 after 3 failures in a row: ValueError: no idea"
    ]


def test_a_monitor_does_not_fall_back_either() -> None:
    def failing(obs: Observation) -> Decision:
        raise ValueError("no idea")

    engine = Scripted(steady, 5)
    driven(engine, Policy(failing), fallback=Fallback(5, after=1), act=False)
    assert engine.scaled == []


def test_a_fallback_needs_an_executor_a_failure_and_a_known_behavior() -> None:
    assert Fallback(1, after=1).executors == 1
    with pytest.raises(InvalidInput, match="need at least 1 executor, got 0"):
        Fallback(0)
    with pytest.raises(InvalidInput, match="need at least 1 failure before it, got 0"):
        Fallback(1, after=0)
    with pytest.raises(UnknownName, match="did you mean 'at-least'"):
        Fallback(1, behavior="atleast")
    assert Fallback(2).after == 3


def test_without_any_figure_a_policy_is_not_asked_and_with_one_of_them_it_is() -> None:
    policy = Policy(lambda obs: Decision(4, "busy"))
    scaler = Autoscaler(policy, Limits(1, 8))
    nothing = Observation(0, 2, 2, arrival_rate=5.0)
    assert scaler.decide(nothing)[-1].decision == Decision(2, "hold: the query has reported nothing yet")
    for figures in ({"processing_rate": 0.0}, {"backlog": 0.0}, {"per_executor": (ExecutorSample("0"),)}):
        assert scaler.decide(replace(nothing, **figures))[-1].decision.executors == 4  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wish", "others", "decided", "reason"),
    [
        (2, 0, 2, "busy"),  # the bounds are allowed
        (6, 0, 6, "busy"),
        (1, 0, 2, "minimum 2: busy"),
        (7, 0, 6, "maximum 6: busy"),
        (0, 0, 2, "minimum 2: busy"),
        (3, 3, 3, "busy"),  # six together
        (4, 3, 3, "maximum 6, 3 of them for other queries: busy"),
        (1, 1, 1, "busy"),  # two together
        (0, 3, 1, "minimum 2, 3 of them for other queries: busy"),  # nobody has less than one
        (1, 6, 1, "busy"),
        (2, 6, 1, "maximum 6, 6 of them for other queries: busy"),
    ],
)
def test_the_limits_of_an_application(wish: int, others: int, decided: int, reason: str) -> None:
    scaler = Autoscaler(Policy(lambda obs: Decision(wish, "busy")), Limits(2, 6))
    decision = scaler.decide(replace(steady(0), others=others))[-1].decision
    assert (decision.executors, decision.reason) == (decided, reason)


def test_limits_keep_the_evidence() -> None:
    scaler = Autoscaler(Policy(lambda obs: Decision(9, "busy", {"cpu": 0.9})), Limits(1, 8))
    assert scaler.decide(steady(0))[-1].decision.evidence == {"cpu": 0.9}


def test_a_held_engine_may_still_change_what_is_no_rescale() -> None:
    obs = replace(steady(0), held="somebody else asked for 5", batch_limit=100)
    batches = Autoscaler(Policy(lambda obs: Decision(Target(2, batch_limit=50), "smaller")), Limits(1, 8))
    assert [step.by for step in batches.decide(obs)] == ["policy"]
    more = Autoscaler(Policy(lambda obs: Decision(Target(3, batch_limit=50), "smaller")), Limits(1, 8))
    assert [step.by for step in more.decide(obs)] == ["policy", "engine"]
    assert [step.by for step in more.decide(replace(obs, held=""))] == ["policy"]


def test_what_policy_and_guards_have_learned_survives_and_fits_only_the_same_guards() -> None:
    def scaler() -> Autoscaler:
        return Autoscaler(Static(5), Limits(1, 8), (Cooldown(up=60, down=60),), name="static")

    one, other = scaler(), scaler()
    one.decide(steady(0))
    rescaled = replace(steady(10), requested=3)  # since the last decision
    assert one.decide(rescaled)[-1].by == "cooldown"
    other.recall(one.memory())
    assert other.decide(replace(rescaled, time=11))[-1].by == "cooldown"
    assert set(one.memory()) == {"policy", "guards"}
    assert len(one.memory()["guards"]) == 1
    with pytest.raises(InvalidInput, match="does not fit policy policy: 1 guards remembered, 0 here"):
        Autoscaler(Static(5), Limits(1, 8)).recall(one.memory())


def test_a_callback_is_given_every_tick() -> None:
    ticks: list[Tick] = []
    engine = Scripted(steady, 3)
    drive(engine, Autoscaler(Static(2), Limits(1, 8)), engine, (Callback(ticks.append),))
    assert [tick.observation.time for tick in ticks] == [0, 1, 2]
    assert Callback(ticks.append).name == "callback"


def test_a_valid_decision_is_the_same_object_and_others_are_made_plain() -> None:
    for decision in (
        Decision(0, "none"),
        Decision(3, "busy"),
        Decision(Target(3, {"map": 2, "sink": 1}, 500), "busy"),
        Decision(Target(3, {"map": 0}), "busy"),
        Decision(Target(3, batch_limit=0), "busy"),
    ):
        assert valid(decision) is decision
    made = valid(Decision(3.0, "busy", {"cpu": 0.5}))  # type: ignore[arg-type]
    assert (type(made.executors), made) == (int, Decision(3, "busy", {"cpu": 0.5}))
    assert valid(Decision(Target(3, {"map": 2.0}), "busy")).per_operator == {"map": 2}  # type: ignore[dict-item]
    assert valid(Decision(3, 7)).reason == "7"  # type: ignore[arg-type]
    assert valid(Decision(Target(3, batch_limit=5), 7)).reason == "7"  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="need a whole number of executors, got inf"):
        valid(Decision(float("inf"), "?"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"need workers by operator, got \[2\]"):
        valid(Decision(Target(2, [2]), "?"))  # type: ignore[arg-type]
