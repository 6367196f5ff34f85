"""Capacity as a function of the number of executors, fitted to measured (executors, records/s) points.

A shape knows `at(executors)` and its class `fit(points)`. Every shape is proportional where all points have one number
of executors, is never negative, and needs at least one point. The universal scalability law is in `usl.py`.
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

Array = NDArray[np.float64]
Points = Sequence[tuple[float, float]]

#: among which Phoebe chooses its ridge
ALPHAS = (0.1, 1.0, 10.0)


class Shape(Protocol):
    def at(self, executors: float) -> float:
        """Records per second; 0 for no executors."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`intercept + slope * executors`, both at least 0: Phoebe's model of capacity.

    The slope is shrunk by the ridge that predicts each point best from all others (`RidgeCV`; the intercept is free).
    Where no point can be spared, with one or two numbers of executors, there is no ridge. A line that would fall is
    made level, one that would begin below 0 goes through the origin: an executor never takes capacity away, and a
    few are never worth nothing.

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
        x, y = measured(points)
        numbers = len(set(x.tolist()))
        if numbers == 1:
            return cls(float(y.mean() / x.mean()))
        ridges = [_ridge(x, y, alpha) for alpha in (alphas if numbers > 2 else (0.0,))]
        _, slope, intercept = min(ridges, key=lambda ridge: ridge[0])
        if slope < 0:
            return cls(0.0, float(y.mean()))
        return cls(slope, intercept) if intercept >= 0 else cls(float(x @ y / (x @ x)))


def _ridge(x: Array, y: Array, alpha: float) -> tuple[float, float, float]:
    """Squared error of each point predicted from all others, slope, intercept."""
    off = x - x.mean()
    spread = float(off @ off) + alpha
    slope = float(off @ (y - y.mean())) / spread
    intercept = float(y.mean()) - slope * float(x.mean())
    spared = np.maximum(1 - 1 / x.size - off**2 / spread, 1e-12)  # 1 - leverage, which turns a residual into that error
    return float((((y - intercept - slope * x) / spared) ** 2).sum()), slope, intercept


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """`constant + slope * s + inverse / s + square / s²` with coefficients of at least 0: TWRES's model of capacity.

    The two last terms fall with s: below the smallest measured number of executors it can promise more for fewer.

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
        x, y = measured(points)
        # s first: where fewer terms fit as well, the first ones are taken
        slope, constant, inverse, square = nonnegative(np.column_stack([x, np.ones_like(x), 1 / x, x**-2.0]), y)
        return cls(constant, slope, inverse, square)


def measured(points: Points) -> tuple[Array, Array]:
    """Executors and rates of points that can be fitted."""
    for executors, rate in points:
        if not (executors > 0 and rate > 0 and math.isfinite(executors) and math.isfinite(rate)):
            raise InvalidInput(f"a shape of capacity: need executors > 0 and rate > 0, got {executors}, {rate}")
    if not points:
        raise InvalidInput("a shape of capacity: need at least one point, got none")
    x, y = np.array(points, dtype=float).T
    return x, y


def nonnegative(rows: Array, target: Array, least: Sequence[float] = ()) -> tuple[float, ...]:
    """Least squares with coefficients of at least `least` (0), exact; of equally good fits the one with fewest terms.

    The best coefficients are the free least squares of those that are not at their bound. There are at most four, so
    every set is tried: a dozen lines in the place of a dependency.

    >>> nonnegative(np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([2.0, 1.0]), least=(0.0, 1.0))  # free: 3 - x
    (0.0, 1.0)
    """
    floor = np.array(least) if least else np.zeros(rows.shape[1])
    rest = target - rows @ floor
    size = np.linalg.norm(rows, axis=0)
    scaled = rows / np.where(size > 0, size, 1.0)
    best, error = np.zeros(rows.shape[1]), float(rest @ rest)
    enough = 1e-20 * float(target @ target)
    for chosen in (list(c) for k in range(1, rows.shape[1] + 1) for c in combinations(range(rows.shape[1]), k)):
        found = np.linalg.lstsq(scaled[:, chosen], rest, rcond=None)[0]
        missed = scaled[:, chosen] @ found - rest
        if found.min() >= 0 and float(missed @ missed) < error * (1 - 1e-9) - enough:
            best, error = np.zeros(rows.shape[1]), float(missed @ missed)
            best[chosen] = found
    return tuple((floor + best / np.where(size > 0, size, 1.0)).tolist())
