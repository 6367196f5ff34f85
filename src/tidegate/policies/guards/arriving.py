"""Wait for executors that were requested but have not registered yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held, stays


@dataclass(slots=True)
class Arriving:
    """Hold while requested executors are still missing, so that figures measured on fewer executors are not applied to
    more.

    The wait ends `patience` seconds after they were requested or first seen to be missing, so that a cluster which
    never provides them does not block scaling for ever.

    >>> guard = Arriving(patience=60)
    >>> guard.temper(Decision(6, "busy"), Observation(time=0, executors=2, requested=4)).reason
    'hold: 6 wished (busy), but 2 of 4 executors are still to come, since 0 s; waiting up to 60 s'
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
        return held(wish, obs, f"but {missing}, since {obs.time - since:.0f} s; waiting up to {self.patience:g} s")

    def _learn(self, obs: Observation) -> float | None:
        """Since when executors are missing."""
        scaled_out = self._requested is not None and obs.requested > self._requested
        self._requested = obs.requested
        if obs.executors >= obs.requested:
            self._since = None
        elif self._since is None or scaled_out:
            self._since = obs.time
        else:
            self._since = min(self._since, obs.time)  # if the clock went back, the wait starts from there
        return self._since
