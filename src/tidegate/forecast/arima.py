"""`arima`: ARIMA with orders found by itself, as Daedalus uses it, trained in slices instead of in a thread."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.boxjenkins import Model, differences, extended, fitted
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import MINUTE, Array, coarse, fine, steps_in

#: values kept and trained on: three hours of 15 s
KEPT = 720
#: values in a mean: the more the better, if there are enough
FACTORS = (1, 2, 4)
#: orders p and q go from 0 to this
HIGHEST = 5
#: those that fit most series first: before the first search has ended, the best so far answers
ORDERS = sorted(((p, q) for p in range(HIGHEST + 1) for q in range(HIGHEST + 1)), key=lambda pq: (sum(pq), -pq[0]))


@dataclass(slots=True)
class Search:
    """Orders still to be tried on one stretch of means of `factor` values each."""

    means: Array
    factor: int
    differences: int
    todo: list[tuple[int, int]]
    #: whether there was no model before it: then the best so far is all there is
    first: bool
    best: Model | None = None

    def advance(self) -> None:
        """Try one candidate: about a millisecond."""
        p, q = self.todo.pop(0)
        found = fitted(self.means, self.differences, p, q)
        if found and (self.best is None or found.aicc < self.best.aicc):
            self.best = found


@dataclass(slots=True)
class Arima(Calibrated):
    """The order with the least AICc among 36; d by a KPSS test. Coefficients are fitted anew every minute.

    Each value advances a search by one candidate, so no value waits for it, and a replay does the same again.
    The old model answers until the new one is found. A search begins with the first `enough` values; when there are as
    many means of two and of four values, which see further through noise; every `renewal` seconds; by `retrain()`; and
    after `patience` minutes in a row whose forecast of the minute missed by `bad` or more (WAPE). Before the first
    model the last value is the forecast.

    >>> arima = Arima()
    >>> for k in range(40): arima.update(1000.0 + 10.0 * k)
    >>> [round(rate) for rate in arima.forecast(3).mean]
    [1400, 1410, 1420]
    """

    enough: int = parameter(25, "", "means before a training", least=25, most=KEPT)
    renewal: float = parameter(3600.0, "s", "time after which orders are looked for anew", above=0)
    bad: float = parameter(0.25, "share", "WAPE of a minute's forecast that counts as bad", above=0)
    patience: int = parameter(15, "", "bad minutes in a row before a new search", least=1)
    _values: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    _seen: int = 0
    #: how many values had been seen when the last search began
    _trained: int = 0
    _model: Model | None = field(default=None, repr=False)
    #: values in a mean of the model
    _factor: int = 1
    _search: Search | None = field(default=None, repr=False)
    #: forecast of the minute that runs, and how many bad ones came in a row
    _minute: list[float] = field(default_factory=list, repr=False)
    _bad: int = 0

    def retrain(self) -> None:
        """Begin a search over the values there are; one that runs already begins again."""
        if len(self._values) < self.enough:
            return
        factor = max(one for one in FACTORS if len(self._values) >= self.enough * one)
        means = coarse(self._values, factor)
        self._search = Search(means, factor, differences(means), list(ORDERS), first=self._model is None)
        self._bad, self._trained = 0, self._seen

    def learn(self, value: float) -> None:
        self._values = np.concatenate((self._values[1 - KEPT :], (value,)))
        self._seen += 1
        if self._search is not None:
            self._advance(self._search)
        if self._due():
            self.retrain()
        if self._seen % steps_in(MINUTE, self.step) == 0:
            self._each_minute()

    def _due(self) -> bool:
        grown = self._seen in [self.enough * factor for factor in FACTORS]
        old = (self._seen - self._trained) * self.step >= self.renewal
        return grown or (self._search is None and (old or self._bad >= self.patience))

    def _advance(self, search: Search) -> None:
        search.advance()
        if not search.todo:
            self._search = None
        if search.best and (search.first or self._search is None):
            self._model, self._factor = search.best, search.factor

    def _each_minute(self) -> None:
        steps = steps_in(MINUTE, self.step)
        if len(self._minute) == steps:
            came = self._values[-steps:].tolist()
            missed = sum(abs(a - f) for a, f in zip(came, self._minute, strict=True))
            self._bad = self._bad + 1 if missed >= self.bad * sum(came) and missed > 0 else 0
        if self._model is not None:
            p, q = len(self._model.ar), len(self._model.ma)
            self._model = fitted(coarse(self._values, self._factor), self._model.d, p, q) or self._model
        self._minute = self.sound(steps).tolist()

    def path(self, horizon: int) -> Array:
        if self._model is None:
            return np.full(horizon, self._values[-1])
        means = coarse(self._values, self._factor)
        ahead = extended(means, self._model, -(-horizon // self._factor) + 1)
        return ahead[:horizon] if self._factor == 1 else fine(float(means[-1]), ahead, self._factor, horizon)
