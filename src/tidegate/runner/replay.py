"""Replays a stored run: what a policy would have decided on its observations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegate.control import Autoscaler, ticks
from tidegate.core import Decision, Lever, Observation, QueryEnded, Tick


@dataclass(slots=True)
class Recorded:
    """Engine and clock of a replay: one observation per period, regardless of decisions.

    The clock counts periods, since recorded times are late by a few milliseconds each, and never early.
    """

    observations: Sequence[Observation]
    period: float = 1.0
    _replayed: int = 0
    _time: float = 0.0

    def now(self) -> float:
        return self._time

    def sleep_until(self, time: float) -> None:
        self._time = time

    @property
    def levers(self) -> frozenset[Lever]:
        return frozenset(Lever)

    def observe(self) -> Observation:
        if self._replayed == len(self.observations):
            raise QueryEnded("the recording is over")
        self._replayed += 1
        return self.observations[self._replayed - 1]

    def scale(self, decision: Decision) -> None:
        """Ignored, as the recording cannot change."""


def replay(observations: Sequence[Observation], scaler: Autoscaler, period: float = 1.0) -> Iterator[Tick]:
    """Run the loop over recorded observations, one every `period` seconds."""
    engine = Recorded(observations, period)
    return ticks(engine, scaler, engine, period=period)
