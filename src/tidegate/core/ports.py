"""Protocols of the components that the loop works with."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tidegate.core.model import Decision, Forecast, Observation, Tick
from tidegate.core.target import Lever


class Policy(Protocol):
    """Learns from every observation and decides on a target when asked.

    `decide` changes no state: calling it twice gives the same answer.
    """

    @property
    def interval(self) -> float: ...
    def observe(self, obs: Observation) -> None: ...
    def decide(self, obs: Observation) -> Decision: ...


class Guard(Protocol):
    """Tempers a decision: returns it unchanged, or another one whose reason explains the change.

    A guard with state keys it by `obs.time`, so that tempering the same decision twice gives the same answer.
    """

    @property
    def name(self) -> str: ...
    def temper(self, wish: Decision, obs: Observation) -> Decision: ...


class Forecaster(Protocol):
    """Learns a rate step by step and forecasts the next steps. Forecasts are never negative."""

    #: seconds covered by one value
    @property
    def step(self) -> float: ...
    def update(self, value: float) -> None: ...
    def forecast(self, horizon: int) -> Forecast | None:
        """Forecast for the next `horizon` steps; None before the first value."""


class CapacityModel(Protocol):
    """Learns from observations how many records per second a number of executors can process."""

    def update(self, obs: Observation) -> None: ...
    def capacity(self, executors: int) -> float | None:
        """None while too little has been observed."""


class Engine(Protocol):
    """A running query and its executors, real or simulated."""

    @property
    def levers(self) -> frozenset[Lever]:
        """What the engine can change; a decision about anything else is refused and reported as an event."""

    def observe(self) -> Observation:
        """The current state. Raises `QueryEnded` or `QueryFailed` once the query is over."""

    def scale(self, decision: Decision) -> None:
        """Declare the desired target. Returns immediately; repeating a target has no effect."""


class Sink(Protocol):
    """Receives every tick of a run, e.g. a store or a log. Its exceptions become events and do not end the run."""

    @property
    def name(self) -> str: ...
    def take(self, tick: Tick) -> None: ...


class Clock(Protocol):
    def now(self) -> float: ...
    def sleep_until(self, time: float) -> None: ...


@runtime_checkable
class Workload(Protocol):
    """The rate of offered records as a function of seconds since its start."""

    @property
    def duration(self) -> float: ...
    def rate(self, time: float) -> float: ...
    def total(self, time: float) -> int:
        """Records offered in `[0, time]`; constant after `duration`."""
