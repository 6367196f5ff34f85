from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from tidegate.control import Autoscaler, control
from tidegate.core import Decision, InvalidLimits, Limits, Observation, QueryEnded, QueryFailed, Tick
from tidegate.policies import Cooldown, Static


@dataclass
class Line:
    """An engine that gives its executors at once and ends after some observations."""

    length: int
    time: float = 0.0
    executors: int = 1
    asked: list[int] = field(default_factory=list)
    failure: Exception = field(default_factory=lambda: QueryEnded("over"))

    def observe(self) -> Observation:
        self.length -= 1
        if self.length < 0:
            raise self.failure
        return Observation(self.time, self.executors, self.executors, processing_rate=1.0)

    def scale(self, decision: Decision) -> None:
        self.asked.append(decision.executors)
        self.executors = decision.executors

    def now(self) -> float:
        return self.time

    def sleep_until(self, time: float) -> None:
        self.time = time


@dataclass
class Script:
    """Wishes for what it is told, one after the other."""

    wishes: Iterator[int]
    interval: float = 2.0
    seen: int = 0

    def observe(self, obs: Observation) -> None:
        self.seen += 1

    def decide(self, obs: Observation) -> Decision:
        return Decision(next(self.wishes), "told so")


EIGHT = Limits(1, 8)


def ticks(engine: Line, policy: object, *, act: bool = True, limits: Limits = EIGHT) -> list[Tick]:
    return list(control(engine, Autoscaler(policy, limits, name="script"), engine, act=act))  # type: ignore[arg-type]


def test_it_observes_every_period_decides_every_interval_and_acts_on_changes_only() -> None:
    engine, policy = Line(length=6), Script(iter([3, 3, 1]))
    made = ticks(engine, policy)
    assert policy.seen == 6
    assert [t.decision.executors if t.decision else None for t in made] == [3, None, 3, None, 1, None]
    assert [t.acted for t in made] == [True, False, False, False, True, False]
    assert engine.asked == [3, 1]


def test_monitor_decides_the_same_and_never_acts() -> None:
    engine = Line(length=4)
    made = ticks(engine, Script(iter([3, 2])), act=False)
    assert [t.decision.executors for t in made if t.decision] == [3, 2]
    assert engine.asked == []


def test_limits_always_hold_and_leave_their_reason() -> None:
    made = ticks(Line(length=1), Script(iter([99])), limits=Limits(1, 4))
    assert [(step.by, step.decision.executors) for step in made[0].steps] == [("script", 99), ("limits", 4)]
    assert made[0].decision == Decision(4, "maximum 4: told so")


def test_guards_temper_in_order_and_only_those_that_change_something_are_steps() -> None:
    scaler = Autoscaler(Static(5), Limits(1, 3), (Cooldown(up=60, down=60),), name="static")
    obs = Observation(time=0, executors=1, requested=1, processing_rate=1.0)
    assert [step.by for step in scaler.decide(obs)] == ["static", "limits"]
    later = replace(obs, time=10, requested=2)  # somebody rescaled a moment ago
    assert [step.by for step in scaler.decide(later)] == ["static", "cooldown"]
    assert scaler.decide(later)[-1].decision.executors == 2


def test_nothing_reported_yet_means_hold() -> None:
    scaler = Autoscaler(Static(5), Limits(1, 8))
    (step,) = scaler.decide(Observation(time=0, executors=1, requested=1))
    assert step.decision == Decision(1, "hold: the query has reported nothing yet")


def test_a_policy_that_raises_becomes_a_hold_that_names_it() -> None:
    made = ticks(Line(length=3), Script(iter([])))
    assert made[0].decision is not None
    assert made[0].decision.reason.startswith("hold: the policy failed: StopIteration")
    assert len(made) == 3


def test_a_failed_query_is_an_error_an_ended_one_is_not() -> None:
    assert len(ticks(Line(length=1), Static(1))) == 1
    with pytest.raises(QueryFailed, match="boom"):
        ticks(Line(length=1, failure=QueryFailed("boom")), Static(1))


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(InvalidLimits, match="need 0 < minimum <= maximum executors, got 4, 2"):
        Limits(4, 2)
    with pytest.raises(InvalidLimits):
        Limits(0, 2)
