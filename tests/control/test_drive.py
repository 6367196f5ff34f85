from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from tidegate.control import Autoscaler, drive
from tidegate.control import ticks as turns
from tidegate.control.fallback import Fallback
from tidegate.control.sinks import KeptTicks
from tidegate.core import (
    Decision,
    ExecutorShape,
    InvalidLimits,
    Lever,
    Limits,
    Observation,
    QueryEnded,
    QueryFailed,
    Sink,
    Target,
    Tick,
)
from tidegate.policies import Cooldown, Static


@dataclass
class Line:
    """An engine that gives its executors at once and ends after some observations."""

    length: int
    time: float = 0.0
    executors: int = 1
    asked: list[int] = field(default_factory=list)
    failure: Exception = field(default_factory=lambda: QueryEnded("over"))
    levers: frozenset[Lever] = frozenset({Lever.EXECUTORS})

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
    return list(turns(engine, Autoscaler(policy, limits, name="script"), engine, act=act))  # type: ignore[arg-type]


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


def events(made: list[Tick]) -> list[tuple[float, str, str]]:
    return [(event.time, event.kind, event.message) for tick in made for event in tick.observation.events]


def test_a_policy_that_raises_becomes_a_hold_and_an_event_that_name_it() -> None:
    made = ticks(Line(length=3), Script(iter([])))
    assert made[0].decision is not None
    assert made[0].decision.reason.startswith("hold: the policy failed: StopIteration")
    # at 0 and 2 s it was asked; what repeats itself is reported once a minute
    assert events(made) == [(0.0, "PolicyFailed", "script: StopIteration: ")]
    assert len(made) == 3


@dataclass
class Broken:
    """A guard that raises."""

    name: str = "broken"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        raise ValueError("no idea")


def test_a_guard_that_raises_becomes_a_hold_and_an_event_that_name_it() -> None:
    engine = Line(length=2)
    made = list(turns(engine, Autoscaler(Static(5), EIGHT, (Broken(),), name="static"), engine))
    assert made[0].decision == Decision(1, "hold: the guard broken failed: ValueError: no idea")
    assert [(step.by, step.error) for step in made[0].steps] == [("static", None), ("broken", "ValueError: no idea")]
    assert events(made) == [(0.0, "GuardFailed", "broken: ValueError: no idea")]
    assert (engine.asked, len(made)) == ([], 2)


@dataclass
class Flaky(Line):
    """Raises at some observations, counted from 0, and whenever it is asked to scale."""

    blind: frozenset[int] = frozenset()
    refuses: bool = False
    seen: int = 0

    def observe(self) -> Observation:
        self.seen += 1
        if self.seen - 1 in self.blind:
            raise RuntimeError("the driver does not answer")
        return super().observe()

    def scale(self, decision: Decision) -> None:
        if self.refuses:
            raise OSError("no room in the cluster")
        super().scale(decision)


def test_an_observation_that_raises_becomes_a_hold_and_an_event_and_the_loop_goes_on() -> None:
    made = ticks(Flaky(length=3, blind=frozenset({1, 2})), Script(iter([3, 3, 3])))
    assert [tick.observation.time for tick in made] == [0, 1, 2, 3, 4]
    # at 1 and 2 s the last observation stands, without what happened then, and nothing is decided on it
    assert made[2].decision == Decision(1, "hold: observing failed: RuntimeError: the driver does not answer")
    assert not made[2].acted
    assert events(made) == [(1.0, "ObserveFailed", "RuntimeError: the driver does not answer")]
    # the decision that was due at 2 s is not made up for: the next one is at 4 s
    assert [tick.acted for tick in made] == [True, False, False, False, False]


def test_an_observation_that_raises_at_once_is_an_event_of_the_first_tick_there_is() -> None:
    made = ticks(Flaky(length=1, blind=frozenset({0})), Static(1))
    assert [tick.observation.time for tick in made] == [1]
    assert events(made) == [(0.0, "ObserveFailed", "RuntimeError: the driver does not answer")]


def test_an_engine_that_cannot_scale_becomes_a_hold_and_an_event_and_is_asked_again() -> None:
    engine = Flaky(length=3, refuses=True)
    made = ticks(engine, Script(iter([3, 3])))
    assert made[0].decision == Decision(1, "hold: scaling failed: OSError: no room in the cluster")
    assert [step.by for step in made[0].steps] == ["script", "engine"]
    assert [tick.acted for tick in made] == [False, False, False]
    assert events(made) == [(0.0, "ScaleFailed", "OSError: no room in the cluster")]
    engine.refuses, engine.length = False, 1
    assert ticks(engine, Script(iter([3])))[0].acted


@dataclass
class Leaky:
    """A sink that raises at some ticks, by their times."""

    at: frozenset[float]
    name: str = "leaky"
    taken: int = 0

    def take(self, tick: Tick) -> None:
        if tick.observation.time in self.at:
            raise OSError("disk full")
        self.taken += 1


def test_a_sink_that_raises_becomes_an_event_of_the_next_tick_and_the_others_see_all() -> None:
    engine, leaky, kept = Line(length=4), Leaky(frozenset({1.0, 2.0})), KeptTicks()
    sinks: tuple[Sink, ...] = (leaky, kept)
    drive(engine, Autoscaler(Static(2), EIGHT), engine, sinks)
    assert [tick.observation.time for tick in kept.ticks] == [0, 1, 2, 3]
    assert events(kept.ticks) == [(1.0, "SinkFailed", "leaky: OSError: disk full")]
    assert kept.ticks[2].observation.events  # in the tick after the one it failed at
    assert (leaky.taken, engine.asked) == (2, [2])


def test_it_ends_where_it_is_told_to_even_if_nothing_can_be_observed() -> None:
    engine, asked = Flaky(length=9, blind=frozenset(range(99))), list[Tick | None]()

    def third(tick: Tick | None) -> bool:
        asked.append(tick)
        return len(asked) == 3

    drive(engine, Autoscaler(Static(2), EIGHT), engine, until=third)
    assert asked == [None, None, None]


@dataclass
class Wisher:
    """Wishes for a target."""

    target: Target
    interval: float = 2.0

    def observe(self, obs: Observation) -> None:
        """Learns nothing."""

    def decide(self, obs: Observation) -> Decision:
        return Decision(self.target, "larger")


def test_a_lever_that_the_engine_lacks_is_refused_aloud_and_the_others_are_moved() -> None:
    engine = Line(length=1)
    (tick,) = ticks(engine, Wisher(Target(3, batch_limit=500, shape=ExecutorShape(cores=2))))
    said = "the engine cannot change records per batch, shape of executors: larger"
    assert [(step.by, step.decision) for step in tick.steps[1:]] == [("engine", Decision(3, said))]
    assert events([tick]) == [(0.0, "LeverRefused", said)]
    assert (tick.acted, engine.asked) == (True, [3])
    (tick,) = ticks(Line(length=1), Wisher(Target(1, batch_limit=500)))
    assert not tick.acted
    assert events([tick]) == [(0.0, "LeverRefused", "the engine cannot change records per batch: larger")]


def test_a_lever_that_the_engine_has_is_moved_though_the_executors_stay() -> None:
    engine = Line(length=1, levers=frozenset({Lever.EXECUTORS, Lever.BATCH_LIMIT}))
    (tick,) = ticks(engine, Wisher(Target(1, batch_limit=500)))
    assert (tick.acted, events([tick])) == (True, [])


def test_limits_bound_a_target_and_leave_its_other_levers() -> None:
    (tick,) = ticks(
        Line(length=1, levers=frozenset(Lever)), Wisher(Target(99, {"map": 60, "sink": 39}, 500)), limits=Limits(1, 5)
    )
    assert tick.decision is not None
    # one each and 3 more: 59 to 38 of 97, so 1.8 to 1.2
    assert tick.decision.target == Target(5, {"map": 3, "sink": 2}, 500)


def test_a_failed_query_is_an_error_an_ended_one_is_not() -> None:
    assert len(ticks(Line(length=1), Static(1))) == 1
    with pytest.raises(QueryFailed, match="boom"):
        ticks(Line(length=1, failure=QueryFailed("boom")), Static(1))


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(InvalidLimits, match="need 0 < minimum <= maximum executors, got 4, 2"):
        Limits(4, 2)
    with pytest.raises(InvalidLimits):
        Limits(0, 2)


@dataclass
class Odd:
    """Decides whatever it is told, or raises it."""

    decision: object
    interval: float = 1.0

    def observe(self, obs: Observation) -> None:
        """Learns nothing."""

    def decide(self, obs: Observation) -> Decision:
        if isinstance(self.decision, BaseException):
            raise self.decision
        return self.decision  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("decision", "error"),
    [
        (Decision(float("nan"), "?"), "InvalidInput: need a whole number of executors, got nan"),  # type: ignore[arg-type]
        (Decision(1.5, "?"), "InvalidInput: need a whole number of executors, got 1.5"),  # type: ignore[arg-type]
        (Decision(True, "?"), "InvalidInput: need a whole number of executors, got True"),
        (Decision("3", "?"), "InvalidInput: need a whole number of executors, got '3'"),  # type: ignore[arg-type]
        (Decision(-1, "?"), "InvalidInput: need a number of executors of at least 0, got -1"),
        (Decision(Target(2, {"map": 0.5}), "?"), "InvalidInput: need a whole number of workers of map, got 0.5"),  # type: ignore[dict-item]
        (
            Decision(Target(2, batch_limit=-5), "?"),
            "InvalidInput: need a number of records per batch of at least 0, got -5",
        ),
        (None, "InvalidInput: need a Decision, got NoneType"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_a_decision_that_cannot_be_carried_out_is_a_hold_and_an_event(decision: object, error: str) -> None:
    engine = Line(length=2)
    made = ticks(engine, Odd(decision))
    assert made[0].decision == Decision(1, f"hold: the policy failed: {error}")
    assert events(made) == [(0.0, "PolicyFailed", f"script: {error}")]
    assert (engine.asked, len(made)) == ([], 2)


class Whole:
    """A whole number of another library."""

    def __index__(self) -> int:
        return 3

    __int__ = __index__

    def __float__(self) -> float:
        return 3.0

    def __eq__(self, other: object) -> bool:
        return other == 3

    def __lt__(self, other: float) -> bool:
        return other > 3

    __hash__ = None  # type: ignore[assignment]


def test_whole_numbers_of_other_types_become_plain_ones() -> None:
    engine = Line(length=1)
    (tick,) = ticks(engine, Odd(Decision(Whole(), "counted")))  # type: ignore[arg-type]
    assert type(engine.asked[0]) is int
    assert (engine.asked, tick.acted) == ([3], True)


def test_a_guard_that_returns_nonsense_is_a_hold_that_names_it() -> None:
    @dataclass
    class Half:
        name: str = "half"

        def temper(self, wish: Decision, obs: Observation) -> Decision:
            return Decision(wish.executors / 2, "half")  # type: ignore[arg-type]

    engine = Line(length=1)
    made = list(turns(engine, Autoscaler(Static(5), EIGHT, (Half(),), name="static"), engine))
    assert events(made) == [(0.0, "GuardFailed", "half: InvalidInput: need a whole number of executors, got 2.5")]


def test_ctrl_c_ends_the_loop_from_anywhere() -> None:
    with pytest.raises(KeyboardInterrupt):
        ticks(Line(length=2), Odd(KeyboardInterrupt()))


@pytest.mark.parametrize("interval", [float("nan"), -1.0])
def test_an_interval_that_is_none_is_an_event_and_the_period_stands_for_it(interval: float) -> None:
    made = ticks(Line(length=3), Script(iter([1, 1, 1]), interval=interval))
    assert [tick.decision is not None for tick in made] == [True, True, True]
    said = f"script: InvalidInput: need an interval of at least 0 s, got {interval}"
    assert events(made) == [(0.0, "PolicyFailed", said)]


def test_limits_hold_for_the_sum_with_other_queries() -> None:
    scaler = Autoscaler(Static(5), Limits(4, 6), name="static")
    obs = Observation(0, 1, 1, processing_rate=1.0, others=3)
    decision = scaler.decide(obs)[-1].decision
    assert (decision.executors, decision.reason) == (3, "maximum 6, 3 of them for other queries: always 5")
    few = Autoscaler(Script(iter([0, 1, 2])), Limits(4, 6))
    assert few.decide(replace(obs, others=2))[-1].decision.executors == 2  # two and two are the minimum
    assert few.decide(replace(obs, others=9))[-1].decision.executors == 1  # nobody has less than one
    assert len(few.decide(replace(obs, others=2))) == 1


def test_while_the_engine_is_held_nothing_is_rescaled_and_the_reason_says_why() -> None:
    scaler = Autoscaler(Script(iter([3, 1])), EIGHT)
    obs = Observation(0, 1, 1, processing_rate=1.0, held="somebody else asked for 5")
    assert scaler.decide(obs)[-1].decision == Decision(1, "hold: 3 wished, but somebody else asked for 5")
    assert [step.by for step in scaler.decide(obs)] == ["policy"]


def test_after_failures_in_a_row_it_falls_back_until_a_decision_succeeds() -> None:
    engine = Line(length=5)
    kept = KeptTicks()
    policy = Script(iter([]), interval=1.0)
    scaler = Autoscaler(policy, EIGHT, name="script")

    def mended(tick: Tick | None) -> bool:
        if engine.time == 3:
            policy.wishes = iter([2, 2])
        return False

    drive(engine, scaler, engine, (kept,), fallback=Fallback(6, after=2), until=mended)
    assert engine.asked == [6, 2]
    assert [[step.by for step in tick.steps] for tick in kept.ticks] == [
        ["script"],
        ["script", "fallback"],
        ["script", "fallback"],
        ["script", "fallback"],
        ["script"],
    ]
    assert ("FallbackActivated", "6 executors: StopIteration: ") in [(k, m) for _, k, m in events(kept.ticks)]


def test_it_falls_back_when_nothing_can_be_observed_and_asks_once() -> None:
    engine, kept = Flaky(length=1, blind=frozenset(range(1, 6))), KeptTicks()
    drive(engine, Autoscaler(Static(1), EIGHT), engine, (kept,), fallback=Fallback(4, after=3))
    assert engine.asked == [4]
    assert [tick.acted for tick in kept.ticks] == [False, False, False, True, False, False]


def test_a_fallback_of_at_least_never_scales_in() -> None:
    obs = Observation(0, 6, 6)
    assert Fallback(4, after=1, behavior="at-least").failed(obs, "E") == Decision(
        6, "fallback to 6 after 1 failures in a row: E"
    )
    assert Fallback(4, after=1).failed(obs, "E") == Decision(4, "fallback to 4 after 1 failures in a row: E")
    assert Fallback().failed(obs, "E") is None
