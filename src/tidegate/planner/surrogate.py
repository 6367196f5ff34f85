"""Expected improvement under a Gaussian process: where in a grid a small value is most worth looking for.

An isotropic Matern-5/2 kernel with noise. On grids of this size kernels with a length for each side did worse, and so
did other libraries (regret after 15 points; reference/dependencies.md). High values are winsorised: one absurd error of
a model fitted to few points must not flatten all differences that matter.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import ndtr

from tidegate.planner.measurement import Array

#: values above this quantile count as this quantile
HIGHEST = 0.8


def expected_improvement(points: Array, values: Array, grid: Array, seed: int = 0) -> Array:
    """By how much a value at each point of the grid is expected to be below the least value so far.

    The least value is that of the process at the points, not the least one measured, since measurements have noise. A
    measured point keeps an expected improvement where it is uncertain.

    >>> points, grid = np.array([[0.0], [1.0]]), np.array([[0.0], [0.5], [1.0]])
    >>> np.argsort(-expected_improvement(points, np.array([1.0, 3.0]), grid)).tolist()  # near the better one
    [1, 0, 2]
    """
    # takes a second to import
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
    from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel  # noqa: PLC0415

    kernel = ConstantKernel(1.0, (0.05, 20.0)) * Matern(0.3, (0.05, 3.0), nu=2.5) + WhiteKernel(0.05, (1e-4, 1.0))
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=seed)
    with warnings.catch_warnings():
        # a hyperparameter at its bound is what bounds are for
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit(points, standardised(values))
    mean, deviation = process.predict(grid, return_std=True)
    # the noise of a measurement is no improvement
    deviation = np.sqrt(np.maximum(deviation**2 - process.kernel_.k2.noise_level, 1e-12))
    gain = float(process.predict(points).min()) - mean
    z = gain / deviation
    improvement: Array = gain * ndtr(z) + deviation * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return improvement


def standardised(values: Array) -> Array:
    """Winsorised, with mean 0 and variance 1; zeros where all values are equal.

    >>> standardised(np.array([1.0, 1.0, 3.0, 3.0, 1e9])).round(2).tolist()
    [-1.22, -1.22, 0.82, 0.82, 0.82]
    """
    clipped = np.minimum(values, np.quantile(values, HIGHEST, method="lower"))
    spread = float(clipped.std())
    centred: Array = clipped - clipped.mean()
    return centred / spread if spread > 1e-12 * abs(float(clipped.mean())) else np.zeros_like(values)
