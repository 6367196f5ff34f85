"""The seams: what the loop needs of the things around it, and nothing else."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tidegate.core.model import Decision, Forecast, Observation


class Policy(Protocol):
    """Learns from every observation and, when asked, wishes for a total of executors.

    `decide` changes nothing: asked twice it answers the same.
    """

    @property
    def interval(self) -> float: ...
    def observe(self, obs: Observation) -> None: ...
    def decide(self, obs: Observation) -> Decision: ...


class Guard(Protocol):
    """Tempers a wish. Returns it as it came, or another decision whose reason says why.

    A guard with a memory keys it by `obs.time`, so that tempering the same wish twice gives the same answer.
    """

    @property
    def name(self) -> str: ...
    def temper(self, wish: Decision, obs: Observation) -> Decision: ...


class Forecaster(Protocol):
    """Learns a rate step by step, and tells what is expected of the next ones. Never a negative rate."""

    #: seconds that one value stands for
    @property
    def step(self) -> float: ...
    def update(self, value: float) -> None: ...
    def forecast(self, horizon: int) -> Forecast | None:
        """The next `horizon` steps; None before the first value."""


class CapacityModel(Protocol):
    """Learns from observations how many records per second a number of executors can process."""

    def update(self, obs: Observation) -> None: ...
    def capacity(self, executors: int) -> float | None:
        """None where too little was seen to tell."""


class Engine(Protocol):
    """A running query and its executors, real or simulated."""

    def observe(self) -> Observation:
        """What can be seen now. Raises `QueryEnded` or `QueryFailed` when there is nothing more to see."""

    def scale(self, decision: Decision) -> None:
        """Declare the total that is wanted; returns at once, and saying it again is harmless."""


class Clock(Protocol):
    def now(self) -> float: ...
    def sleep_until(self, time: float) -> None: ...


@runtime_checkable
class Workload(Protocol):
    """How many records are offered, as a function of the seconds since its start."""

    @property
    def duration(self) -> float: ...
    def rate(self, time: float) -> float: ...
    def total(self, time: float) -> int:
        """Records offered in `[0, time]`; it stands still after `duration`."""
