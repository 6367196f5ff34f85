"""Ridge autoregression on block means: fitting, and iterated forecasts. Pure functions of the values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tidegate.forecast.values import MINUTE, Array, block_means, interpolate_means, steps_in

#: observations required beyond the order before a fit is attempted
EXTRA_OBSERVATIONS = 6
#: pseudo-observations of no change that shrink the drift: a short history says little about it
DRIFT_PRIOR = 60
#: a path may leave the range of the values by this multiple of the range; bounds what an unstable fit predicts
RANGE_MARGIN = 2.0
#: bound on a multi-step weight, so that its products with rates stay finite
MAX_WEIGHT = 1e100


@dataclass(frozen=True, slots=True)
class RidgeAr:
    """Specification of an AR(`order`) model of means over `grain` seconds, or of their first differences.

    With `differenced` and order 0 it is a random walk with drift. Differences are winsorised before they are fitted,
    because a model that has learned a jump would predict another one.

    >>> walk = RidgeAr(order=0, grain=60, differenced=True)
    >>> model = walk.fit(np.arange(240.0), 15)  # 59 changes of 4 a minute, and the prior's 60 of none: 236 / 119
    >>> walk.path(np.arange(240.0), model, 15, 2).round(2)  # the last mean, 237.5, is centred 2.5 steps before step 1
    array([238.74, 239.24])
    """

    order: int
    grain: float = 60.0
    differenced: bool = False
    ridge: float = 1e-3

    def fit(self, values: Array, step: float) -> tuple[float, ...]:
        """Coefficients, lag 1 first, then the intercept; empty if there are too few values."""
        return self.fit_history(self.history(values, step))

    def path(self, values: Array, model: tuple[float, ...], step: float, horizon: int) -> Array:
        """Forecast with fitted coefficients; the mean of the last minute if `model` is empty."""
        return self.path_from(self.history(values, step), model, horizon)

    def history(self, values: Array, step: float) -> History:
        return History.of(values, step, self.grain, differenced=self.differenced)

    def fit_history(self, history: History) -> tuple[float, ...]:
        """`fit`, on a history that several specifications may share."""
        series = history.series
        if len(series) < self.order + EXTRA_OBSERVATIONS:
            return ()
        if not self.order:
            return (float(series.sum() / (len(series) + DRIFT_PRIOR)),)
        return ridge_fit(series, self.order, self.ridge)

    def path_from(self, history: History, model: tuple[float, ...], horizon: int) -> Array:
        """`path`, from a history that several specifications may share."""
        series, means, factor = history.series, history.means, history.factor
        if not model or len(series) < max(1, self.order):
            return np.full(horizon, history.last_minute.mean())
        count = -(-horizon // factor) + 1
        ahead = iterated_forecast(series, model, count, cumulative=self.differenced)
        ahead = means[-1] + ahead if self.differenced else ahead
        bounded = np.minimum(np.maximum(ahead, history.lowest), history.highest)
        return interpolate_means(float(means[-1]), bounded, factor, horizon)


@dataclass(frozen=True, slots=True)
class History:
    """Block means of `factor` values, and the series that is modelled: the means, or their winsorised differences.

    Forecast means are clipped to [`lowest`, `highest`]; `last_minute` are the raw values of the last minute.
    """

    factor: int
    means: Array
    series: Array
    lowest: float
    highest: float
    last_minute: Array

    @classmethod
    def of(cls, values: Array, step: float, grain: float, *, differenced: bool) -> History:
        factor = steps_in(grain, step)
        means = block_means(values, factor)
        series = winsorized(means[1:] - means[:-1]) if differenced else means
        low, high = (np.minimum.reduce(means), np.maximum.reduce(means)) if len(means) else (0.0, 0.0)
        margin = RANGE_MARGIN * (high - low)
        return cls(factor, means, series, low - margin, high + margin, values[-steps_in(MINUTE, step) :])


def winsorized(changes: Array) -> Array:
    """Changes clipped to twice the 0.9 quantile of their size, except in runs of three or more with the same sign.

    Winsorising (Tukey 1962) limits the influence of single jumps; a run is a ramp, which the model should learn.

    >>> winsorized(np.array([1.0] * 4 + [50.0] + [-1.0] * 6))
    array([ 1.,  1.,  1.,  1.,  2., -1., -1., -1., -1., -1., -1.])
    """
    if not len(changes):
        return changes
    sizes = np.abs(changes)
    rank = len(changes) * 9 // 10
    bound = 2.0 * np.partition(sizes, rank)[rank]
    outliers = np.flatnonzero(sizes > bound)
    clipped: Array = np.minimum(np.maximum(changes, -bound), bound)
    in_runs = runs_of_three(outliers, changes[outliers] > 0)
    clipped[in_runs] = changes[in_runs]
    return clipped


def runs_of_three(indices: npt.NDArray[np.intp], positive: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Of sorted indices, those in a run of three or more consecutive ones with the same sign. May repeat an index.

    >>> runs_of_three(np.array([0, 1, 3, 4, 5, 6]), np.array([True, True, False, False, False, True]))
    array([3, 4, 5])
    """
    if len(indices) < 3:
        return indices[:0]
    same_sign = (positive[2:] == positive[1:-1]) & (positive[1:-1] == positive[:-2])
    starts = indices[:-2][same_sign & (indices[2:] - indices[:-2] == 2)]
    return np.concatenate((starts, starts + 1, starts + 2))


def ridge_fit(series: Array, order: int, ridge: float) -> tuple[float, ...]:
    """Coefficients of an AR(`order`) model by ridge regression (Hoerl and Kennard 1970), then the intercept.

    The penalty is `ridge` times the mean variance of lags and target.

    >>> [round(weight, 2) for weight in ridge_fit(np.array([16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25]), 1, 1e-6)]
    [0.5, 0.0]
    """
    covariance, means = lag_covariance(series, order + 1)
    lags, cross = covariance[:-1, :-1], covariance[:-1, -1]
    # includes the target's variance: lags that hardly vary must not explain a jump
    penalty = ridge * float(np.add.reduce(covariance.diagonal())) / (order + 1)
    if not penalty:
        return (*[0.0] * order, float(means[-1]))
    lags.flat[:: order + 1] += penalty  # the diagonal
    weights = np.linalg.solve(lags, cross)
    return (*weights[::-1].tolist(), float(means[-1] - weights @ means[:-1]))


def lag_covariance(series: Array, width: int) -> tuple[Array, Array]:
    """Centred products (unnormalised covariance) and means of the columns of all windows of `width` values.

    This is the covariance method of linear prediction (Makhoul 1975): element (i + 1, j + 1) is element (i, j) with
    one product added and one removed, so only the first row is summed over all windows.

    >>> covariance, means = lag_covariance(np.array([1.0, 2.0, 4.0, 4.0]), 2)  # windows (1, 2), (2, 4), (4, 4)
    >>> means.round(3), covariance.round(3)
    (array([2.333, 3.333]), array([[4.667, 2.667],
           [2.667, 2.667]]))
    """
    windows = len(series) - width + 1
    # subtract the first value, so that a constant becomes exactly 0, then the mean, for small numbers
    centred = series - series[0]
    mean = np.add.reduce(centred) / len(centred)
    centred = centred - mean
    removed, added = centred[: width - 1], centred[windows:]
    products = np.empty((width, width))
    products[0] = products[:, 0] = np.correlate(centred, centred[:windows], "valid")
    changes = added[:, None] * added - removed[:, None] * removed
    for k in range(width - 1):
        products[k + 1, 1:] = products[k, :-1] + changes[k]
    sums = np.add.reduce(centred[:windows]) + np.concatenate(([0.0], np.cumsum(added - removed)))
    return products - sums[:, None] * sums / windows, sums / windows + (series[0] + mean)


def iterated_forecast(series: Array, model: tuple[float, ...], count: int, *, cumulative: bool = False) -> Array:
    """The next `count` values, each forecast fed back as a lag of the next; or their cumulative sums.

    >>> iterated_forecast(np.array([8.0, 4.0]), (0.5, 1.0), 2)  # 0.5 * 4 + 1, then 0.5 * 3 + 1
    array([3. , 2.5])
    """
    weights = multistep_weights(model, count, cumulative)
    return np.asarray(weights[:, :-1] @ series[len(series) - len(model) + 1 :] + weights[:, -1])


@lru_cache(maxsize=64)
def multistep_weights(model: tuple[float, ...], count: int, cumulative: bool) -> Array:
    """Row k: weights of the last values, oldest first, and the intercept, in the forecast k + 1 steps ahead.

    Rows are powers of the companion matrix (Hamilton 1994, 1.2), computed by repeated squaring. Cached, because a
    model makes many forecasts before it is fitted again.

    >>> multistep_weights((0.5, 1.0), 3, False)  # x / 2 + 1; x / 4 + 1.5; x / 8 + 1.75
    array([[0.5  , 1.   ],
           [0.25 , 1.5  ],
           [0.125, 1.75 ]])
    """
    order = len(model) - 1
    rows = np.array([[*model[-2::-1], model[-1]]])
    companion = np.eye(order + 1, k=1)
    companion[order, order] = 1.0
    if order:
        companion[order - 1] = rows[0]
    with np.errstate(over="ignore", invalid="ignore"):  # an unstable model may overflow; callers clip the path
        while len(rows) < count:
            rows = np.concatenate((rows, rows @ companion))  # doubles the number of steps
            companion = companion @ companion if len(rows) < count else companion
        rows = np.minimum(np.maximum(rows[:count], -MAX_WEIGHT), MAX_WEIGHT)
    return np.cumsum(rows, axis=0) if cumulative else rows
