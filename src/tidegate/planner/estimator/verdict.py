"""What a probe says about capacity: which rates were sustained, which were not, and what the limit was."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidegate.planner.estimator.phases import LEAST_RATE, Measurement
from tidegate.planner.estimator.search_settings import SearchSettings


class Limit(Enum):
    """What prevented a rate from being sustained."""

    QUERY = "the query"
    SOURCE = "the source"
    DRIVER = "the driver"
    MACHINE = "the machine"
    #: the query did not survive the rate
    FAILURE = "a failure of the query"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A rate, and whether it was sustained. `reached` is the processed rate, which is known for overloads as well."""

    rate: float
    sustained: bool
    reached: float
    limit: Limit = Limit.QUERY


def outcomes(target: float, measured: Measurement, settings: SearchSettings) -> tuple[Outcome, ...]:
    """What a measurement shows of a target: nothing if the processed rate is unknown or nothing was offered.

    If the source could not offer the target, the rate it did offer counts instead. Where that was sustained, it is also
    a bound: nothing beyond it can be tested.

    >>> outcomes(1000.0, Measurement(75.0, offered_rate=1000.0, processed_rate=800.0), SearchSettings())
    (Outcome(rate=1000.0, sustained=False, reached=800.0, limit=<Limit.QUERY: 'the query'>),)
    """
    reached, offered = measured.processed_rate, measured.offered_rate
    if reached is None:
        return ()
    short = not measured.source_able and offered is not None and offered < (1 - settings.threshold) * target
    rate = offered if short and offered is not None else target
    if rate < LEAST_RATE:
        return ()
    if not _sustained(rate, measured, settings):
        return (Outcome(rate, False, reached, limit(measured, settings)),)
    passed = Outcome(rate, True, min(rate, reached))
    return (passed, Outcome(target, False, passed.reached, Limit.SOURCE)) if short else (passed,)


def limit(measured: Measurement, settings: SearchSettings) -> Limit:
    """What an overload was due to."""
    if measured.machine_saturated:
        return Limit.MACHINE
    if measured.driver_share is not None and measured.driver_share >= settings.driver_limit:
        return Limit.DRIVER
    return Limit.QUERY


def _sustained(rate: float, measured: Measurement, settings: SearchSettings) -> bool:
    return (
        (measured.processed_rate or 0.0) >= (1 - settings.threshold) * rate
        and not _backlog_grows(rate, measured, settings)
        and not _latency_grows(measured, settings)
    )


def _backlog_grows(rate: float, measured: Measurement, settings: SearchSettings) -> bool:
    begin, end = measured.backlog_begin, measured.backlog_end
    if begin is None or end is None:
        return False
    return end - begin > settings.threshold * rate * settings.observation


def _latency_grows(measured: Measurement, settings: SearchSettings) -> bool:
    begin, end = measured.latency_begin, measured.latency_end
    if end is None:
        return False
    if settings.latency_limit and end > settings.latency_limit:
        return True
    if begin is None:
        return False
    # the time that the records take which may be missing
    allowed = settings.threshold * settings.observation
    return end - begin > max(settings.latency_growth * begin, allowed)
