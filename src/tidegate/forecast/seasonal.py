"""`seasonal`: the day, or the week, as it was before, at today's level.

path(t) = profile(t) * mean of the last half hour / profile's mean over it
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import MINUTE, Array, steps_in

DAY, WEEK = 86_400.0, 604_800.0
BIN = 300.0
#: bounds of the factor between today and the profile
LOWEST, HIGHEST = 0.2, 5.0
#: seconds over which today is compared with the profile
RECENT = 1800.0
#: bins that wait before the profile takes them in: it must not yet know the time with which it is compared
WAITING = 12


@dataclass(slots=True)
class Seasonal(Calibrated):
    """Mean rates of five minutes of the day and the week; the last minute's mean until a day and an hour were seen.

    After a week and an hour the week's profile is used. Older seasons fade by half with every new one (`keep`). Time is
    counted in values since the first, so a gap that is not filled shifts the season.

    >>> seasonal = Seasonal(step=300)
    >>> for k in range(2 * 288 + 72): seasonal.update(1000.0 if k % 288 < 144 else 500.0)
    >>> seasonal.ready, seasonal.forecast(73).mean[70:]  # from the sixth hour; the second half begins with the twelfth
    (True, (1000.0, 1000.0, 500.0))
    """

    keep: float = parameter(0.5, "share", "weight of the seasons before against the newest", least=0, most=1)
    _seen: int = 0
    _day: Array = field(default_factory=lambda: np.zeros(round(DAY / BIN)), repr=False)
    _week: Array = field(default_factory=lambda: np.zeros(round(WEEK / BIN)), repr=False)
    #: of the bin that is filled now: sum and count
    _open: tuple[float, int] = (0.0, 0)
    _closed: list[float] = field(default_factory=list, repr=False)
    _recent: list[float] = field(default_factory=list, repr=False)

    @property
    def ready(self) -> bool:
        return self._knows(self._day)

    def _knows(self, profile: Array) -> bool:
        return self._bin(self._seen) >= len(profile) + WAITING

    def learn(self, value: float) -> None:
        total, count = self._open
        self._open = total + value, count + 1
        begun = self._bin(self._seen)
        self._seen += 1
        self._recent = [*self._recent, value][-steps_in(RECENT, self.step) :]
        if self._bin(self._seen) != begun:
            self._close()

    def _bin(self, count: int) -> int:
        return int(count * self.step // BIN)

    def _close(self) -> None:
        """Steps longer than a bin close several."""
        passed = self._bin(self._seen) - self._bin(self._seen - 1)
        self._closed += [self._open[0] / self._open[1]] * passed
        self._open = (0.0, 0)
        while len(self._closed) > WAITING:
            self._take_in(self._bin(self._seen) - len(self._closed), self._closed.pop(0))

    def _take_in(self, number: int, mean: float) -> None:
        for profile in (self._day, self._week):
            first = number < len(profile)
            k = number % len(profile)
            profile[k] = mean if first else self.keep * profile[k] + (1 - self.keep) * mean

    def path(self, horizon: int) -> Array:
        if not self.ready:
            minute = self._recent[-steps_in(MINUTE, self.step) :]
            return np.full(horizon, sum(minute) / len(minute))
        profile = self._week if self._knows(self._week) else self._day
        return self._at(profile, np.arange(horizon) + self._seen) * self._factor(profile)

    def _at(self, profile: Array, steps: np.ndarray) -> Array:
        """Straight lines between the middles of the bins, around the end of the season."""
        return np.interp(
            (steps + 0.5) * self.step, (np.arange(len(profile)) + 0.5) * BIN, profile, period=len(profile) * BIN
        )

    def _factor(self, profile: Array) -> float:
        count = len(self._recent)
        usual = float(self._at(profile, np.arange(self._seen - count, self._seen)).sum())
        return min(max(sum(self._recent) / usual, LOWEST), HIGHEST) if usual > 0 else 1.0
