"""Guards temper a policy's wish, one after the other, and say why. Those with a memory key it by the observation's
time.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace

from tidegate.core import Decision, InvalidInput, Observation


@dataclass(slots=True)
class Stabilisation:
    """Act on the most cautious recommendation of a window: the largest of the last `down` seconds before going down,
    the smallest of the last `up` seconds before going up (Kubernetes: 300 and 0).

    >>> guard = Stabilisation(down=60)
    >>> obs = Observation(time=0, executors=4, requested=4)
    >>> guard.temper(Decision(4, "busy"), obs).executors
    4
    >>> guard.temper(Decision(1, "idle"), replace(obs, time=30)).reason
    'hold: 1 wished (idle), but 4 were needed within the last 60 s'
    >>> guard.temper(Decision(1, "idle"), replace(obs, time=60)).executors
    1
    """

    down: float = 300.0
    up: float = 0.0
    name: str = "stabilisation"
    _wishes: deque[tuple[float, int]] = field(default_factory=deque, repr=False)

    def __post_init__(self) -> None:
        if self.down < 0 or self.up < 0:
            raise InvalidInput(f"guard stabilisation: need windows >= 0 s, got down {self.down}, up {self.up}")

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        self._remember(obs.time, wish.executors)
        highest = max([wish.executors, *self._since(obs.time - self.down)])
        lowest = min([wish.executors, *self._since(obs.time - self.up)])
        settled = min(max(obs.requested, lowest), highest)
        if settled == wish.executors:
            return wish
        age, verb = (self.down, "were needed") if wish.executors < settled else (self.up, "would have done")
        told = f"{wish.executors} wished ({wish.reason}), but {settled} {verb} within the last {age:g} s"
        return replace(wish, executors=settled, reason=f"hold: {told}" if settled == obs.requested else told)

    def _remember(self, time: float, executors: int) -> None:
        if self._wishes and time < self._wishes[-1][0]:
            self._wishes.clear()  # the clock went back: what is remembered lies in the future
        if not self._wishes or time > self._wishes[-1][0]:
            self._wishes.append((time, executors))
        while self._wishes[0][0] <= time - max(self.down, self.up, 1.0):
            self._wishes.popleft()

    def _since(self, time: float) -> list[int]:
        return [executors for when, executors in self._wishes if when > time]


@dataclass(frozen=True, slots=True)
class StepLimit:
    """At most double, or `up` more, at once; at most `down` as a share fewer. Kubernetes: max(100 %, 4) up, 100 % down.

    >>> StepLimit(up=4).temper(Decision(20, "busy"), Observation(time=0, executors=2, requested=2)).executors
    6
    """

    up: int = 4
    factor: float = 2.0
    down: float = 1.0
    name: str = "step"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        highest = max(obs.requested + self.up, math.floor(obs.requested * self.factor))
        lowest = math.ceil(obs.requested * (1 - self.down))
        stepped = min(max(wish.executors, lowest), highest)
        if stepped == wish.executors:
            return wish
        reason = (
            f"{stepped} for now: {wish.executors} wished ({wish.reason}), in steps of {lowest} to {highest} at most"
        )
        return replace(wish, executors=stepped, reason=reason)


@dataclass(slots=True)
class Cooldown:
    """Leave time for a rescale to show its effect: hold for `up` seconds before more, for `down` seconds before
    fewer.
    """

    up: float = 0.0
    down: float = 0.0
    name: str = "cooldown"
    _requested: int | None = field(default=None, repr=False)
    _changed: float | None = field(default=None, repr=False)

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if self._requested is not None and obs.requested != self._requested:
            self._changed = obs.time
        self._requested = obs.requested
        wait = self.up if wish.executors > obs.requested else self.down
        if wish.executors == obs.requested or self._changed is None or obs.time - self._changed >= wait:
            return wish
        age = obs.time - self._changed
        told = f"{wish.executors} wished ({wish.reason}), but the last rescale is {age:.0f} s old, {wait:g} s are kept"
        return replace(wish, executors=obs.requested, reason=f"hold: {told}")
