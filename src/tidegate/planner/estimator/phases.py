"""What a capacity search asks for, and what it is told: the values between a search and the driver of a deployment."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: records/s: a lower rate counts as none; larger numbers of anything are mistakes
LEAST_RATE, MOST = 0.01, 1e18


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Offer `rate` for `seconds` and measure over all of them. Several of these follow each other without a pause."""

    rate: float
    seconds: float
    #: most records of a batch; None on an engine without batches
    batch_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """Offer `cooldown_rate` for `cooldown` seconds, then `rate` for `injection` seconds, and measure over the last
    `observation` seconds of these. A cooldown may end early when no backlog is left.

    >>> Probe(5000.0, cooldown_rate=200.0, cooldown=15.0, injection=60.0, observation=30.0).seconds
    75.0
    """

    rate: float
    cooldown_rate: float
    cooldown: float
    injection: float
    observation: float
    #: most records of a batch; None on an engine without batches
    batch_limit: int | None = None

    @property
    def seconds(self) -> float:
        return self.cooldown + self.injection


Phase = WarmUp | Probe


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a phase showed. Unknown is None, and a criterion that needs it is not applied; only without a processed rate
    a probe shows nothing.

    On a micro-batch engine rates, backlog and latency are those of whole batches: see `whole_batches`.
    """

    #: duration of the phase, restarts and waiting included
    seconds: float
    #: records/s that the source made available, and that were in finished batches
    offered_rate: float | None = None
    processed_rate: float | None = None
    backlog_begin: float | None = None
    backlog_end: float | None = None
    #: of the records finished at the beginning and at the end of the observation
    latency_begin: float | None = None
    latency_end: float | None = None
    #: at the end of the phase; None for a stateless query
    state_rows: float | None = None
    #: whether the source could have offered the rate, had the query taken it; a source under backpressure could
    source_able: bool = True
    #: share of the time in which the driver alone was busy, with planning and commits
    driver_share: float | None = None
    #: whether the machine had no CPU time left beside the executors' own
    machine_saturated: bool = False
    #: why the query failed; empty if it did not
    failure: str = ""

    def credible(self) -> Measurement:
        """The same with numbers that cannot be true (negative, infinite, not a number) as unknown.

        >>> doubtful = Measurement(30.0, processed_rate=float("nan"), backlog_begin=-1.0, backlog_end=5.0).credible()
        >>> doubtful.processed_rate, doubtful.backlog_begin, doubtful.backlog_end
        (None, None, 5.0)
        """
        return replace(
            self,
            offered_rate=_credible(self.offered_rate),
            processed_rate=_credible(self.processed_rate),
            backlog_begin=_credible(self.backlog_begin),
            backlog_end=_credible(self.backlog_end),
            latency_begin=_credible(self.latency_begin),
            latency_end=_credible(self.latency_end),
            state_rows=_credible(self.state_rows),
            driver_share=_credible(self.driver_share),
        )


@dataclass(frozen=True, slots=True)
class Supply:
    """What a source made available, records/s, and whether it was able to do what was asked of it."""

    rate: float
    able: bool

    def limits(self, shown: Measurement) -> Measurement:
        """The measurement of a query that was offered this.

        >>> Supply(950.0, able=False).limits(Measurement(30.0, 1000.0, 950.0)).offered_rate
        950.0
        """
        return shown if self.able else replace(shown, offered_rate=self.rate, source_able=False)


def _credible(value: float | None) -> float | None:
    return value if value is not None and 0 <= value <= MOST else None
