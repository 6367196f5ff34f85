"""From samples at any time to a forecaster's even steps."""

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

Thing = TypeVar("Thing")

#: samples kept for `recent`: an hour of seconds
KEPT = 3600


def wape(actual: Sequence[float], forecast: Sequence[float]) -> float | None:
    """Sum of absolute errors over the sum of what came; over the shorter of the two. None where nothing came.

    >>> wape([100.0, 300.0], [110.0, 270.0])  # (10 + 30) / 400
    0.1
    """
    pairs = list(zip(actual, forecast, strict=False))
    total = math.fsum(abs(a) for a, _ in pairs)
    return math.fsum(abs(a - f) for a, f in pairs) / total if total else None


def fresh(thing: Thing) -> Thing:
    """The same set-up without what was learned, that is without the fields that begin with `_`.

    What is no dataclass is returned as it is.
    """
    if not is_dataclass(thing) or isinstance(thing, type):
        return thing
    kept = (one.name for one in fields(thing) if one.init and not one.name.startswith("_"))
    again: Any = type(thing)
    return again(**{name: fresh(getattr(thing, name)) for name in kept})  # type: ignore[no-any-return]


@dataclass(slots=True)
class Outlook:
    """A forecaster that is shown a rate whenever one was seen, and makes the means of its steps itself.

    A step is complete when a sample of a later one comes. Steps without a sample are filled with the last value, up
    to `gap` seconds: after a longer silence nothing of what was learned is sure, and it begins anew. If the clock goes
    back, the step that was open is dropped and the next begins there; what was learned stays. A sample at
    the time of the one before is ignored: asking twice must not count twice.

    >>> from tidegate.forecast.last import LastValue
    >>> outlook = Outlook(LastValue())
    >>> for second in range(31): outlook.observe(second, 100.0 if second < 15 else 200.0)
    >>> outlook.ahead(30).mean, outlook.recent(5)  # two whole steps, (100 + 200) / 2
    ((150.0, 150.0), 200.0)
    """

    forecaster: Forecaster = field(default_factory=Chooser)
    gap: float = parameter(600.0, "s", "longest silence that is filled with the last value", least=0)
    #: start of the step that is open; sum and count of its samples
    _begin: float | None = None
    _sum: float = 0.0
    _count: int = 0
    _last: float | None = None
    _samples: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT), repr=False)

    def __post_init__(self) -> None:
        check(self, "outlook")
        if not self.forecaster.step > 0:
            raise InvalidInput(f"outlook: need a forecaster whose step is > 0 s, got {self.forecaster.step}")

    def observe(self, time: float, rate: float | None) -> None:
        """A rate at a time; None, or what is no number, tells nothing."""
        if rate is None or not (math.isfinite(rate) and math.isfinite(time)):
            return
        if self._samples and time <= self._samples[-1][0]:
            if time == self._samples[-1][0]:
                return
            self._go_back(time)
        self._move_on(time)
        self._sum, self._count = self._sum + max(rate, 0.0), self._count + 1
        self._samples.append((time, max(rate, 0.0)))

    def _go_back(self, time: float) -> None:
        self._samples.clear()
        self._open(time)

    def _open(self, begin: float) -> None:
        self._begin, self._sum, self._count = begin, 0.0, 0

    def _move_on(self, time: float) -> None:
        """Close the steps that ended before a time."""
        if self._begin is None:
            self._open(time)
            return
        step = self.forecaster.step
        if self._samples and time - self._samples[-1][0] > self.gap:
            self.forecaster, self._last = fresh(self.forecaster), None
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
        """The next so many seconds, from the end of the last whole step; None before there was one."""
        return self.forecaster.forecast(max(1, math.ceil(seconds / self.forecaster.step)))

    def retrain(self) -> None:
        """Ask a forecaster that trains to begin anew; the others learn with every value."""
        train = getattr(self.forecaster, "retrain", None)
        if train is not None:
            train()

    def recent(self, seconds: float) -> float | None:
        """Mean of the samples of the last seconds before the newest, it included; None before the first."""
        if not self._samples:
            return None
        newest = self._samples[-1][0]
        after = newest - seconds
        late = takewhile(lambda sample: sample[0] > after, reversed(self._samples))
        kept = [rate for _, rate in late] or [self._samples[-1][1]]
        return math.fsum(kept) / len(kept)
