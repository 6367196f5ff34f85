"""One autoregression: how it is fitted to values and carried on. Pure functions of the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidegate.forecast.values import Array, coarse, fine, steps_in

#: rows beyond the order before a fit is tried
SPARE = 6
#: minutes of no change that the mean change must outweigh: a short history tells little about a drift
STILL = 60
#: a path may leave the range of the values by so many times that range: an unstable fit grows without bound
ROOM = 2.0


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
        series = self._series(coarse(values, steps_in(self.grain, step)))
        if len(series) < self.order + SPARE:
            return ()
        if not self.order:
            return (float(series.sum() / (len(series) + STILL)),)
        return ridge_fit(series, self.order, self.ridge)

    def path(self, values: Array, model: tuple[float, ...], step: float, horizon: int) -> Array:
        """The last minute's mean while there is no model."""
        factor = steps_in(self.grain, step)
        means = coarse(values, factor)
        series = self._series(means)
        if not model or len(series) < max(1, self.order):
            return np.full(horizon, values[-steps_in(60.0, step) :].mean())
        ahead = carried(series, model, -(-horizon // factor) + 1)
        ahead = means[-1] + np.cumsum(ahead) if self.differenced else ahead
        low, high = means.min(), means.max()
        room = ROOM * (high - low)
        return fine(float(means[-1]), np.clip(ahead, low - room, high + room), factor, horizon)

    def _series(self, means: Array) -> Array:
        return tamed(np.diff(means)) if self.differenced else means


def tamed(changes: Array) -> Array:
    """Changes beyond twice their 0.9 quantile, cut down to it, unless three or more in a row go the same way.

    >>> tamed(np.array([1.0] * 4 + [50.0] + [-1.0] * 6))
    array([ 1.,  1.,  1.,  1.,  2., -1., -1., -1., -1., -1., -1.])
    """
    if not len(changes):
        return changes
    place = len(changes) * 9 // 10
    bound = 2.0 * np.partition(np.abs(changes), place)[place]
    beyond = np.sign(changes) * (np.abs(changes) > bound)
    return np.where(lasting(beyond), changes, np.clip(changes, -bound, bound))


def lasting(signs: Array) -> npt.NDArray[np.bool_]:
    """Where three or more in a row are alike and not zero.

    >>> lasting(np.array([1.0, 1.0, 0.0, -1.0, -1.0, -1.0, 1.0])).astype(int)
    array([0, 0, 0, 1, 1, 1, 0])
    """
    middles = (signs[:-2] != 0) & (signs[:-2] == signs[1:-1]) & (signs[1:-1] == signs[2:])
    found = np.zeros(len(signs), dtype=bool)
    for shift in range(3):
        found[shift : shift + len(middles)] |= middles
    return found


def ridge_fit(series: Array, order: int, ridge: float) -> tuple[float, ...]:
    """
    >>> [round(one, 2) for one in ridge_fit(np.array([16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25]), 1, 1e-6)]
    [0.5, 0.0]
    """
    rows = np.lib.stride_tricks.sliding_window_view(series, order + 1)
    middle = rows.mean(axis=0)
    centred = rows - middle
    products = centred.T @ centred
    within, across = products[:-1, :-1], products[:-1, -1]
    # the target counts too: lags that hardly vary must not explain a jump
    penalty = ridge * float(np.trace(products)) / (order + 1)
    if not penalty:
        return (*[0.0] * order, float(middle[-1]))
    found = np.linalg.solve(within + penalty * np.eye(order), across)
    return (*found[::-1].tolist(), float(middle[-1] - found @ middle[:-1]))


def carried(series: Array, model: tuple[float, ...], count: int) -> Array:
    """The next values, each made of the ones before.

    >>> carried(np.array([8.0, 4.0]), (0.5, 1.0), 2)  # 0.5 * 4 + 1, then 0.5 * 3 + 1
    array([3. , 2.5])
    """
    order = len(model) - 1
    weights, constant = np.array(model[-2::-1]), model[-1]
    made = np.concatenate((series[len(series) - order :], np.zeros(count)))
    with np.errstate(over="ignore", invalid="ignore"):  # an unstable model may leave all bounds: who asked cuts it
        for k in range(count):
            made[order + k] = constant + weights @ made[k : order + k]
    return made[order:]
