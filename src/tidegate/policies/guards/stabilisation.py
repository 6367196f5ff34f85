"""Stabilisation windows: the most conservative of the recent wishes counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, InvalidInput, Observation
from tidegate.core.levers import parallelisms
from tidegate.policies.guards.adjustments import held, moved, shared
from tidegate.policies.guards.peaks import Peaks, largest

#: name of the windows of the total
_TOTAL = ""


@dataclass(slots=True)
class Stabilisation:
    """Acts on the most conservative wish of a window: the largest of the last `down` seconds before a scale-in, the
    smallest of the last `up` seconds before a scale-out (Kubernetes: 300 and 0).

    Isolated operators have their own windows. Without an `up` window, an operator gets the largest wish of its window
    even if it never had that many workers, as in the HPA-CPU of DEBS'24.

    >>> guard = Stabilisation(down=60)
    >>> obs = Observation(time=0, executors=4, requested=4)
    >>> guard.temper(Decision(4, "busy"), obs).executors
    4
    >>> from dataclasses import replace
    >>> guard.temper(Decision(1, "idle"), replace(obs, time=30)).reason
    'hold: 1 wished (idle), but 4 were needed within the last 60 s'
    >>> guard.temper(Decision(1, "idle"), replace(obs, time=60)).executors
    1
    """

    down: float = 300.0
    up: float = 0.0
    name: str = "stabilisation"
    _highest: dict[str, Peaks] = field(default_factory=dict, repr=False)
    #: the same for negated values
    _lowest: dict[str, Peaks] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not (self.down >= 0 and self.up >= 0):
            raise InvalidInput(f"guard stabilisation: need windows >= 0 s, got down {self.down}, up {self.up}")

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        lowest, highest = self._window(_TOTAL, wish.executors, obs.time)
        if obs.isolated and wish.per_operator:
            return self._by_operator(wish, dict(wish.per_operator), obs)
        settled = min(max(obs.requested, lowest), highest)
        if settled == wish.executors:
            return wish
        verb = "were needed" if settled > wish.executors else "would have done"
        return moved(wish, obs, settled, f"but {settled} {verb} {self._age(settled > wish.executors)}")

    def _by_operator(self, wish: Decision, shares: dict[str, int], obs: Observation) -> Decision:
        now = parallelisms(obs)
        settled = {name: self._settled(name, share, now.get(name), obs.time) for name, share in shares.items()}
        if settled == shares:
            return wish
        rule = "but " + ", ".join(self._rule(name, shares[name], n) for name, n in settled.items() if n != shares[name])
        if all(now.get(name) == share for name, share in settled.items()):
            return held(wish, obs, rule)
        return shared(wish, obs, settled, rule)

    def _settled(self, name: str, share: int, now: int | None, time: float) -> int:
        lowest, highest = self._window(name, share, time)
        conservative = highest if self.up == 0 or now is None else min(max(now, lowest), highest)
        return max(1, conservative)

    def _rule(self, name: str, share: int, settled: int) -> str:
        if settled > share:
            return f"{name} needed {settled} instead of {share} {self._age(True)}"
        return f"{settled} instead of {share} would have done for {name} {self._age(False)}"

    def _age(self, more: bool) -> str:
        return f"within the last {self.down if more else self.up:g} s"

    def _window(self, name: str, value: int, time: float) -> tuple[int, int]:
        """The smallest wish of the `up` window and the largest of the `down` window, including this one."""
        lowest = -largest(self._lowest, name, -value, time, self.up)
        return lowest, largest(self._highest, name, value, time, self.down)
