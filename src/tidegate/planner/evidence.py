"""How well a curve explains measured rates, in closed form.

Logarithms of rates are a curve, plus a level, plus the effect of memory, plus two errors: the noise of a measurement,
and the unevenness of a number of slots. The latter is shared by all measurements with as many slots, because tasks and
keys are dealt out to them in the same way. Repeating a measurement averages out the first error only.

    z = curve(n) + X c + e,   X = (1, log2 memory),   cov(e) = v (I + u S),   S = 1 where slots are the same

With a flat prior on the level, a normal one on the effect of memory and an inverse gamma one on v, the coefficients
have a Student's t distribution, and the evidence is the product of the densities with which each measurement was
predicted from those before it (in any order, so also towards more and more slots). This punishes a law for every shape
that it could have had: a law with few liberties that fits beats one with many that fits as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.core import check, parameter
from tidegate.planner.measurement import Array


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What is believed before the first measurement.

    Repeated measurements of StreamBed differ by 5 to 8 % (q1, q5, q11), and its measurements at neighbouring numbers of
    slots by up to four times that variance.
    """

    noise: float = parameter(0.05, "share", "standard deviation of a measured rate", above=0, most=1)
    noise_weight: float = parameter(4.0, "", "measurements that the belief about noise is worth", above=0)
    memory: float = parameter(0.1, "", "standard deviation of the effect of a doubling of memory", above=0)
    #: variance over that of the noise, and how probable it is
    unevenness: tuple[tuple[float, float], ...] = ((0.0, 0.5), (1.0, 0.2), (4.0, 0.2), (16.0, 0.1))

    def __post_init__(self) -> None:
        check(self, "beliefs about measurements")


@dataclass(frozen=True, slots=True)
class Unevenness:
    """Its variance over that of the noise, and how probable that is."""

    ratio: float
    prior: float


@dataclass(frozen=True, slots=True)
class Conditional:
    """What is known of coefficients and noise, given each of several curves."""

    log_evidence: Array
    coefficients: Array
    variances: Array


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measurements whose errors were made independent, for one ratio of unevenness to noise."""

    unevenness: Unevenness
    freedom: float
    #: covariance of the coefficients over the variance of the noise
    covariance: Array
    _whitening: Array
    _design: Array
    _logs: Array
    _constant: float
    _noise_squares: float

    @classmethod
    def of(cls, logs: Array, slots: Array, memory: Array, beliefs: Beliefs, unevenness: Unevenness) -> Evidence:
        """`memory` as a base-2 logarithm."""
        same = (slots[:, None] == slots[None, :]).astype(float)
        whitening = np.linalg.inv(np.linalg.cholesky(np.eye(logs.size) + unevenness.ratio * same))
        design = whitening @ np.column_stack([np.ones_like(memory), memory])
        belief = np.diag([0.0, (beliefs.noise / beliefs.memory) ** 2])
        precision = design.T @ design + belief
        return cls(
            unevenness=unevenness,
            freedom=beliefs.noise_weight + logs.size - 1,
            covariance=np.asarray(np.linalg.inv(precision), dtype=np.float64),
            _whitening=whitening,
            _design=design,
            _logs=logs,
            _constant=float(np.log(np.diag(whitening)).sum() - np.linalg.slogdet(precision)[1] / 2)
            + math.log(unevenness.prior),
            _noise_squares=beliefs.noise_weight * beliefs.noise**2,
        )

    def given(self, curves: Array) -> Conditional:
        """For curves in rows, over the measurements. Evidence is up to a factor that all curves share."""
        residuals = (self._logs - curves) @ self._whitening.T
        projections = residuals @ self._design
        coefficients = projections @ self.covariance
        squares = (residuals**2).sum(axis=1) - (projections * coefficients).sum(axis=1) + self._noise_squares
        evidence = self._constant - self.freedom / 2 * np.log(squares)
        return Conditional(evidence, coefficients, squares / self.freedom)
