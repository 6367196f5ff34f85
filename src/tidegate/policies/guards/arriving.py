"""Executors that were asked for and are not there yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held, stays


@dataclass(slots=True)
class Arriving:
    """Hold while executors are still coming, so that figures measured on fewer are not applied to more.

    At most `patience` seconds after they were asked for, or were first seen to be missing: a cluster that never gives
    them does not block for ever.

    >>> guard = Arriving(patience=60)
    >>> guard.temper(Decision(6, "busy"), Observation(time=0, executors=2, requested=4)).reason
    'hold: 6 wished (busy), but 2 of 4 executors are still to come, since 0 s; 60 s are waited'
    >>> guard.temper(Decision(6, "busy"), Observation(time=60, executors=2, requested=4)).executors
    6
    """

    patience: float = 60.0
    name: str = "arriving"
    _requested: int | None = field(default=None, repr=False)
    _since: float | None = field(default=None, repr=False)

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        since = self._learn(obs)
        if since is None or stays(wish, obs) or obs.time - since >= self.patience:
            return wish
        missing = f"{obs.requested - obs.executors} of {obs.requested} executors are still to come"
        return held(wish, obs, f"but {missing}, since {obs.time - since:.0f} s; {self.patience:g} s are waited")

    def _learn(self, obs: Observation) -> float | None:
        asked = self._requested is not None and obs.requested > self._requested
        self._requested = obs.requested
        if obs.executors >= obs.requested:
            self._since = None
        elif self._since is None or asked:
            self._since = obs.time
        else:
            self._since = min(self._since, obs.time)  # the clock went back: wait from here, not for the future
        return self._since
