"""Durations, thresholds and budget of a capacity search."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.core import InvalidInput, check, parameter

PLACE = "capacity search"
#: trigger interval from which on durations grow with it, so that an observation has at least six batches
USUAL_TRIGGER = 5.0


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The defaults of cooldown, cooldown rate, injection, observation, threshold, tolerance, growth, warm-up limit and
    budget are StreamBed's; the others are ours. `SHORT` has durations of our own.

    >>> SearchSettings().probe_seconds, SHORT.probe_seconds, SHORT.for_trigger(10.0).probe_seconds
    (75.0, 53.0, 106.0)
    """

    window: float = parameter(15.0, "s", "length of a warm-up window", above=0)
    steady_windows: int = parameter(3, "", "windows that are compared with as many before them", least=1, most=100)
    steady_change: float = parameter(0.05, "share", "change of throughput and state that counts as steady", above=0)
    warmup_limit: float = parameter(300.0, "s", "time after which a query that is not steady never will be", above=0)
    cooldown: float = parameter(15.0, "s", "low load before each probe", least=0)
    cooldown_rate: float = parameter(200.0, "records/s", "that load, but at most 5 % of the target", above=0)
    drain_limit: float = parameter(120.0, "s", "longest extension of a cooldown to process a backlog", least=0)
    injection: float = parameter(60.0, "s", "load at the target rate", above=0)
    observation: float = parameter(30.0, "s", "last part of the injection, which is measured", above=0)
    threshold: float = parameter(0.01, "share", "of the target that may be missing", above=0, most=0.5)
    latency_growth: float = parameter(0.25, "share", "by which latency may grow during an observation", least=0)
    latency_limit: float = parameter(0.0, "s", "highest latency that counts as sustained; 0: none", least=0)
    driver_limit: float = parameter(0.5, "share", "of the time for the driver from which it is the limit", above=0)
    tolerance: float = parameter(0.01, "share", "standard error of the estimate at which a search ends", above=0)
    growth: float = parameter(2.0, "", "factor to the next target while everything is sustained", above=1, most=100)
    retries: int = parameter(1, "", "repetitions of a probe in which query or source failed", least=0, most=100)
    failures: int = parameter(4, "", "failed phases in total with which the search goes on", least=0, most=1000)
    probes: int = parameter(20, "", "most probes", least=1, most=1000)
    trigger: float = parameter(0.0, "s", "trigger interval of a micro-batch engine; 0: none", least=0)
    batch_slack: float = parameter(1.1, "", "most records of a batch, over those of a trigger interval", least=1)
    budget: float = parameter(600.0, "s", "for the whole search, warm-up included", above=0)

    def __post_init__(self) -> None:
        check(self, PLACE)
        if self.observation > self.injection:
            raise InvalidInput(
                f"{PLACE}: need observation <= injection ({self.injection:g} s), got {self.observation:g}"
            )
        if self.warmup_limit < self.least_warmup:
            raise InvalidInput(
                f"{PLACE}: need warmup-limit >= {self.least_warmup:g} s, {2 * self.steady_windows} windows of "
                f"{self.window:g} s, got {self.warmup_limit:g}"
            )
        if self.budget < self.least_seconds:
            raise InvalidInput(
                f"{PLACE}: need budget >= {self.least_seconds:g} s, a warm-up of {self.least_warmup:g} s and a probe "
                f"of {self.probe_seconds:g} s, got {self.budget:g}"
            )

    @property
    def probe_seconds(self) -> float:
        """Duration of a probe without a backlog before it."""
        return self.cooldown + self.injection

    @property
    def least_warmup(self) -> float:
        """Duration of the warm-up of a query that is steady from the start."""
        return 2 * self.steady_windows * self.window

    @property
    def least_seconds(self) -> float:
        """Duration of the shortest search: that warm-up and one probe."""
        return self.least_warmup + self.probe_seconds

    def batch_limit(self, rate: float) -> int | None:
        """Most records of a batch at a rate. Without a limit, the batches of an overloaded query get longer and longer.

        >>> SearchSettings(trigger=10.0).batch_limit(1000.0), SearchSettings().batch_limit(1000.0)
        (11000, None)
        """
        return max(1, round(self.batch_slack * rate * self.trigger)) if self.trigger else None

    def for_trigger(self, trigger: float) -> SearchSettings:
        """For a micro-batch engine. All durations grow with a trigger interval of more than 5 s, the budget too."""
        factor = max(1.0, trigger / USUAL_TRIGGER)
        return replace(
            self,
            trigger=trigger,
            window=self.window * factor,
            warmup_limit=self.warmup_limit * factor,
            cooldown=self.cooldown * factor,
            drain_limit=self.drain_limit * factor,
            injection=self.injection * factor,
            observation=self.observation * factor,
            budget=self.budget * factor,
        )


#: for testbeds in which minutes count
SHORT = SearchSettings(warmup_limit=240.0, cooldown=8.0, drain_limit=60.0, injection=45.0)
