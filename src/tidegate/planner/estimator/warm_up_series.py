"""The windows of a warm-up: the rate of the next, and what they say once the query is steady."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import fmean

from tidegate.planner.estimator.phases import LEAST_RATE, MOST, Measurement, WarmUp
from tidegate.planner.estimator.search_settings import SearchSettings
from tidegate.planner.estimator.steadiness import is_steady
from tidegate.planner.estimator.verdict import Limit, Outcome, outcomes

#: how much faster than so far a query may become in a window, without its batches being cut short: a steady one, and
#: one whose rate still grows by more than `RISING` from window to window, as it is compiled or began with too little
HEADROOM, RISING_HEADROOM, RISING = 1.2, 4.0, 0.25
#: standard errors by which throughput may differ at the end of the warm-up's time, when only a clear trend is a reason
#: not to begin
LAST_ERRORS = 2.0
#: backlog to keep, in windows, and the share of what differs from it that a window corrects: the backlog is that of the
#: last batch that was planned, and who corrects all of it makes the rate swing between too much and too little
KEPT, GAIN = 1.0, 0.3
#: lowest rate of a window, as a share of the processed rate
LEAST_SHARE = 0.25
#: relative deviation between windows that is assumed, and the number of windows that it counts for
USUAL_NOISE, USUAL_WINDOWS = 0.02, 2


@dataclass(slots=True)
class WarmUpSeries:
    """A warm-up keeps the query busy all the time. Its rate doubles until that is more than the query can process.
    Then it keeps a backlog of about a window's records: the query remains saturated, and the backlog that has to be
    processed before the first probe remains small. A source under backpressure has no backlog and stays fast.

    With `fixed` the rate stays: a query that was restarted is warmed up at a rate that it is known to sustain.
    """

    settings: SearchSettings
    rate: float
    fixed: bool = False
    seconds: float = 0.0
    windows: list[Measurement] = field(default_factory=list)
    #: highest rate that was offered, and whether it was too much
    highest: float = 0.0
    overloaded: bool = False
    #: rate at which the query failed last
    fatal: float | None = None

    @property
    def phase(self) -> WarmUp:
        fastest = max(self._rates(), default=0.0)
        headroom = RISING_HEADROOM if self.rising else HEADROOM
        needed = headroom * fastest if self.overloaded and fastest else self.rate
        return WarmUp(self.rate, self.settings.window, self.settings.batch_limit(needed))

    @property
    def rising(self) -> bool:
        """Whether the query is still becoming faster by far."""
        rates = self._rates()[-2:]
        return len(rates) < 2 or rates[-1] > (1 + RISING) * rates[0]

    @property
    def over(self) -> bool:
        """Whether another window would exceed the limit."""
        return self.seconds + self.settings.window > self.settings.warmup_limit

    @property
    def steady(self) -> bool:
        errors = LAST_ERRORS if self.over else 1.0
        return is_steady(self.windows, self.settings.steady_windows, self.settings.steady_change, errors)

    @property
    def unchallenged(self) -> bool:
        """Whether the query has processed all that was offered, so that there is no saturation to wait for."""
        return not self.fixed and not self.overloaded and not self.idle

    @property
    def idle(self) -> bool:
        """Whether nothing was processed at all."""
        return not any(self._rates())

    @property
    def accepted(self) -> float:
        """Mean processed rate of the last windows, or the highest if the query never had enough to do."""
        if self.unchallenged:
            return max(self._rates())
        rates = self._rates()[-self.settings.steady_windows :]
        return fmean(rates) if rates else 0.0

    @property
    def noise(self) -> float:
        """Relative standard deviation of the processed rate in an observation of a probe, from the last windows."""
        rates = [] if self.unchallenged else self._rates()[-2 * self.settings.steady_windows :]
        if not rates:
            return USUAL_NOISE
        mean = fmean(rates)
        squares = USUAL_WINDOWS * USUAL_NOISE**2 + sum((rate / mean - 1) ** 2 for rate in rates)
        variance = squares / (USUAL_WINDOWS + len(rates) - 1)
        # the mean over a longer time varies less
        scaled = math.sqrt(variance * self.settings.window / self.settings.observation)
        return max(self.settings.threshold, scaled)

    @property
    def overload(self) -> tuple[Outcome, ...]:
        """The first rates that were not sustained: the highest, if the steady query processed less, and a fatal one."""
        shown = outcomes(self.highest, self.windows[-1], self.settings)
        bounds = [replace(outcome, reached=self.accepted) for outcome in shown if not outcome.sustained]
        if self.fatal is not None:
            bounds.append(Outcome(self.fatal, False, 0.0, Limit.FAILURE))
        return tuple(bounds)

    def add(self, window: Measurement) -> None:
        # a driver that reports no time must not make a warm-up endless
        self.seconds += max(window.seconds, self.settings.window)
        self.windows.append(window)
        self.highest = max(self.highest, self.rate)
        if not self.fixed and window.processed_rate is not None:
            self._adapt(window, window.processed_rate)

    def retreat(self) -> None:
        """Begin again at half the rate, as the query did not survive this one."""
        self.seconds += self.settings.window
        self.fatal, self.rate, self.fixed = self.rate, max(LEAST_RATE, self.rate / 2), True
        self.windows.clear()

    def _adapt(self, window: Measurement, processed: float) -> None:
        shown = outcomes(self.rate, window, self.settings)
        self.overloaded = self.overloaded or any(not outcome.sustained for outcome in shown)
        if self.overloaded and processed:
            missing = KEPT * processed - (window.backlog_end or 0.0) / self.settings.window
            wanted = processed + GAIN * missing
            self.rate = min(MOST, max(wanted, LEAST_SHARE * processed, LEAST_RATE))
        elif shown and not self.overloaded:
            self.rate = min(MOST, self.rate * self.settings.growth)

    def _rates(self) -> list[float]:
        return [window.processed_rate for window in self.windows if window.processed_rate is not None]
