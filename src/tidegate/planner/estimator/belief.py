"""What probes say about the capacity, as a probability distribution: a bisection that survives wrong outcomes.

No machine is the same from one half minute to the next, so a rate may fail although a higher one was sustained. A plain
bisection never recovers from a wrong turn. Here every outcome makes each capacity c more or less likely, and the next
target is the median: probabilistic bisection (Horstein 1963; Waeber, Frazier and Henderson 2013). Outcomes that
contradict each other leave a wide distribution with its median between them, so that this range is probed again.

    rate r was sustained          Phi((log(c / r) + shift) / noise)
    r was not, by far             1 minus that, and a hint that c is close to the rate that was reached
    r was not, but almost         normal density of log(c / reached): saturated as it was, the query showed its capacity

`shift` is the share of records that may be missing, less the share that a query at its capacity loses because it cannot
make up for a slow moment by a fast one before it: noise / sqrt(2 * pi), the mean of a normal variable's negative part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tidegate.planner.estimator.verdict import Outcome

Array = NDArray[np.float64]
#: capacities that are compared, from half the lowest rate to twice the highest
POINTS = 4000
#: probability that an outcome has nothing to do with the capacity
LAPSE = 0.02
#: share of the target above which the rate that was reached is a measurement of the capacity
ALMOST = 0.9
#: half-width of the hint from a heavy overload, in which engines may be faster or slower. It is a Cauchy density: where
#: the hint was far off, the median moves away from it in growing steps
HINT = 0.05


@dataclass(frozen=True, slots=True)
class Belief:
    """A distribution of the capacity.

    >>> belief = Belief.of([Outcome(120.0, False, 101.0), Outcome(98.0, True, 98.0)], noise=0.01, threshold=0.01)
    >>> round(belief.median), belief.error < 0.1
    (103, True)
    """

    logarithms: Array
    cumulative: Array

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], noise: float, threshold: float) -> Belief:
        """`noise` is the relative deviation of the rate in an observation; at least one outcome is needed."""
        rates = [outcome.rate for outcome in outcomes]
        x = np.linspace(math.log(min(rates) / 2), math.log(max(rates) * 2), POINTS)
        likelihood = np.zeros_like(x)
        for outcome in outcomes:
            likelihood += _log_likelihood(outcome, x, noise, threshold)
        weights = np.exp(likelihood - likelihood.max())
        return cls(x, np.cumsum(weights / weights.sum()))

    def quantile(self, share: float) -> float:
        """The capacity is below it with this probability."""
        place = min(int(np.searchsorted(self.cumulative, share)), len(self.logarithms) - 1)
        return math.exp(self.logarithms[place])

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def error(self) -> float:
        """Standard error as a share: half the width of the middle 68 %, which outcomes that are wrong do not widen."""
        return (self.quantile(0.84) / self.quantile(0.16) - 1) / 2


def _log_likelihood(outcome: Outcome, x: Array, noise: float, threshold: float) -> Array:
    shift = threshold - noise / math.sqrt(2 * math.pi)
    sustained = ndtr((x - math.log(outcome.rate) + shift) / noise)
    if outcome.sustained:
        return _with_lapse(sustained)
    # without a shortfall, latency was the reason, and says nothing about how far below the capacity is
    if outcome.reached <= 0 or outcome.reached >= (1 - threshold) * outcome.rate:
        return _with_lapse(1 - sustained)
    distance = x - math.log(outcome.reached)
    hint: Array = 1 / (1 + (distance / HINT) ** 2)
    if outcome.reached > ALMOST * outcome.rate:
        measured: Array = np.log(LAPSE * hint + (1 - LAPSE) * np.exp(-0.5 * (distance / noise) ** 2))
        return measured
    return _with_lapse(1 - sustained) + np.log(hint)


def _with_lapse(likelihood: Array) -> Array:
    logarithm: Array = np.log(LAPSE + (1 - LAPSE) * likelihood)
    return logarithm
