"""Cooldown: a pause after each rescale."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, Observation
from tidegate.core.levers import parallelisms
from tidegate.policies.guards.adjustments import held, stays


@dataclass(slots=True)
class Cooldown:
    """Gives a rescale time to take effect: holds for `up` seconds before a scale-out, for `down` seconds before a
    scale-in, and for the longer of the two before workers move between operators.

    Rescales are detected from the observations, no matter who requested them. Workers that are lost or arrive late do
    not count.

    >>> guard = Cooldown(up=60)
    >>> guard.temper(Decision(4, "busy"), Observation(0, 2, 2)).executors
    4
    >>> guard.temper(Decision(6, "busy"), Observation(15, 4, 4)).executors
    4
    >>> guard.temper(Decision(6, "busy"), Observation(20, 4, 4)).reason
    'hold: 6 wished (busy), but the last rescale is 5 s old, 60 s are kept'
    """

    up: float = 0.0
    down: float = 0.0
    name: str = "cooldown"
    _requested: int | None = field(default=None, repr=False)
    #: workers of each operator when they last added up to the requested number
    _operators: dict[str, int] = field(default_factory=dict, repr=False)
    _changed: float | None = field(default=None, repr=False)

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        self._learn(obs)
        if self._changed is None or stays(wish, obs):
            return wish
        age, wait = obs.time - self._changed, self._wait(wish, obs)
        if age >= wait:
            return wish
        return held(wish, obs, f"but the last rescale is {age:.0f} s old, {wait:g} s are kept")

    def _wait(self, wish: Decision, obs: Observation) -> float:
        if wish.executors == obs.requested:
            return max(self.up, self.down)
        return self.up if wish.executors > obs.requested else self.down

    def _learn(self, obs: Observation) -> None:
        if self._rescaled(obs):
            self._changed = obs.time
        elif self._changed is not None:
            self._changed = min(self._changed, obs.time)  # if the clock went back, the wait starts from there
        self._requested = obs.requested
        if obs.isolated and sum((now := parallelisms(obs)).values()) == obs.requested:
            self._operators = now

    def _rescaled(self, obs: Observation) -> bool:
        if self._requested is None or obs.requested != self._requested:
            return self._requested is not None
        if not obs.isolated:
            return False
        now, last = parallelisms(obs), self._operators
        return now != last and sum(now.values()) == sum(last.values()) == obs.requested
