"""What a batch costs without records, and for each record: a robust line through batches of differing sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import theilslopes

from tidegate.planner.measurement import Array

#: with fewer batches, or a smaller standard deviation of their sizes over the mean, a line says nothing about its ends
LEAST_BATCHES, LEAST_SPREAD = 4, 0.1
#: smallest scale of deviations from the line, over the usual cost, beyond which a batch counts less
LEAST_SCALE = 0.02
#: from the median deviation to the standard deviation of a normal distribution
NORMAL = 1.4826


@dataclass(frozen=True, slots=True)
class CostLine:
    """`fixed` for a batch and `each` for a record, both at least 0."""

    fixed: float
    each: float


def cost_line(records: Sequence[float], costs: Sequence[float]) -> CostLine | None:
    """None where the batches do not differ enough to tell both parts.

    A batch that took long for another reason, like a new executor, hardly moves the line: it begins as the median of
    the lines through all pairs (Theil and Sen), and is then fitted by least squares in which outliers count little
    (Cauchy's loss).

    >>> sizes = [100.0, 200.0, 300.0, 400.0, 500.0]
    >>> line = cost_line(sizes, [2.0, 3.0, 4.0, 5.0, 26.0])  # 1 + size / 100, and one of 20 s more
    >>> round(line.fixed, 2), round(line.each, 3)
    (1.0, 0.01)
    >>> cost_line([100.0] * 9, [2.0] * 9) is None
    True
    """
    x, y = np.asarray(records, dtype=float), np.asarray(costs, dtype=float)
    if x.size < LEAST_BATCHES or x.std() < LEAST_SPREAD * x.mean() or np.median(y) <= 0:
        return None
    size, usual = float(x.mean()), float(np.median(y))
    terms, relative = np.column_stack([np.ones_like(x), x / size]), y / usual

    def residuals(line: Array) -> Array:
        distance: Array = terms @ line - relative
        return distance

    # with many batches of the same size its confidence interval, which is not used here, is no number
    with np.errstate(invalid="ignore"):
        slope, intercept = theilslopes(relative, x / size)[:2]
    # the solver starts inside its bounds
    start = np.maximum([intercept, slope], 1e-6)
    scale = max(LEAST_SCALE, NORMAL * float(np.median(np.abs(residuals(start)))))
    fit = least_squares(residuals, start, bounds=(0.0, np.inf), loss="cauchy", f_scale=scale)
    # and only approaches them
    fixed, each = (0.0 if value < 1e-4 else float(value) for value in fit.x)
    return CostLine(fixed * usual, each * usual / size)
