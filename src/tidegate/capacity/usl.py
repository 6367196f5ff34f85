"""The universal scalability law (Gunther 2007): capacity lost to contention and to coherency.

C(n) = single * n / (1 + contention * (n - 1) + coherency * n * (n - 1))
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.capacity.shapes import Points, bounded_least_squares, checked_arrays


@dataclass(frozen=True, slots=True)
class Usl:
    """`single` is the rate of one executor, `contention` the serial share of the work, `coherency` the cost per pair.

    With both 0 capacity is proportional to executors; with coherency > 0 it has a peak. The law cannot express
    superlinear growth: such measurements give a proportional fit.

    >>> law = Usl(single=100.0, contention=0.1, coherency=0.01)
    >>> law.at(1), round(law.at(5), 1), round(law.peak, 2)
    (100.0, 312.5, 9.49)
    """

    single: float
    contention: float = 0.0
    coherency: float = 0.0

    def at(self, executors: float) -> float:
        n = executors
        if n <= 0:
            return 0.0
        # no contention or coherency below one executor
        return self.single * n / (1 + max(0.0, n - 1) * (self.contention + self.coherency * n))

    @property
    def peak(self) -> float:
        """The number of executors with the highest capacity: `sqrt((1 - contention) / coherency)`, at least 1."""
        if self.contention >= 1:
            return 1.0
        return max(1.0, math.sqrt((1 - self.contention) / self.coherency)) if self.coherency else math.inf

    @classmethod
    def fit(cls, points: Points) -> Usl:
        """Least squares on `n / C(n)`, which is linear in the coefficients, with errors relative to the rate.

        `single` is bounded by the highest measured rate: with points far beyond the peak only, it would be unbounded.
        """
        n, rate = checked_arrays(points)
        top = float(rate.max())
        terms = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) * (rate / top / n)[:, None]
        constant, linear, quadratic = bounded_least_squares(terms, np.ones_like(n), lower=(1.0, 0.0, 0.0))
        return cls(top / constant, linear / constant, quadratic / constant)
