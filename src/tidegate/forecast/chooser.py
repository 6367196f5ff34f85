"""`chooser`: the default. Several members, weighted by what each missed lately, and distrust of the whole.

    loss   = sum of |error| / sqrt(mean |error| of all members)    over half an hour and leads up to 15 minutes
    weight = (least loss / loss) ** power

Errors that all members share, as of a jump that nobody could see, thereby count for less. Beside this mixture stands a
simple one, of means of the last minute, five and fifteen, and a random walk with a drift. Where the mixture was no
better than the simple one lately, the answer moves over to it:

    ratio = 2 * mean of mixture's error / (mixture's + simple one's error)        1 where they are alike
    trust = (WORSE - ratio) / (WORSE - BETTER), from 0 to 1
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.bank import Bank
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.holt import Holt
from tidegate.forecast.judge import Judge
from tidegate.forecast.last import LastValue
from tidegate.forecast.quantiles import REACH
from tidegate.forecast.seasonal import Seasonal
from tidegate.forecast.values import MOST, Array

POWER, SIMPLE_POWER = 6.0, 20.0
BETTER, WORSE = 1.0, 1.1
#: of the rows of `_paths`: last, calm, steady and the first of the bank, a random walk with a drift; seasonal is last
SIMPLE = slice(0, 4)


@dataclass(slots=True)
class Chooser(Calibrated):
    """Members learn at every value; their paths at a few leads are kept until what came can be held against them.

    A new job is forecast by its last minutes; after some ten minutes waves, ramps and levels are told apart; after a
    whole day the season of the day has a say.

    >>> chooser = Chooser()
    >>> for k in range(240): chooser.update(1000.0 + 500.0 * np.cos(2 * np.pi * k / 240))
    >>> [round(rate, -2) for rate in chooser.forecast(60).mean[::59]]  # after one wave of an hour: top and middle
    [1500.0, 1000.0]
    """

    power: float = parameter(POWER, "", "how much more a better member counts", least=0)
    last: LastValue = field(init=False, repr=False)
    calm: LastValue = field(init=False, repr=False)
    steady: LastValue = field(init=False, repr=False)
    holt: Holt = field(init=False, repr=False)
    bank: Bank = field(init=False, repr=False)
    seasonal: Seasonal = field(init=False, repr=False)
    _members: Judge = field(init=False, repr=False)
    _mixtures: Judge = field(init=False, repr=False)
    #: drawn after the last value: mixture and simple mixture
    _drawn: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Calibrated.__post_init__(self)
        self.last, self.calm = LastValue(self.step), LastValue(self.step, window=300.0)
        self.steady = LastValue(self.step, window=900.0)
        self.holt, self.bank, self.seasonal = Holt(self.step), Bank(self.step), Seasonal(self.step)
        self._members, self._mixtures = Judge.of(5 + len(self.bank.recipes)), Judge.of(2)

    def learn(self, value: float) -> None:
        for member in (self.last, self.calm, self.steady, self.holt, self.seasonal):
            member.take(value)
        self.bank.learn(value)
        paths = self._paths(REACH)
        self._members.update(value, paths)
        drawn = self._mix(paths)
        self._mixtures.update(value, drawn)
        self._drawn = drawn

    def _paths(self, horizon: int) -> Array:
        calm = [member.path(horizon) for member in (self.last, self.calm, self.steady)]
        others = [self.holt.path(horizon), self.seasonal.path(horizon)]
        paths = np.vstack((*calm, self.bank.paths(horizon), *others))
        unknown = np.isnan(paths)
        if unknown.any():
            paths[unknown] = self._last or 0.0
        return np.asarray(np.minimum(np.maximum(paths, 0.0), MOST))

    def _mix(self, paths: Array) -> Array:
        able = slice(0, len(paths) if self.seasonal.ready else -1)
        mixture = self._members.weights(self.power, able) @ paths[able]
        simple = self._members.weights(SIMPLE_POWER, SIMPLE) @ paths[SIMPLE]
        drawn: Array = np.stack((mixture, simple))
        return drawn

    @property
    def trust(self) -> float:
        """From 0, the simple mixture alone, to 1."""
        return min(max((WORSE - self._mixtures.ratio()) / (WORSE - BETTER), 0.0), 1.0)

    def path(self, horizon: int) -> Array:
        drawn = self._drawn
        if drawn is None or horizon > REACH:
            drawn = self._mix(self._paths(horizon))
        trust = self.trust
        return np.asarray(trust * drawn[0, :horizon] + (1 - trust) * drawn[1, :horizon])
