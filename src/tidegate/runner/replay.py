"""A stored run as an engine: what a policy would have decided on what was seen then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegate.control import Autoscaler, ticks
from tidegate.core import Decision, Lever, Observation, QueryEnded, Tick


@dataclass(slots=True)
class Recorded:
    """Engine and clock in one: an observation for each period, whatever is asked for.

    Its clock counts periods: a real one is late by a few thousandths of a second each time, and never early.
    """

    observations: Sequence[Observation]
    period: float = 1.0
    _seen: int = 0
    _time: float = 0.0

    def now(self) -> float:
        return self._time

    def sleep_until(self, time: float) -> None:
        self._time = time

    @property
    def levers(self) -> frozenset[Lever]:
        return frozenset(Lever)

    def observe(self) -> Observation:
        if self._seen == len(self.observations):
            raise QueryEnded("the recording is over")
        self._seen += 1
        return self.observations[self._seen - 1]

    def scale(self, decision: Decision) -> None:
        """What was, was."""


def replay(observations: Sequence[Observation], scaler: Autoscaler, period: float = 1.0) -> Iterator[Tick]:
    """The loop over what was seen then, every `period` seconds."""
    engine = Recorded(observations, period)
    return ticks(engine, scaler, engine, period=period)
