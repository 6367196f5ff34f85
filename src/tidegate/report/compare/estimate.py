"""Means over seeds and over cells, and how far they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.score.interval import student


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its standard error. `missed` counts what has no number, such as changes that were never followed."""

    mean: float
    error: float = 0.0
    freedom: int = 0
    missed: int = 0

    @property
    def half(self) -> float | None:
        """Half the 95 % confidence interval; None where a single seed tells nothing of it.

        Student's t of four degrees of freedom is 2.776:

        >>> round(Estimate(10.0, error=2.0, freedom=4).half, 3)
        5.553
        """
        return student(self.freedom) * self.error if self.freedom else None


def over_seeds(values: Sequence[float], missed: int = 0) -> Estimate | None:
    """
    >>> over_seeds([8.0, 10.0, 12.0])  # variance 8 / 2 = 4, error sqrt(4 / 3)
    Estimate(mean=10.0, error=1.1547005383792515, freedom=2, missed=0)
    >>> over_seeds([]) is None, over_seeds([7.0])
    (True, Estimate(mean=7.0, error=0.0, freedom=0, missed=0))
    """
    if not values:
        return None
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, missed=missed)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Estimate(mean, math.sqrt(variance / count), count - 1, missed)


def over_cells(cells: Sequence[Estimate]) -> Estimate | None:
    """Every cell counts the same, however many seeds it has.

    >>> over_cells([Estimate(1.0, 0.3, 2), Estimate(2.0, 0.4, 2)])  # error sqrt(0.09 + 0.16) / 2
    Estimate(mean=1.5, error=0.25, freedom=4, missed=0)
    """
    if not cells:
        return None
    error = math.sqrt(math.fsum(cell.error**2 for cell in cells)) / len(cells)
    mean = math.fsum(cell.mean for cell in cells) / len(cells)
    return Estimate(mean, error, sum(cell.freedom for cell in cells), sum(cell.missed for cell in cells))
