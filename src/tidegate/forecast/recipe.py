"""One autoregression: how it is fitted to values and carried on. Pure functions of the values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tidegate.forecast.values import Array, coarse, fine, steps_in

#: rows beyond the order before a fit is tried
SPARE = 6
#: minutes of no change that the mean change must outweigh: a short history tells little about a drift
STILL = 60
#: a path may leave the range of the values by so many times that range: an unstable fit grows without bound
ROOM = 2.0
#: weight in a value to come; sums of products of it with rates are still numbers
LARGEST = 1e100


@dataclass(frozen=True, slots=True)
class Recipe:
    """A mean over `grain` seconds as a weighted sum of the `order` before it; of their changes if `differenced`.

    Order 0 of the changes is a random walk with a drift. Sudden changes are `tamed`: a jump happens once, and a model
    that learned it would expect the next.

    >>> walk = Recipe(order=0, grain=60, differenced=True)
    >>> model = walk.fit(np.arange(240.0), 15)  # 59 changes of 4 a minute, and 60 of nothing: 236 / 119
    >>> walk.path(np.arange(240.0), model, 15, 2).round(2)  # the last mean, 237.5, is 2.5 steps before the next middle
    array([238.74, 239.24])
    """

    order: int
    grain: float = 60.0
    differenced: bool = False
    ridge: float = 1e-3

    def fit(self, values: Array, step: float) -> tuple[float, ...]:
        """Weights of the latest first, then the constant; empty where there are too few values."""
        return self.fit_to(self.past(values, step))

    def path(self, values: Array, model: tuple[float, ...], step: float, horizon: int) -> Array:
        """The last minute's mean while there is no model."""
        return self.path_from(self.past(values, step), model, horizon)

    def past(self, values: Array, step: float) -> Past:
        return Past.of(values, step, self.grain, differenced=self.differenced)

    def fit_to(self, past: Past) -> tuple[float, ...]:
        """`fit`, of a past that several recipes may share."""
        series = past.series
        if len(series) < self.order + SPARE:
            return ()
        if not self.order:
            return (float(series.sum() / (len(series) + STILL)),)
        return ridge_fit(series, self.order, self.ridge)

    def path_from(self, past: Past, model: tuple[float, ...], horizon: int) -> Array:
        series, means, factor = past.series, past.means, past.factor
        if not model or len(series) < max(1, self.order):
            return np.full(horizon, past.minute.mean())
        count = -(-horizon // factor) + 1
        ahead = carried(series, model, count, summed=self.differenced)
        ahead = means[-1] + ahead if self.differenced else ahead
        return fine(float(means[-1]), np.minimum(np.maximum(ahead, past.lowest), past.highest), factor, horizon)


@dataclass(frozen=True, slots=True)
class Past:
    """What a recipe is fitted to and goes on from: means of `factor` values, and those or their tamed changes.

    A path stays between `lowest` and `highest`; `minute` are the values of the last one.
    """

    factor: int
    means: Array
    series: Array
    lowest: float
    highest: float
    minute: Array

    @classmethod
    def of(cls, values: Array, step: float, grain: float, *, differenced: bool) -> Past:
        factor = steps_in(grain, step)
        means = coarse(values, factor)
        series = tamed(means[1:] - means[:-1]) if differenced else means
        low, high = (np.minimum.reduce(means), np.maximum.reduce(means)) if len(means) else (0.0, 0.0)
        room = ROOM * (high - low)
        return cls(factor, means, series, low - room, high + room, values[-steps_in(60.0, step) :])


def tamed(changes: Array) -> Array:
    """Changes beyond twice their 0.9 quantile, cut down to it, unless three or more in a row go the same way.

    >>> tamed(np.array([1.0] * 4 + [50.0] + [-1.0] * 6))
    array([ 1.,  1.,  1.,  1.,  2., -1., -1., -1., -1., -1., -1.])
    """
    if not len(changes):
        return changes
    size = np.abs(changes)
    place = len(changes) * 9 // 10
    bound = 2.0 * np.partition(size, place)[place]
    far = np.flatnonzero(size > bound)
    cut: Array = np.minimum(np.maximum(changes, -bound), bound)
    kept = lasting(far, changes[far] > 0)
    cut[kept] = changes[kept]
    return cut


def lasting(places: npt.NDArray[np.intp], rising: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Of places in order, those that stand three or more in a row and go the same way; some may be named twice.

    >>> lasting(np.array([0, 1, 3, 4, 5, 6]), np.array([True, True, False, False, False, True]))
    array([3, 4, 5])
    """
    if len(places) < 3:
        return places[:0]
    alike = (rising[2:] == rising[1:-1]) & (rising[1:-1] == rising[:-2])
    first = places[:-2][alike & (places[2:] - places[:-2] == 2)]
    return np.concatenate((first, first + 1, first + 2))


def ridge_fit(series: Array, order: int, ridge: float) -> tuple[float, ...]:
    """
    >>> [round(one, 2) for one in ridge_fit(np.array([16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25]), 1, 1e-6)]
    [0.5, 0.0]
    """
    products, middle = moments(series, order + 1)
    within, across = products[:-1, :-1], products[:-1, -1]
    # the target counts too: lags that hardly vary must not explain a jump
    penalty = ridge * float(np.add.reduce(products.diagonal())) / (order + 1)
    if not penalty:
        return (*[0.0] * order, float(middle[-1]))
    within.flat[:: order + 1] += penalty  # the diagonal
    found = np.linalg.solve(within, across)
    return (*found[::-1].tolist(), float(middle[-1] - found @ middle[:-1]))


def moments(series: Array, width: int) -> tuple[Array, Array]:
    """Of all windows of a width, as rows: products of their columns about their means, and the means.

    A window's product of two columns is that of the two before them, a step later: one comes, one goes. So only the
    first row is a sum over all windows.

    >>> products, means = moments(np.array([1.0, 2.0, 4.0, 4.0]), 2)  # rows (1, 2), (2, 4), (4, 4)
    >>> means.round(3), products.round(3)
    (array([2.333, 3.333]), array([[4.667, 2.667],
           [2.667, 2.667]]))
    """
    count = len(series) - width + 1
    # first the first value, which leaves nothing of a constant; then the mean, for the sake of small numbers
    about = series - series[0]
    middle = np.add.reduce(about) / len(about)
    about = about - middle
    gone, came = about[: width - 1], about[count:]
    products = np.empty((width, width))
    products[0] = products[:, 0] = np.correlate(about, about[:count], "valid")
    changes = came[:, None] * came - gone[:, None] * gone
    for k in range(width - 1):
        products[k + 1, 1:] = products[k, :-1] + changes[k]
    sums = np.add.reduce(about[:count]) + np.concatenate(([0.0], np.cumsum(came - gone)))
    return products - sums[:, None] * sums / count, sums / count + (series[0] + middle)


def carried(series: Array, model: tuple[float, ...], count: int, *, summed: bool = False) -> Array:
    """The next values, each made of the ones before; or their sums up to each.

    >>> carried(np.array([8.0, 4.0]), (0.5, 1.0), 2)  # 0.5 * 4 + 1, then 0.5 * 3 + 1
    array([3. , 2.5])
    """
    weights = carrying(model, count, summed)
    return np.asarray(weights[:, :-1] @ series[len(series) - len(model) + 1 :] + weights[:, -1])


@lru_cache(maxsize=64)
def carrying(model: tuple[float, ...], count: int, summed: bool) -> Array:
    """Row k has what each of the last values, the oldest first, and 1 weigh in the value k + 1 steps ahead. A model is
    carried on many times before it is fitted anew.

    >>> carrying((0.5, 1.0), 3, False)  # x / 2 + 1; x / 4 + 1.5; x / 8 + 1.75
    array([[0.5  , 1.   ],
           [0.25 , 1.5  ],
           [0.125, 1.75 ]])
    """
    order = len(model) - 1
    rows = np.array([[*model[-2::-1], model[-1]]])
    onward = np.eye(order + 1, k=1)  # what a step makes of the last values and 1
    onward[order, order] = 1.0
    if order:
        onward[order - 1] = rows[0]
    with np.errstate(over="ignore", invalid="ignore"):  # an unstable model may leave all bounds: who asked cuts paths
        while len(rows) < count:
            rows = np.concatenate((rows, rows @ onward))  # twice as far
            onward = onward @ onward if len(rows) < count else onward
        rows = np.minimum(np.maximum(rows[:count], -LARGEST), LARGEST)
    return np.cumsum(rows, axis=0) if summed else rows
