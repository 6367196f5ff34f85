"""Resampling of irregular rate samples to the even steps of a forecaster."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import takewhile
from typing import Any, TypeVar

from tidegate.core import Forecast, Forecaster, InvalidInput
from tidegate.core.parameter_fields import check, parameter
from tidegate.forecast.chooser import Chooser

T = TypeVar("T")

#: samples kept for `recent`: an hour at one per second
SAMPLES_KEPT = 3600


def wape(actual: Sequence[float], forecast: Sequence[float]) -> float | None:
    """Weighted absolute percentage error: sum of absolute errors over the sum of actual values.

    Sequences of different length are compared over the shorter one. None if the actual values sum to 0.

    >>> wape([100.0, 300.0], [110.0, 270.0])  # (10 + 30) / 400
    0.1
    """
    pairs = list(zip(actual, forecast, strict=False))
    total = math.fsum(abs(a) for a, _ in pairs)
    return math.fsum(abs(a - f) for a, f in pairs) / total if total else None


def untrained(forecaster: T) -> T:
    """A copy with the same parameters and without the learned state, that is, the fields that begin with `_`.

    An object that is not a dataclass is returned unchanged.
    """
    if not is_dataclass(forecaster) or isinstance(forecaster, type):
        return forecaster
    names = (item.name for item in fields(forecaster) if item.init and not item.name.startswith("_"))
    cls: Any = type(forecaster)
    return cls(**{name: untrained(getattr(forecaster, name)) for name in names})  # type: ignore[no-any-return]


@dataclass(slots=True)
class Outlook:
    """Feeds a forecaster with the step means of rate samples taken at any time.

    A step is closed by the first sample after it. Steps without samples repeat the last mean, for up to `gap` seconds;
    after a longer gap the forecaster is reset, because its state may be obsolete. If the clock goes back, the open step
    is dropped and a new one starts there; the forecaster keeps its state. A repeated sample time is ignored.

    >>> from tidegate.forecast.last import LastValue
    >>> outlook = Outlook(LastValue())
    >>> for second in range(31): outlook.observe(second, 100.0 if second < 15 else 200.0)
    >>> outlook.ahead(30).mean, outlook.recent(5)  # two whole steps, (100 + 200) / 2
    ((150.0, 150.0), 200.0)
    """

    forecaster: Forecaster = field(default_factory=Chooser)
    gap: float = parameter(600.0, "s", "longest gap that is filled with the last mean", least=0)
    #: start of the open step, and the sum and count of its samples
    _begin: float | None = None
    _sum: float = 0.0
    _count: int = 0
    _last: float | None = None
    _samples: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=SAMPLES_KEPT), repr=False)

    def __post_init__(self) -> None:
        check(self, "outlook")
        if not self.forecaster.step > 0:
            raise InvalidInput(f"outlook: need a forecaster whose step is > 0 s, got {self.forecaster.step}")

    def observe(self, time: float, rate: float | None) -> None:
        """Add a sample. None and values that are not finite are ignored."""
        if rate is None or not (math.isfinite(rate) and math.isfinite(time)):
            return
        if self._samples and time <= self._samples[-1][0]:
            if time == self._samples[-1][0]:
                return
            self._restart_step(time)
        self._close_until(time)
        self._sum, self._count = self._sum + max(rate, 0.0), self._count + 1
        self._samples.append((time, max(rate, 0.0)))

    def _restart_step(self, time: float) -> None:
        self._samples.clear()
        self._open(time)

    def _open(self, begin: float) -> None:
        self._begin, self._sum, self._count = begin, 0.0, 0

    def _close_until(self, time: float) -> None:
        """Close the steps that end at or before `time`."""
        if self._begin is None:
            self._open(time)
            return
        step = self.forecaster.step
        if self._samples and time - self._samples[-1][0] > self.gap:
            self.forecaster, self._last = untrained(self.forecaster), None
            self._open(time)
            return
        passed = math.floor((time - self._begin) / step)
        if passed < 1:
            return
        for _ in range(passed):
            self._close()
        self._open(self._begin + passed * step)

    def _close(self) -> None:
        if self._count:
            self._last = self._sum / self._count
            self._sum, self._count = 0.0, 0
        if self._last is not None:
            self.forecaster.update(self._last)

    def ahead(self, seconds: float) -> Forecast | None:
        """Forecast of the next `seconds`, from the end of the last closed step; None before the first."""
        return self.forecaster.forecast(max(1, math.ceil(seconds / self.forecaster.step)))

    def retrain(self) -> None:
        """Pass on to a forecaster with a `retrain` method; others learn from every value anyway."""
        retrain = getattr(self.forecaster, "retrain", None)
        if retrain is not None:
            retrain()

    def recent(self, seconds: float) -> float | None:
        """Mean of the samples in the `seconds` up to the newest, at least that one; None before the first."""
        if not self._samples:
            return None
        newest = self._samples[-1][0]
        start = newest - seconds
        in_window = takewhile(lambda sample: sample[0] > start, reversed(self._samples))
        rates = [rate for _, rate in in_window] or [self._samples[-1][1]]
        return math.fsum(rates) / len(rates)
