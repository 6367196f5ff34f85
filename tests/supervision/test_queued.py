import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tidegate.core import Observation, Tick
from tidegate.supervision.queued import QueuedSink


def tick(time: float) -> Tick:
    return Tick(Observation(time, 1, 1))


def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.005)
    pytest.fail("did not come true")


@dataclass
class Gated:
    """A sink that waits for its gate, and raises at some times."""

    gate: threading.Event = field(default_factory=threading.Event)
    fails: frozenset[float] = frozenset()
    name: str = "gated"
    times: list[float] = field(default_factory=list)
    busy: threading.Event = field(default_factory=threading.Event)

    def take(self, tick: Tick) -> None:
        self.busy.set()
        self.gate.wait()
        if tick.observation.time in self.fails:
            raise SystemExit("no more")
        self.times.append(tick.observation.time)


def test_a_sink_that_is_stuck_delays_nobody_and_the_oldest_ticks_are_dropped_and_counted() -> None:
    sink = Gated()
    queued = QueuedSink(sink, capacity=3)
    queued.take(tick(0))
    sink.busy.wait()  # it has the first one, so that the queue is empty
    for time in range(1, 7):
        queued.take(tick(time))
    assert (queued.dropped, sink.times) == (3, [])
    sink.gate.set()
    queued.close(patience=30)
    assert sink.times == [0, 4, 5, 6]


def test_what_a_sink_raises_is_raised_at_the_next_tick_once_and_it_goes_on() -> None:
    sink = Gated(fails=frozenset({1.0}))
    sink.gate.set()
    queued = QueuedSink(sink)
    queued.take(tick(1))
    eventually(lambda: queued._error is not None)
    with pytest.raises(SystemExit):
        queued.take(tick(2))
    queued.take(tick(3))
    queued.close(patience=30)
    assert (sink.times, queued.name) == ([2, 3], "gated")


def test_closing_does_not_wait_for_a_sink_that_is_stuck() -> None:
    sink = Gated()
    queued = QueuedSink(sink)
    queued.take(tick(0))
    queued.close(patience=0.01)
    sink.gate.set()
    eventually(lambda: sink.times == [0])
