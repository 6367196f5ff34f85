"""`arima`: ARIMA with automatic order selection, as in Daedalus, trained in slices instead of in a thread."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.boxjenkins import MAX_ORDER, ArimaModel, difference_order, fit_arima, forecast_arima
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import MINUTE, Array, block_means, interpolate_means, steps_in

#: values kept for training: three hours of 15 s steps
VALUES_KEPT = 720
#: block lengths in values; the longest with enough blocks is used
FACTORS = (1, 2, 4)
#: all (p, q), simplest first: while the first search runs, the best model so far is used
ORDERS = sorted(((p, q) for p in range(MAX_ORDER + 1) for q in range(MAX_ORDER + 1)), key=lambda pq: (sum(pq), -pq[0]))


@dataclass(slots=True)
class Search:
    """An order search in progress, over means of `factor` values each."""

    means: Array
    factor: int
    differences: int
    #: orders still to be tried
    todo: list[tuple[int, int]]
    #: no model precedes it, so that its best model so far is used before it ends
    first: bool
    best: ArimaModel | None = None

    def advance(self) -> None:
        """Fit one candidate: about a millisecond."""
        p, q = self.todo.pop(0)
        model = fit_arima(self.means, self.differences, p, q)
        if model and (self.best is None or model.aicc < self.best.aicc):
            self.best = model


@dataclass(slots=True)
class Arima(Calibrated):
    """p and q by AICc among 36 candidates, d by KPSS tests. Coefficients are refitted every minute.

    Each value advances a running search by one candidate, so that no update blocks and a replay trains at the same
    moments. The old model is used until a search has ended. A search starts at `enough` values; at `enough` means of
    two and of four values, which average out more noise; every `renewal` seconds; on `retrain()`; and after `patience`
    consecutive minutes whose forecast had a WAPE of `bad` or more. Before the first model the forecast is the last
    value.

    >>> arima = Arima()
    >>> for k in range(40): arima.update(1000.0 + 10.0 * k)
    >>> [round(rate) for rate in arima.forecast(3).mean]
    [1400, 1410, 1420]
    """

    enough: int = parameter(25, "", "means required for training", least=25, most=VALUES_KEPT)
    renewal: float = parameter(3600.0, "s", "time between order searches", above=0)
    bad: float = parameter(0.25, "share", "WAPE from which a minute's forecast counts as bad", above=0)
    patience: int = parameter(15, "", "consecutive bad minutes before a new search", least=1)
    _values: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    _seen: int = 0
    #: `_seen` when the last search started
    _trained: int = 0
    _model: ArimaModel | None = field(default=None, repr=False)
    #: block length of the model, in values
    _factor: int = 1
    _search: Search | None = field(default=None, repr=False)
    #: forecast of the current minute
    _minute: list[float] = field(default_factory=list, repr=False)
    #: consecutive bad minutes
    _bad: int = 0

    def retrain(self) -> None:
        """Start an order search on the current values; a running search is restarted."""
        if len(self._values) < self.enough:
            return
        factor = max(factor for factor in FACTORS if len(self._values) >= self.enough * factor)
        means = block_means(self._values, factor)
        self._search = Search(means, factor, difference_order(means), list(ORDERS), first=self._model is None)
        self._bad, self._trained = 0, self._seen

    def learn(self, value: float) -> None:
        self._values = np.concatenate((self._values[1 - VALUES_KEPT :], (value,)))
        self._seen += 1
        if self._search is not None:
            self._advance(self._search)
        if self._search_due():
            self.retrain()
        if self._seen % steps_in(MINUTE, self.step) == 0:
            self._each_minute()

    def _search_due(self) -> bool:
        longer_blocks = self._seen in [self.enough * factor for factor in FACTORS]
        expired = (self._seen - self._trained) * self.step >= self.renewal
        return longer_blocks or (self._search is None and (expired or self._bad >= self.patience))

    def _advance(self, search: Search) -> None:
        search.advance()
        if not search.todo:
            self._search = None
        if search.best and (search.first or self._search is None):
            self._model, self._factor = search.best, search.factor

    def _each_minute(self) -> None:
        """Score the last minute's forecast, refit the coefficients and forecast the next minute."""
        steps = steps_in(MINUTE, self.step)
        if len(self._minute) == steps:
            actual = self._values[-steps:].tolist()
            error = sum(abs(a - f) for a, f in zip(actual, self._minute, strict=True))
            self._bad = self._bad + 1 if error >= self.bad * sum(actual) and error > 0 else 0
        if self._model is not None:
            p, q = len(self._model.ar), len(self._model.ma)
            self._model = fit_arima(block_means(self._values, self._factor), self._model.d, p, q) or self._model
        self._minute = self.valid_path(steps).tolist()

    def path(self, horizon: int) -> Array:
        if self._model is None:
            return np.full(horizon, self._values[-1])
        means = block_means(self._values, self._factor)
        ahead = forecast_arima(means, self._model, -(-horizon // self._factor) + 1)
        if self._factor == 1:
            return ahead[:horizon]
        return interpolate_means(float(means[-1]), ahead, self._factor, horizon)
