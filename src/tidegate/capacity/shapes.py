"""Capacity as a function of the number of executors, fitted to measured (executors, records/s) points.

A shape has `at(executors)`, and its class has `fit(points)`, which needs at least one point. Every shape is
non-negative, and proportional if all points have the same number of executors. `usl.py` has a third one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidegate.core import InvalidInput

#: records per second that count as none: products of smaller numbers underflow
LEAST_RATE = 1e-9
Array = NDArray[np.float64]
Points = Sequence[tuple[float, float]]

#: ridge penalties that are compared, as in Phoebe
ALPHAS = (0.1, 1.0, 10.0)


class Shape(Protocol):
    def at(self, executors: float) -> float:
        """Records per second; 0 without executors."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`intercept + slope * executors`, both at least 0: Phoebe's capacity model.

    Ridge regression on the slope, the penalty chosen by leave-one-out cross-validation (scikit-learn's `RidgeCV`).
    With one or two numbers of executors there is no penalty. A negative slope is replaced by a constant, and a negative
    intercept by a line through the origin, so that capacity is positive and never decreases.

    >>> Linear.fit([(2, 30.0), (4, 50.0)])
    Linear(slope=10.0, intercept=10.0)
    >>> Linear.fit([(4, 50.0)]).at(8)
    100.0
    """

    slope: float
    intercept: float = 0.0

    def at(self, executors: float) -> float:
        return self.intercept + self.slope * executors if executors > 0 else 0.0

    @classmethod
    def fit(cls, points: Points, alphas: Sequence[float] = ALPHAS) -> Linear:
        x, y = checked_arrays(points)
        scale_outs = len(set(x.tolist()))
        if scale_outs == 1:
            return cls(float(y.mean() / x.mean()))
        fits = [_ridge_fit(x, y, alpha) for alpha in (alphas if scale_outs > 2 else (0.0,))]
        _, slope, intercept = min(fits, key=lambda fit: fit[0])
        if slope < 0:
            return cls(0.0, float(y.mean()))
        return cls(slope, intercept) if intercept >= 0 else cls(float(x @ y / (x @ x)))


def _ridge_fit(x: Array, y: Array, alpha: float) -> tuple[float, float, float]:
    """Leave-one-out squared error, slope, intercept."""
    deviations = x - x.mean()
    spread = float(deviations @ deviations) + alpha
    slope = float(deviations @ (y - y.mean())) / spread
    intercept = float(y.mean()) - slope * float(x.mean())
    # a residual over (1 - leverage) is the error of the fit without that point
    complement = np.maximum(1 - 1 / x.size - deviations**2 / spread, 1e-12)
    return float((((y - intercept - slope * x) / complement) ** 2).sum()), slope, intercept


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """`constant + slope * s + inverse / s + square / s²` with non-negative coefficients: TWRES's capacity model.

    The last two terms decrease with s: below the smallest measured number of executors, fewer may have more capacity.

    >>> Reciprocal(constant=5.0, slope=10.0, inverse=4.0, square=8.0).at(2)
    29.0
    >>> Reciprocal.fit([(3, 60.0)])
    Reciprocal(constant=0.0, slope=20.0, inverse=0.0, square=0.0)
    """

    constant: float
    slope: float
    inverse: float
    square: float

    def at(self, executors: float) -> float:
        s = executors
        return self.constant + self.slope * s + self.inverse / s + self.square / s**2 if s > 0 else 0.0

    @classmethod
    def fit(cls, points: Points) -> Reciprocal:
        x, y = checked_arrays(points)
        # s first: among equally good fits with as many terms the first columns are preferred
        terms = np.column_stack([x, np.ones_like(x), 1 / x, x**-2.0])
        slope, constant, inverse, square = bounded_least_squares(terms, y)
        return cls(constant, slope, inverse, square)


def checked_arrays(points: Points) -> tuple[Array, Array]:
    """Executors and rates; raises `InvalidInput` if there are none, or one is not positive and finite."""
    for executors, rate in points:
        if not (executors > 0 and rate > 0 and math.isfinite(executors) and math.isfinite(rate)):
            raise InvalidInput(f"a shape of capacity: need executors > 0 and rate > 0, got {executors}, {rate}")
    if not points:
        raise InvalidInput("a shape of capacity: need at least one point, got none")
    x, y = np.array(points, dtype=float).T
    return x, np.maximum(y, LEAST_RATE)


def bounded_least_squares(rows: Array, target: Array, lower: Sequence[float] = ()) -> tuple[float, ...]:
    """Least squares with lower bounds on the coefficients (default 0), solved exactly.

    Every set of free coefficients is tried, which is cheap for at most four, and the best fit is returned; of equally
    good ones the one with the fewest free coefficients, and among those the first columns.

    `scipy.optimize.nnls` is faster but has no such tie-break. With at least as many distinct points as terms both agree
    to 1e-9. With fewer there are many perfect fits, and `nnls` returns another: `Usl` would not be proportional with
    a single number of executors, and a third of the `Reciprocal` fits with two would differ, by a factor of up to 9.

    >>> bounded_least_squares(np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([2.0, 1.0]), lower=(0.0, 1.0))  # free: 3 - x
    (0.0, 1.0)
    """
    columns = rows.shape[1]
    bounds = np.array(lower) if lower else np.zeros(columns)
    residual_target = target - rows @ bounds
    norms = np.linalg.norm(rows, axis=0)
    scaled = rows / np.where(norms > 0, norms, 1.0)
    best, least_error = np.zeros(columns), float(residual_target @ residual_target)
    tolerance = 1e-20 * float(target @ target)
    for free in (list(c) for k in range(1, columns + 1) for c in combinations(range(columns), k)):
        solution = np.linalg.lstsq(scaled[:, free], residual_target, rcond=None)[0]
        residuals = scaled[:, free] @ solution - residual_target
        error = float(residuals @ residuals)
        if solution.min() >= 0 and error < least_error * (1 - 1e-9) - tolerance:
            best, least_error = np.zeros(columns), error
            best[free] = solution
    return tuple((bounds + best / np.where(norms > 0, norms, 1.0)).tolist())
