"""The universal scalability law (Gunther): what executors gain is lost to waiting for each other, and to agreeing.

C(n) = single * n / (1 + contention * (n - 1) + coherency * n * (n - 1))
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.capacity.shapes import Points, measured, nonnegative


@dataclass(frozen=True, slots=True)
class Usl:
    """`single` is the rate of one executor, `contention` the share of work that only one can do at a time,
    `coherency` what each pair costs. With both 0 it is proportional; with coherency it has a peak.

    Measured rates that grow faster than the executors become proportional: the law has no such part.

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
        # a part of one executor neither waits nor agrees
        return self.single * n / (1 + max(0.0, n - 1) * (self.contention + self.coherency * n))

    @property
    def peak(self) -> float:
        """The number of executors beyond which more of them process less: `sqrt((1 - contention) / coherency)`."""
        if self.contention >= 1:
            return 1.0
        return max(1.0, math.sqrt((1 - self.contention) / self.coherency)) if self.coherency else math.inf

    @classmethod
    def fit(cls, points: Points) -> Usl:
        """By least squares on `n / C(n)`, which is linear in the parts, each point's error being a share of its rate.

        One executor is never taken to do more than the best rate measured: points far beyond the peak alone would
        allow an infinite one.
        """
        n, rate = measured(points)
        top = float(rate.max())
        terms = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) * (rate / top / n)[:, None]
        alone, waiting, agreeing = nonnegative(terms, np.ones_like(n), least=(1.0, 0.0, 0.0))
        return cls(top / alone, waiting / alone, agreeing / alone)
