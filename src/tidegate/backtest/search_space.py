"""The search space of tuning: the parameters of a policy, and random candidates within a factor of the current
values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tidegate.core import Parameter
from tidegate.presets import Options, preset

#: factor by which a value may differ from the initial one
REACH = 4.0
#: guards that are tuned for every policy
GUARDS = ("down-window", "cooldown-up", "cooldown-down")
#: parameters that are not tuned: decision interval, properties of the query, a fixed number of executors
EXCLUDED = ("interval", "trigger", "executors")
#: the policy that never rescales, so it has nothing to tune
FIXED = "static"
#: bounds in seconds for durations that are initially off (0)
SHORTEST, LONGEST = 15.0, 1200.0
#: probability that a knob is changed, and that one which can be off is switched on or off
TURNED, SWITCHED = 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Knob:
    """A tunable number between `low` and `high`; with `off`, 0 is also valid and switches it off."""

    parameter: Parameter
    start: float
    low: float
    high: float
    off: bool = False

    @property
    def name(self) -> str:
        return self.parameter.name

    def draw(self, now: float, reach: float, random: Random) -> float:
        """A random value within a factor `reach` of `now`, on a log scale: half and double are equally likely."""
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


def knobs(policy: str, options: Options) -> list[Knob]:
    """The knobs of a policy, starting from its options. Text parameters, switches and intervals are not tuned."""
    if policy == FIXED:
        return []
    definition = preset(policy)
    parameters = [parameter for parameter in definition.own.values() if parameter.name not in EXCLUDED]
    tunable = [*parameters, *(definition.guards[name] for name in GUARDS if name in definition.guards)]
    candidates = [_knob(parameter, options.get(parameter.name, parameter.default)) for parameter in tunable]
    return [knob for knob in candidates if knob is not None]


def _knob(parameter: Parameter, start: float | str) -> Knob | None:
    switch = isinstance(parameter.default, int) and parameter.most == 1
    if isinstance(parameter.default, str) or isinstance(start, str) or switch:
        return None
    off = parameter.unit == "s" and parameter.above is None and parameter.default == 0
    if not off and start <= 0:
        return None
    low, high = (start / REACH, start * REACH) if start else (SHORTEST, LONGEST)
    most = parameter.most if parameter.most is not None else max(1.0, start) if parameter.unit == "share" else math.inf
    return Knob(parameter, float(start), max(low, parameter.least or 0.0), min(high, most), off)


def turned(knobs: Sequence[Knob], now: Mapping[str, float], reach: float, random: Random) -> dict[str, float]:
    """A random candidate near `now`, with at least one knob changed."""
    must = random.randrange(len(knobs))
    return {
        knob.name: knob.draw(now[knob.name], reach, random) if k == must or random.random() < TURNED else now[knob.name]
        for k, knob in enumerate(knobs)
    }
