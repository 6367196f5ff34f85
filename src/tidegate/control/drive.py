"""The driver: observe, decide, act, and show each turn to the sinks. Every run goes through it, attached, live or
simulated; it knows protocols only, and neither clock nor engine.

Nothing but the end of the query ends it. What an observation, a policy, a guard, the engine or a sink raises becomes an
event and, where a decision was due, a hold with the reason; the next turn begins as if nothing had happened. After a
number of turns without a decision, the executors can fall back to a number that was chosen for this case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tidegate.control.fallback import Fallback
from tidegate.control.validity import CONTROL
from tidegate.core import (
    Clock,
    Decision,
    Engine,
    Event,
    InvalidInput,
    Observation,
    QueryEnded,
    QueryFailed,
    Sink,
    Step,
    Tick,
    changed_levers,
    hold,
)
from tidegate.core.levers import without

#: seconds for which the same failure is reported once
REPEAT = 60.0


class Scaler(Protocol):
    """What decides: a policy with its guards and limits (`Autoscaler`), or something around one."""

    @property
    def name(self) -> str: ...
    @property
    def interval(self) -> float: ...
    def observe(self, obs: Observation) -> None: ...
    def decide(self, obs: Observation) -> tuple[Step, ...]: ...


def drive(  # noqa: PLR0913, the parts of a run and how often it turns
    engine: Engine,
    scaler: Scaler,
    clock: Clock,
    sinks: Sequence[Sink] = (),
    *,
    period: float = 1.0,
    act: bool = True,
    until: Callable[[Tick | None], bool] = lambda tick: False,
    fallback: Fallback | None = None,
) -> None:
    """Run the loop until the query ends or `until` says so; a query that fails raises `QueryFailed`.

    Each tick goes to every sink in their order. `until` is asked after each turn; it is given None where nothing could
    be observed yet.
    """
    loop = _Loop(engine, scaler, clock, act, fallback or Fallback())
    for tick in loop.turns(period):
        if tick is not None:
            for sink in sinks:
                loop.show(sink, tick)
        if until(tick):
            return


def ticks(engine: Engine, scaler: Scaler, clock: Clock, *, period: float = 1.0, act: bool = True) -> Iterator[Tick]:
    """The same loop as a generator, for those who want each tick before the next turn begins."""
    turns = _Loop(engine, scaler, clock, act).turns(period)
    return (tick for tick in turns if tick is not None)


@dataclass(slots=True)
class _Loop:
    engine: Engine
    scaler: Scaler
    clock: Clock
    act: bool
    fallback: Fallback = field(default_factory=Fallback)
    #: the last observation that succeeded
    _last: Observation | None = None
    #: waiting for the next tick
    _pending: list[Event] = field(default_factory=list)
    #: (source, text) of failures, and when each was last reported
    _reported: dict[tuple[str, str], float] = field(default_factory=dict)

    def turns(self, period: float) -> Iterator[Tick | None]:
        """Observe every `period` seconds, decide every `interval` of the autoscaler."""
        due = -math.inf
        try:
            while True:
                started = self.clock.now()
                decides = started >= due
                tick = self._turn(started, decides)
                if decides:
                    due = started + self._interval(period)
                yield tick
                self.clock.sleep_until(started + period)
        except QueryEnded:
            return

    def show(self, sink: Sink, tick: Tick) -> None:
        try:
            sink.take(tick)
        except CONTROL:
            raise
        except BaseException as error:
            self._report("SinkFailed", f"{sink.name}: {_text(error)}", tick.observation.time)

    def _interval(self, period: float) -> float:
        try:
            interval = self.scaler.interval
            if not interval >= 0:
                raise InvalidInput(f"need an interval of at least 0 s, got {interval!r}")
        except CONTROL:
            raise
        except BaseException as error:
            self._report("PolicyFailed", f"{self.scaler.name}: {_text(error)}", self.clock.now())
            return period
        return interval

    def _turn(self, now: float, decides: bool) -> Tick | None:
        try:
            obs = self.engine.observe()
        except (QueryEnded, QueryFailed, *CONTROL):
            raise
        except BaseException as error:
            return self._blind(now, _text(error))
        self._last = obs
        steps = self._decided(obs, decides)
        if steps and (errors := [step for step in steps if step.error]):
            for step in errors:
                kind = "PolicyFailed" if step.by == self.scaler.name else "GuardFailed"
                self._report(kind, f"{step.by}: {step.error}", obs.time)
            steps = self._fallen_back(obs, steps, str(errors[-1].error))
        elif steps:
            self.fallback.succeeded()
        tick = self._acted(obs, steps)
        return self._with_events(tick) if self._pending else tick

    def _fallen_back(self, obs: Observation, steps: tuple[Step, ...], error: str) -> tuple[Step, ...]:
        """The steps of a failed decision, and the fallback if it is due."""
        decision = self.fallback.failed(obs, error)
        if decision is None:
            return steps
        self._report("FallbackActivated", f"{decision.executors} executors: {error}", obs.time)
        return (*steps, Step("fallback", decision))

    def _decided(self, obs: Observation, decides: bool) -> tuple[Step, ...]:
        try:
            self.scaler.observe(obs)
            return self.scaler.decide(obs) if decides else ()
        except CONTROL:
            raise
        except BaseException as error:
            text = _text(error)
            return (Step(self.scaler.name, hold(obs, f"the policy failed: {text}"), text),)

    def _acted(self, obs: Observation, steps: tuple[Step, ...]) -> Tick:
        if not steps or not self.act:
            return Tick(obs, steps)
        decision = steps[-1].decision
        changed = changed_levers(decision.target, obs)
        if not changed:
            return Tick(obs, steps)
        missing = [lever for lever in changed if lever not in self.engine.levers]
        if missing:
            text = f"the engine cannot change {', '.join(missing)}: {decision.reason}"
            self._report("LeverRefused", text, obs.time)
            decision = Decision(without(decision.target, missing, obs), text, decision.evidence)
            steps = (*steps, Step("engine", decision))
            if len(missing) == len(changed):
                return Tick(obs, steps)
        try:
            self.engine.scale(decision)
        except CONTROL:
            raise
        except BaseException as error:
            text = _text(error)
            self._report("ScaleFailed", text, obs.time)
            return Tick(obs, (*steps, Step("engine", hold(obs, f"scaling failed: {text}"), text)))
        return Tick(obs, steps, acted=True)

    def _blind(self, now: float, text: str) -> Tick | None:
        """Nothing could be observed: the last observation stands, without the batches it brought, and all is held."""
        self._report("ObserveFailed", text, now)
        if self._last is None:
            return None
        stale = replace(self._last, time=now, batches=(), events=())
        steps: tuple[Step, ...] = (Step("engine", hold(stale, f"observing failed: {text}"), text),)
        tick = self._acted(stale, self._fallen_back(stale, steps, text))
        if tick.acted and tick.decision:  # the next stale observation must not repeat the request
            self._last = replace(self._last, requested=tick.decision.executors)
        return self._with_events(tick)

    def _with_events(self, tick: Tick) -> Tick:
        pending, self._pending = self._pending, []
        obs = replace(tick.observation, events=(*tick.observation.events, *pending))
        return Tick(obs, tick.steps, tick.acted)

    def _report(self, kind: str, message: str, now: float) -> None:
        """As an event of the next tick that is shown; one that repeats itself once a minute."""
        key = (kind, message)
        if now - self._reported.get(key, -math.inf) < REPEAT:
            return
        self._reported = {old: at for old, at in self._reported.items() if now - at < REPEAT}
        self._reported[key] = now
        self._pending.append(Event(now, kind, message))


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
