"""Wait for the state of the query to spread over the executors."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held, stays


@dataclass(slots=True)
class Uneven:
    """Hold while state is still moving to executors that have too little of it: the old ones look overloaded and the
    new ones idle, and neither says what all of them can do together.

    The wait ends `patience` seconds after it began, so that state that never spreads does not block scaling for ever.
    With each rescale it begins again.

    >>> guard = Uneven(patience=60)
    >>> moving = Observation(time=0, executors=4, requested=4, uneven="9 state partitions are on their way")
    >>> guard.temper(Decision(6, "busy"), moving).reason
    'hold: 6 wished (busy), but 9 state partitions are on their way, since 0 s; waiting up to 60 s'
    """

    patience: float = 60.0
    name: str = "uneven"
    _since: float | None = field(default=None, repr=False)
    _requested: int | None = field(default=None, repr=False)

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if not obs.uneven:
            self._since = None
            return wish
        if obs.requested != self._requested:
            self._since, self._requested = None, obs.requested
        # if the clock went back, the wait starts from there
        self._since = since = obs.time if self._since is None else min(self._since, obs.time)
        if stays(wish, obs) or obs.time - since >= self.patience:
            return wish
        return held(wish, obs, f"but {obs.uneven}, since {obs.time - since:.0f} s; waiting up to {self.patience:g} s")
