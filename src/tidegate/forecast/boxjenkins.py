"""ARIMA(p, d, q): fitted by Hannan and Rissanen's two regressions, and carried on.

    w = values, differenced d times
    w[t] = c + ar1 * w[t-1] + ... + arp * w[t-p] + e[t] + ma1 * e[t-1] + ... + maq * e[t-q]         (c only if d = 0)

The first regression, a long autoregression, tells the shocks e; the second takes them as known. No likelihood is
climbed, so a fit takes a fraction of a millisecond and cannot fail to converge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import mul

import numpy as np

from tidegate.forecast.values import Array

#: level stationarity is refused at 5 % above this (Kwiatkowski et al. 1992)
KPSS = 0.463
#: lags of the long autoregression, and rows left out so that all orders are judged by the same ones
LONG, SKIPPED = 10, 5
#: values over which shocks are worked out before a forecast: those before are forgotten by then
WARM = 60
#: largest modulus of a root
STABLE = 0.995


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of the latest first."""

    d: int
    ar: tuple[float, ...]
    ma: tuple[float, ...]
    constant: float
    aicc: float


def kpss(values: Array) -> float:
    """How far partial sums about the mean wander, over the long-run variance; above 0.463 the level moves.

    >>> round(kpss(np.arange(40.0)), 2), round(kpss(np.array([1.0, 1.0, -1.0, -1.0] * 10)), 2)
    (2.08, 0.04)
    """
    rest = values - values.mean()
    n = len(rest)
    lags = int(3 * math.sqrt(n) / 13)
    variance = float(rest @ rest)
    for k in range(1, lags + 1):
        variance += 2 * (1 - k / (lags + 1)) * float(rest[k:] @ rest[:-k])
    sums = np.cumsum(rest)
    return float(sums @ sums) / (n * variance) if variance > 0 else 0.0


def differences(values: Array) -> int:
    """How often to difference until the level stands still: 0, 1 or 2.

    Twice only if that makes the variance smaller: a random walk's grows, and a line drawn through it leads anywhere.

    >>> ramp = np.arange(40.0)
    >>> differences(np.array([5.0, 5.0, 6.0, 6.0] * 10)), differences(ramp), differences(ramp**2)
    (0, 1, 2)
    """
    if kpss(values) <= KPSS:
        return 0
    once, twice = np.diff(values), np.diff(values, 2)
    return 2 if kpss(once) > KPSS and twice.var() < once.var() else 1


def lagged(series: Array, count: int, begin: int) -> Array:
    """Column k has, for each value from `begin` on, the one k + 1 before it.

    >>> lagged(np.array([1.0, 2.0, 3.0, 4.0]), count=2, begin=2)
    array([[2., 1.],
           [3., 2.]])
    """
    return np.stack([series[begin - k - 1 : len(series) - k - 1] for k in range(count)], axis=1)


def fitted(values: Array, d: int, p: int, q: int) -> Model | None:
    """None where there are too few values, or where the fit would explode or never forget.

    >>> found = fitted(np.array([5.0, 6.0] * 30), d=0, p=1, q=0)
    >>> [round(one, 3) for one in found.ar], round(found.constant, 3)  # each is 11 minus the one before
    ([-1.0], 11.0)
    """
    w = np.diff(values, d)
    begin = LONG + SKIPPED
    rows = len(w) - begin
    count = p + q + (d == 0)
    if rows < 2 * count + 5:
        return None
    scale = float(np.abs(w).max()) or 1.0
    w = w / scale
    columns = [lagged(w, p, begin)] if p else []
    if q:
        columns.append(lagged(shocks_of(w), q, begin))
    if d == 0:
        columns.append(np.ones((rows, 1)))
    known = np.hstack(columns) if columns else np.zeros((rows, 0))
    found = solved(known, w[begin:])
    ar, ma = tuple(found[:p].tolist()), tuple(found[p : p + q].tolist())
    if not (forgets(ar, 1.001) and forgets(tuple(-one for one in ma), STABLE)):
        return None
    left = w[begin:] - known @ found
    return Model(d, ar, ma, scale * float(found[-1]) if d == 0 else 0.0, aicc(float(left @ left), rows, count + 1))


def shocks_of(w: Array) -> Array:
    """What a long autoregression leaves; zero where it has no lags yet."""
    known = np.hstack((lagged(w, LONG, LONG), np.ones((len(w) - LONG, 1))))
    return np.concatenate((np.zeros(LONG), w[LONG:] - known @ solved(known, w[LONG:])))


def solved(known: Array, target: Array) -> Array:
    """Least squares, with a trace of a ridge for columns that say the same."""
    if not known.shape[1]:
        return np.zeros(0)
    products = known.T @ known
    products[np.diag_indices_from(products)] += 1e-9 * float(np.trace(products)) + 1e-12
    return np.asarray(np.linalg.solve(products, known.T @ target))


def forgets(weights: tuple[float, ...], bound: float) -> bool:
    """Whether x[t] = sum of weights * x[t-k] dies out: all roots are within the bound.

    >>> forgets((0.5,), 0.995), forgets((1.2,), 0.995), forgets((0.5, 0.6), 0.995)
    (True, False, False)
    """
    if not weights:
        return True
    companion = np.eye(len(weights), k=-1)
    companion[0] = weights
    return bool(np.abs(np.linalg.eigvals(companion)).max() < bound)


def aicc(squares: float, rows: int, count: int) -> float:
    """Akaike's criterion with its correction for few rows; `count` includes the variance.

    >>> round(aicc(10.0, rows=20, count=3), 3)  # 20 * ln(10 / 20) + 6 + 24 / 16
    -6.363
    """
    return rows * math.log(squares / rows + 1e-12) + 2 * count + 2 * count * (count + 1) / (rows - count - 1)


def extended(values: Array, model: Model, horizon: int) -> Array:
    """The next values. Shocks to come are zero; those behind are worked out from the last minutes.

    >>> extended(np.array([1.0, 2.0, 4.0]), Model(d=1, ar=(0.5,), ma=(), constant=0.0, aicc=0.0), 2)  # +1, +0.5
    array([5. , 5.5])
    """
    tail = values[-WARM - model.d :]
    w = np.diff(tail, model.d) if model.d else tail
    path = np.array(_carried(w, model, horizon))
    for k in range(model.d, 0, -1):
        path = np.diff(tail, k - 1)[-1] + np.cumsum(path)
    return path


def _carried(w: Array, model: Model, horizon: int) -> list[float]:
    """The next values of a series that needs no more differencing. Lists are the last ones first, as the weights."""
    ar, ma, order = model.ar, model.ma, max(len(model.ar), len(model.ma))
    # what came less what was expected without the shocks before; the first values have nothing before them
    unexplained = w[order:] - model.constant
    for k, weight in enumerate(ar, 1):
        unexplained = unexplained - weight * w[order - k : max(order, len(w)) - k]
    shocks = [0.0] * len(ma)
    for rest in unexplained.tolist() if ma else ():
        shocks = [rest - sum(map(mul, ma, shocks)), *shocks[:-1]]
    before, made = [*w[: -len(ar) - 1 : -1].tolist(), *[0.0] * len(ar)][: len(ar)], []
    for _ in range(horizon):
        found = sum(map(mul, ar, before), model.constant) + sum(map(mul, ma, shocks))
        made.append(found)
        before, shocks = [found, *before[:-1]], [0.0, *shocks[:-1]]
    return made
