"""A forecast with a fallback: a forecaster is used only while its last forecast was good, as Daedalus does with ARIMA
(3.3).

Once per loop, the forecast made one loop ago is compared with the actual load. If its weighted absolute percentage
error Σ|w - f| / Σw was too large, the next forecast is a straight line through the last loop instead. After many poor
loops in a row the forecaster is retrained.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Forecast, check, parameter
from tidegate.forecast import Linear, Outlook, forecaster


@dataclass(slots=True)
class ForecastWithFallback:
    """`ahead` returns the forecaster's forecast, or a straight line if the last forecast was wrong or there was none to
    compare yet.
    """

    forecaster: str = parameter("arima", "", "name of the forecaster (see docs/forecasts.md)")
    wape_limit: float = parameter(0.25, "share", "error above which the straight line is used", above=0)
    retrain_wape: float = parameter(0.10, "share", "error from which a loop counts as poor", above=0)
    retrain_after: int = parameter(15, "loops", "poor loops in a row before retraining", least=1)
    #: seconds between two comparisons; set by the owner to its own interval
    loop: float = 60.0
    outlook: Outlook = field(init=False)
    line: Outlook = field(init=False)
    #: the forecast that is compared with the load, and when it was made
    _told: Forecast | None = None
    _told_at: float = 0.0
    #: sums over the running loop: absolute error, and load
    _wrong: float = 0.0
    _offered: float = 0.0
    #: error of the last loop, and the number of poor loops in a row
    _wape: float | None = None
    _poor: int = 0

    def __post_init__(self) -> None:
        check(self, "forecast")
        self.outlook = Outlook(forecaster(self.forecaster))
        self.line = Outlook(Linear())

    def observe(self, time: float, rate: float | None) -> None:
        if rate is None:
            return
        self.outlook.observe(time, rate)
        self.line.observe(time, rate)
        elapsed = time - self._told_at
        if self._told is not None and 0 < elapsed <= self.loop:
            self._wrong += abs(rate - self._told.at(elapsed))
            self._offered += rate
        if self._told is None or not 0 <= elapsed < self.loop:
            self._end_loop()
            self._told, self._told_at = self.outlook.ahead(self.loop), time

    def recent(self, seconds: float) -> float | None:
        return self.outlook.recent(seconds)

    def ahead(self, seconds: float) -> Forecast | None:
        return (self.outlook if self.trusted else self.line).ahead(seconds)

    @property
    def trusted(self) -> bool:
        return self._wape is not None and self._wape < self.wape_limit

    def evidence(self) -> dict[str, float]:
        return {} if self._wape is None else {"wape": self._wape}

    def _end_loop(self) -> None:
        """Compute the error of the loop that has ended, and retrain after too many poor ones."""
        if self._told is None or self._offered <= 0:
            self._wape = None
        else:
            self._wape = self._wrong / self._offered
            self._poor = self._poor + 1 if self._wape >= self.retrain_wape else 0
        self._wrong = self._offered = 0.0
        if self._poor >= self.retrain_after:
            self._poor = 0
            self.outlook.retrain()
