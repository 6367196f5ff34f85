import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tidegate.control import Autoscaler
from tidegate.core import Batch, Decision, Event, Lever, Limits, Observation
from tidegate.supervision.patience import Patience, TimedOut
from tidegate.supervision.patient import PatientEngine, PatientScaler


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What hanging code waits for; opened at the end so that no thread stays behind."""
    opened = threading.Event()
    yield opened
    opened.set()


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.005)
    pytest.fail("did not come true")


def test_a_call_returns_what_it_returns_and_raises_what_it_raises() -> None:
    patience = Patience("policy", limit=30)
    assert patience.call(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        patience.call(lambda: 1 / 0)
    with pytest.raises(SystemExit):
        patience.call(lambda: sys.exit(3))
    assert patience.call(lambda: 43) == 43
    patience.close()
    eventually(lambda: "tidegate-policy" not in names())


def test_a_call_that_hangs_is_left_behind_and_what_is_asked_meanwhile_fails_at_once(gate: threading.Event) -> None:
    patience = Patience("policy", limit=0.02)
    with pytest.raises(TimedOut, match=r"^policy did not return within 0.02 s$"):
        patience.call(gate.wait)
    assert patience.hangs
    asked: list[int] = []
    with pytest.raises(TimedOut, match="policy has not returned for more than"):
        patience.call(lambda: asked.append(1))
    assert asked == []
    gate.set()
    eventually(lambda: not patience.hangs)
    patience.limit = 30
    assert patience.call(lambda: "back") == "back"
    patience.close()


@dataclass
class Slow:
    """An engine that hangs at its first observation until the gate opens."""

    gate: threading.Event
    levers: frozenset[Lever] = frozenset({Lever.EXECUTORS})
    count: int = 0
    asked: list[int] = field(default_factory=list)

    def observe(self) -> Observation:
        self.count += 1
        if self.count == 1:
            self.gate.wait()
        number = self.count
        batch = Batch(number, number, number + 1, 10 * (number - 1), 10 * number)
        return Observation(number, 1, 1, batches=(batch,), events=(Event(number, "Seen", str(number)),))

    def scale(self, decision: Decision) -> None:
        self.asked.append(decision.executors)


def test_batches_of_an_observation_that_came_too_late_are_part_of_the_next(gate: threading.Event) -> None:
    slow = Slow(gate)
    engine = PatientEngine(slow, limit=0.02)
    with pytest.raises(TimedOut):
        engine.observe()
    with pytest.raises(TimedOut):
        engine.scale(Decision(2, "busy"))  # the driver does not answer at all
    gate.set()
    eventually(lambda: not engine._patience.hangs)
    engine._patience.limit = 30
    obs = engine.observe()
    assert (obs.time, [batch.id for batch in obs.batches]) == (2, [1, 2])
    assert [event.message for event in obs.events] == ["1", "2"]
    engine.scale(Decision(3, "busy"))
    assert (slow.asked, engine.levers) == ([3], slow.levers)
    assert len(engine.observe().batches) == 1
    engine.close()


@dataclass
class Thinker:
    """A policy that hangs while the gate is shut, and gives evidence that is no number."""

    gate: threading.Event
    interval: float = 5.0
    _seen: int = 0

    def observe(self, obs: Observation) -> None:
        self._seen += 1

    def decide(self, obs: Observation) -> Decision:
        self.gate.wait()
        return Decision(2, "thought", {"cpu": 0.5, "gain": float("nan"), "model": object()})  # type: ignore[dict-item]


def test_a_policy_that_hangs_is_not_waited_for_and_its_memory_is_not_taken(gate: threading.Event) -> None:
    scaler = PatientScaler(Autoscaler(Thinker(gate), Limits(1, 4), name="thinker"), limit=0.02)
    obs = Observation(0, 1, 1, processing_rate=1.0)
    scaler.observe(obs)
    assert scaler.memory() == {"policy": {"_seen": 1}, "guards": []}
    with pytest.raises(TimedOut, match="policy did not return"):
        scaler.decide(obs)
    assert scaler.memory() is None
    gate.set()
    eventually(lambda: not scaler._patience.hangs)
    scaler._patience.limit = 30
    (step,) = scaler.decide(obs)
    assert (step.decision.executors, step.decision.evidence) == (2, {"cpu": 0.5})
    assert (scaler.name, scaler.interval) == ("thinker", 5.0)
    scaler.close()
