"""All outcomes of a search, and what follows from them: the next rate to probe, and the capacity."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tidegate.planner.estimator.belief import Belief
from tidegate.planner.estimator.phases import MOST
from tidegate.planner.estimator.search_settings import SearchSettings
from tidegate.planner.estimator.verdict import Limit, Outcome

#: quantile of the capacity that is probed while nothing was sustained, and with the last probe of a budget
CAUTIOUS, LAST = 0.25, 0.05
#: share by which the next target is at least below the first that failed; doubled each time
RETREAT = 0.02
#: ends of the interval that contains the capacity with a probability of 90 %
LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class Evidence:
    """`warm_up` is what the warm-up showed, `accepted` the rate that the query processed at its end, and `noise` by how
    much that varied.

    >>> evidence = Evidence(SearchSettings(), accepted=1000.0, noise=0.01)
    >>> evidence.target()
    1000.0
    >>> evidence.extended((Outcome(1000.0, True, 1000.0),)).target()  # nothing has failed yet
    2000.0
    """

    settings: SearchSettings
    accepted: float
    noise: float
    warm_up: tuple[Outcome, ...] = ()
    probes: tuple[Outcome, ...] = ()

    def extended(self, outcomes: tuple[Outcome, ...]) -> Evidence:
        return replace(self, probes=(*self.probes, *outcomes))

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return (*self.warm_up, *self.probes)

    @property
    def sustained(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.sustained)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.sustained)

    @property
    def belief(self) -> Belief:
        return Belief.of(self.outcomes, self.noise, self.settings.threshold)

    @property
    def converged(self) -> bool:
        """Whether the capacity is known as precisely as required, or no higher rate can be tested."""
        if not self.sustained or not self.failed:
            return False
        return self._source_exhausted or self.belief.error <= self.settings.tolerance

    def target(self, *, last: bool = False) -> float:
        """The next rate to probe: at first what the warm-up accepted, then the median of the capacity. While nothing
        has failed it grows; while nothing was sustained it is lower, most of all for the `last` probe.
        """
        if not self.probes:
            return self.accepted
        if not self.failed:
            return min(MOST, self.settings.growth * self._highest_sustained.rate)
        if not self.sustained:
            return min(self.belief.quantile(LAST if last else CAUTIOUS), self._retreat)
        return self.belief.median

    @property
    def _retreat(self) -> float:
        """Far enough below the lowest failure to get away from wrong hints: 2 %, 4 %, 8 %, up to a half."""
        share = RETREAT * 2.0 ** (len(self.probes) - 1)
        return min(outcome.rate for outcome in self.probes) * (1 - min(0.5, share))

    @property
    def limit(self) -> Limit | None:
        """Of the failure that is closest to the capacity."""
        if not self.failed:
            return None
        capacity = math.log(self.belief.median)
        return min(self.failed, key=lambda outcome: abs(math.log(outcome.rate) - capacity)).limit

    @property
    def rate(self) -> float | None:
        if not self.sustained:
            return None
        return self._highest_sustained.reached if self._open else self.belief.median

    @property
    def interval(self) -> tuple[float, float | None]:
        """Without an upper end if nothing limits the query itself."""
        if not self.sustained:
            return 0.0, None
        if self._open:
            return self._highest_sustained.reached, None
        return self.belief.quantile(LOW), self.belief.quantile(HIGH)

    @property
    def _open(self) -> bool:
        """Whether the capacity may be far above all rates that were sustained."""
        return self.limit in (None, Limit.SOURCE)

    @property
    def _highest_sustained(self) -> Outcome:
        return max(self.sustained, key=lambda outcome: outcome.rate)

    @property
    def _source_exhausted(self) -> bool:
        """Whether the source was the limit in the last probe and in its repetitions."""
        trials = [outcome for outcome in self.probes if not outcome.sustained][-1 - self.settings.retries :]
        return len(trials) > self.settings.retries and all(trial.limit is Limit.SOURCE for trial in trials)
