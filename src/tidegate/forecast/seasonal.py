"""`seasonal`: the average day, or week, scaled to the current level.

path(t) = profile(t) * mean of the last half hour / mean of the profile over the same half hour
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.core.parameter_fields import parameter
from tidegate.forecast.calibrated import Calibrated
from tidegate.forecast.values import MINUTE, Array, steps_in

DAY, WEEK = 86_400.0, 604_800.0
BIN = 300.0
#: bounds of the ratio of the current level to the profile
MIN_RATIO, MAX_RATIO = 0.2, 5.0
#: seconds over which the current level is compared with the profile
RECENT = 1800.0
#: bins withheld from the profile, so that it does not yet include the period it is compared with
DELAY = 12


@dataclass(slots=True)
class Seasonal(Calibrated):
    """Profiles of the day and the week in five-minute bins; the last minute's mean until a day and an hour were seen.

    After a week and an hour the weekly profile is used. Each new season halves the weight of the older ones (`keep`).
    Time is counted in values since the first one, so that unfilled gaps shift the season.

    >>> seasonal = Seasonal(step=300)
    >>> for k in range(2 * 288 + 72): seasonal.update(1000.0 if k % 288 < 144 else 500.0)
    >>> seasonal.ready, seasonal.forecast(73).mean[70:]  # at 06:00; the rate drops at 12:00
    (True, (1000.0, 1000.0, 500.0))
    """

    keep: float = parameter(0.5, "share", "weight of earlier seasons against the newest", least=0, most=1)
    _seen: int = 0
    _day: Array = field(default_factory=lambda: np.zeros(round(DAY / BIN)), repr=False)
    _week: Array = field(default_factory=lambda: np.zeros(round(WEEK / BIN)), repr=False)
    #: sum and count of the current bin
    _open: tuple[float, int] = (0.0, 0)
    #: means of complete bins that are not in the profile yet
    _closed: list[float] = field(default_factory=list, repr=False)
    _recent: list[float] = field(default_factory=list, repr=False)

    @property
    def ready(self) -> bool:
        """Whether the daily profile is complete."""
        return self._complete(self._day)

    def _complete(self, profile: Array) -> bool:
        return self._bin(self._seen) >= len(profile) + DELAY

    def learn(self, value: float) -> None:
        total, count = self._open
        self._open = total + value, count + 1
        current_bin = self._bin(self._seen)
        self._seen += 1
        self._recent = [*self._recent, value][-steps_in(RECENT, self.step) :]
        if self._bin(self._seen) != current_bin:
            self._close_bins()

    def _bin(self, count: int) -> int:
        return int(count * self.step // BIN)

    def _close_bins(self) -> None:
        """Close the current bin; a step longer than a bin closes several."""
        passed = self._bin(self._seen) - self._bin(self._seen - 1)
        self._closed += [self._open[0] / self._open[1]] * passed
        self._open = (0.0, 0)
        while len(self._closed) > DELAY:
            self._add_to_profiles(self._bin(self._seen) - len(self._closed), self._closed.pop(0))

    def _add_to_profiles(self, number: int, mean: float) -> None:
        for profile in (self._day, self._week):
            first_season = number < len(profile)
            k = number % len(profile)
            profile[k] = mean if first_season else self.keep * profile[k] + (1 - self.keep) * mean

    def path(self, horizon: int) -> Array:
        if not self.ready:
            minute = self._recent[-steps_in(MINUTE, self.step) :]
            return np.full(horizon, sum(minute) / len(minute))
        profile = self._week if self._complete(self._week) else self._day
        return self._at(profile, np.arange(horizon) + self._seen) * self._level_ratio(profile)

    def _at(self, profile: Array, steps: np.ndarray) -> Array:
        """Profile at the given steps, interpolated linearly between bin centres, periodic."""
        return np.interp(
            (steps + 0.5) * self.step, (np.arange(len(profile)) + 0.5) * BIN, profile, period=len(profile) * BIN
        )

    def _level_ratio(self, profile: Array) -> float:
        count = len(self._recent)
        expected = float(self._at(profile, np.arange(self._seen - count, self._seen)).sum())
        return min(max(sum(self._recent) / expected, MIN_RATIO), MAX_RATIO) if expected > 0 else 1.0
