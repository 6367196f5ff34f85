"""A bank of autoregressions over one history: the adaptive members of the chooser."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.forecast.autoregression import VALUES_KEPT
from tidegate.forecast.ridge_ar import History, RidgeAr
from tidegate.forecast.values import MINUTE, Array, steps_in

#: up to this many values every model is refitted at every value: each value matters, and fits are cheap
SHORT_HISTORY = 60
#: Chosen by rolling forecasts of all named workloads (docs/forecasts.md). Fine grains recognise a wave within minutes,
#: coarse ones average out noise; models of changes follow series without a level to revert to.
SPECS = (
    RidgeAr(order=0, differenced=True),
    RidgeAr(order=5, differenced=True),
    RidgeAr(order=8, differenced=True),
    RidgeAr(order=12, grain=15, differenced=True),
    RidgeAr(order=16, grain=15, differenced=True),
    RidgeAr(order=30, grain=15),
    RidgeAr(order=3, grain=300),
)


@dataclass(slots=True)
class AutoregressionBank:
    """Refits each model once a minute, in turn, to spread the cost over the steps; at first at every value.

    >>> bank = AutoregressionBank(step=15)
    >>> for k in range(80): bank.learn(100.0 + k)
    >>> bank.paths(60).shape
    (7, 60)
    """

    step: float
    specs: tuple[RidgeAr, ...] = SPECS
    _values: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    _seen: int = 0
    #: coefficients of each specification
    _models: list[tuple[float, ...]] = field(default_factory=list, repr=False)
    #: cache: the values, and the histories computed from them, by grain and differencing
    memo: tuple[Array, dict[tuple[float, bool], History]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._models = [() for _ in self.specs]

    def learn(self, value: float) -> None:
        self._values = np.concatenate((self._values[1 - VALUES_KEPT :], (value,)))
        self._seen += 1
        turns = steps_in(MINUTE, self.step) if self._seen > SHORT_HISTORY else 1
        for k in range(self._seen % turns, len(self.specs), turns):
            self._models[k] = self.specs[k].fit_history(self._history(self.specs[k]))

    def paths(self, horizon: int) -> Array:
        """One row per model."""
        pairs = zip(self.specs, self._models, strict=True)
        return np.stack([spec.path_from(self._history(spec), model, horizon) for spec, model in pairs])

    def _history(self, spec: RidgeAr) -> History:
        """Shared by models with the same grain and differencing."""
        if self.memo is None or self.memo[0] is not self._values:
            self.memo = self._values, {}
        histories, key = self.memo[1], (spec.grain, spec.differenced)
        if key not in histories:
            histories[key] = spec.history(self._values, self.step)
        return histories[key]
