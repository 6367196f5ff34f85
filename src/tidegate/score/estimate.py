"""Means over seeds and over cells with their confidence intervals. All reported intervals are computed here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from scipy.special import stdtrit

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its standard error. `missed` counts events without a value, e.g. steps without convergence."""

    mean: float
    error: float = 0.0
    freedom: int = 0
    missed: int = 0

    @property
    def half(self) -> float | None:
        """Half the width of the 95 % confidence interval; None for a single seed.

        Student's t for four degrees of freedom is 2.776:

        >>> round(Estimate(10.0, error=2.0, freedom=4).half, 3)
        5.553
        """
        return student_t(self.freedom) * self.error if self.freedom else None


def over_seeds(values: Iterable[float | None], missed: int = 0) -> Estimate | None:
    """Mean of the known values; None if there are none.

    >>> over_seeds([8.0, None, 10.0, 12.0])  # variance 8 / 2 = 4, error sqrt(4 / 3)
    Estimate(mean=10.0, error=1.1547005383792515, freedom=2, missed=0)
    >>> over_seeds([None]) is None, over_seeds([7.0])
    (True, Estimate(mean=7.0, error=0.0, freedom=0, missed=0))
    """
    samples = [float(value) for value in values if value is not None]
    count = len(samples)
    if not count:
        return None
    mean = math.fsum(samples) / count
    if count == 1:
        return Estimate(mean, missed=missed)
    variance = math.fsum((value - mean) ** 2 for value in samples) / (count - 1)
    return Estimate(mean, math.sqrt(variance / count), count - 1, missed)


def over_cells(cells: Sequence[Estimate]) -> Estimate | None:
    """Unweighted mean over cells: every cell counts the same, however many seeds it has.

    >>> over_cells([Estimate(1.0, 0.3, 2), Estimate(2.0, 0.4, 2)])  # error sqrt(0.09 + 0.16) / 2
    Estimate(mean=1.5, error=0.25, freedom=4, missed=0)
    """
    if not cells:
        return None
    error = math.sqrt(math.fsum(cell.error**2 for cell in cells)) / len(cells)
    mean = math.fsum(cell.mean for cell in cells) / len(cells)
    return Estimate(mean, error, sum(cell.freedom for cell in cells), sum(cell.missed for cell in cells))


@cache
def student_t(freedom: int) -> float:
    """Half-width of the 95 % interval of Student's t, in standard errors.

    >>> [round(student_t(n), 3) for n in (1, 2, 3, 4, 9, 29, 1000)]
    [12.706, 4.303, 3.182, 2.776, 2.262, 2.045, 1.962]
    """
    return round(float(stdtrit(freedom, (1 + LEVEL) / 2)), 9)
