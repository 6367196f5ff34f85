"""A weighted mixture of Student's t distributions: a prediction over many models and coefficients."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit

from tidegate.planner.measurement import Array

#: of a quantile
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class Mixture:
    """Weights must sum to 1; `freedom` are the degrees of freedom of all components.

    >>> import numpy as np
    >>> certain = Mixture(np.array([0.0, 4.0]), np.array([0.1, 0.1]), np.array([0.75, 0.25]), 50.0)
    >>> round(certain.above(2.0), 6), round(certain.quantile(0.25), 2)
    (0.25, -0.04)
    """

    locations: Array
    scales: Array
    weights: Array
    freedom: float

    def above(self, value: float) -> float:
        """Probability of more than `value`."""
        return float(self.weights @ stdtr(self.freedom, (self.locations - value) / self.scales))

    def quantile(self, level: float) -> float:
        # between the quantiles of the components
        quantiles = self.locations + self.scales * stdtrit(self.freedom, level)
        low, high = float(quantiles.min()), float(quantiles.max())
        if high - low <= TOLERANCE:
            return low
        return float(
            brentq(lambda value: self.above(value) - (1 - level), low - TOLERANCE, high + TOLERANCE, xtol=TOLERANCE)
        )
