"""What a capacity search has come to: the sustainable rate, how sure that is, and why the search ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tidegate import units
from tidegate.planner.estimator.verdict import Limit, Outcome


class Ending(Enum):
    """Why a search ended."""

    UNDERWAY = "the search is not over"
    CONVERGED = "the estimate is as precise as required"
    BUDGET = "the budget does not allow for another probe"
    NOTHING_SUSTAINED = "no rate was sustained"
    SOURCE = "the source could not offer more"
    DRIVER = "the driver was the limit, not the executors"
    MACHINE = "the machine was the limit, not the query"
    QUERY_FAILED = "the query failed too often"
    UNMEASURED = "too many probes showed nothing"
    NEVER_STEADY = "the query did not become steady during the warm-up"


#: how a search ends that has converged, by what limited the rate
BY_LIMIT: Mapping[Limit | None, Ending] = {
    Limit.SOURCE: Ending.SOURCE,
    Limit.DRIVER: Ending.DRIVER,
    Limit.MACHINE: Ending.MACHINE,
}


@dataclass(frozen=True, slots=True)
class CapacityEstimate:
    """`rate` is the most probable capacity, None if no rate was sustained. With a probability of 90 % it is within
    `interval`: who must be sure takes the lower end.

    `lower` was sustained and `upper` was not, without any outcome to the contrary. They may be farther apart than the
    interval, which weighs all outcomes.
    """

    rate: float | None
    interval: tuple[float, float | None]
    lower: float
    upper: float | None
    ending: Ending
    #: what prevented the next higher rate; None if every rate was sustained
    limit: Limit | None
    probes: int
    #: from the beginning of the warm-up
    seconds: float
    #: highest processed rate, sustained or not: a hint where nothing else is known
    reached: float

    @property
    def lower_bound_only(self) -> bool:
        """Whether the query itself may be able to process more."""
        return self.rate is not None and self.limit not in (Limit.QUERY, Limit.FAILURE)

    def __str__(self) -> str:
        """
        >>> print(CapacityEstimate(98e3, (97e3, 99e3), 97e3, 99e3, Ending.BUDGET, Limit.SOURCE, 6, 552.0, 99e3))
        at least 98 k records/s (97 k to 99 k) after 6 probes in 9:12: the budget does not allow for another probe
        """
        end = f"after {self.probes} probes in {units.clock(self.seconds)}: {self.ending.value}"
        if self.rate is None:
            return f"no sustainable rate {end}"
        least = "at least " if self.lower_bound_only else ""
        low, high = (units.count(value) for value in self.interval)
        return f"{least}{units.count(self.rate)} records/s ({low} to {high}) {end}"


def undisputed(outcomes: Sequence[Outcome]) -> tuple[float, float | None]:
    """The highest sustained rate below all failures, 0 if there is none, and the lowest failure above all sustained.

    >>> undisputed([Outcome(100.0, True, 100.0), Outcome(120.0, False, 111.0), Outcome(130.0, True, 130.0)])
    (100.0, None)
    """
    sustained = [outcome.rate for outcome in outcomes if outcome.sustained]
    failed = [outcome.rate for outcome in outcomes if not outcome.sustained]
    lower = max((rate for rate in sustained if not failed or rate < min(failed)), default=0.0)
    return lower, min((rate for rate in failed if not sustained or rate > max(sustained)), default=None)
