"""What of a policy can be tuned, and how candidates are drawn: by factors, within bounds around what is set now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tidegate.core import Parameter
from tidegate.presets import Options, preset

#: by which a value may differ from where the search starts
REACH = 4.0
#: guards that are tuned with every policy
GUARDS = ("down-window", "cooldown-up", "cooldown-down")
#: how often to look, what the query is, and how many when nothing is decided: not for a search to change
LEFT = ("interval", "trigger", "executors")
#: never changes its mind, so there is nothing to temper
FIXED = "static"
#: seconds, of times that are off (0) where the search starts
SHORTEST, LONGEST = 15.0, 1200.0
#: chances that a knob is turned, and that one which can be off is switched
TURNED, SWITCHED = 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Knob:
    """A number between `low` and `high`, and 0 too where that switches it off."""

    parameter: Parameter
    start: float
    low: float
    high: float
    off: bool = False

    @property
    def name(self) -> str:
        return self.parameter.name

    def draw(self, now: float, reach: float, random: Random) -> float:
        """Another value, at most a factor `reach` from `now`; on a log scale, so that half and double are as likely."""
        if self.off and random.random() < SWITCHED:
            now = 0.0 if now else self.low * (self.high / self.low) ** random.random()
        if now:
            now *= reach ** random.uniform(-1, 1)
        return self._fit(now)

    def _fit(self, value: float) -> float:
        if self.off and not value:
            return 0.0
        within = float(f"{min(max(value, self.low), self.high):.2g}")
        if isinstance(self.parameter.default, int):
            within = max(round(within), math.ceil(self.low))
        return within if self.parameter.admits(within) else self.start


def knobs(policy: str, given: Options) -> list[Knob]:
    """Those of a policy, from its options on. Texts, switches and times between decisions are left as they are."""
    if policy == FIXED:
        return []
    known = preset(policy)
    own = [one for one in known.own.values() if one.name not in LEFT]
    found = [*own, *(known.guards[name] for name in GUARDS if name in known.guards)]
    made = [_knob(one, given.get(one.name, one.default)) for one in found]
    return [knob for knob in made if knob is not None]


def _knob(one: Parameter, start: float | str) -> Knob | None:
    if isinstance(one.default, str) or isinstance(start, str) or (isinstance(one.default, int) and one.most == 1):
        return None
    off = one.unit == "s" and one.above is None and one.default == 0
    if not off and start <= 0:
        return None
    low, high = (start / REACH, start * REACH) if start else (SHORTEST, LONGEST)
    most = one.most if one.most is not None else max(1.0, start) if one.unit == "share" else math.inf
    return Knob(one, float(start), max(low, one.least or 0.0), min(high, most), off)


def turned(found: Sequence[Knob], now: Mapping[str, float], reach: float, random: Random) -> dict[str, float]:
    """A candidate near `now`: at least one knob is turned, the others as chance has it."""
    must = random.randrange(len(found))
    return {
        knob.name: knob.draw(now[knob.name], reach, random) if k == must or random.random() < TURNED else now[knob.name]
        for k, knob in enumerate(found)
    }
