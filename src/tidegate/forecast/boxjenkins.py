"""ARIMA(p, d, q) (Box and Jenkins): fitting by the Hannan-Rissanen method, and forecasting.

    w = values, differenced d times
    w[t] = c + ar1 * w[t-1] + ... + arp * w[t-p] + e[t] + ma1 * e[t-1] + ... + maq * e[t-q]         (c only if d = 0)

Hannan and Rissanen (1982) use two regressions: a long autoregression estimates the innovations e, which are regressors
in the second. There is no likelihood to maximise, so a fit takes a fraction of a millisecond and cannot fail to
converge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import mul

import numpy as np

from tidegate.forecast.values import Array

#: critical value of the KPSS test of level stationarity at 5 % (Kwiatkowski et al. 1992)
KPSS_CRITICAL = 0.463
#: order of the long autoregression, and the largest p and q: all orders are compared on the same observations
LONG_ORDER, MAX_ORDER = 10, 5
#: values from which innovations are computed before a forecast; the influence of earlier ones has died out
WARM_UP = 60
#: bounds on the modulus of AR and MA roots
MAX_AR_ROOT, MAX_MA_ROOT = 1.001, 0.995


@dataclass(frozen=True, slots=True)
class ArimaModel:
    """Coefficients, lag 1 first."""

    d: int
    ar: tuple[float, ...]
    ma: tuple[float, ...]
    constant: float
    aicc: float


def kpss(values: Array) -> float:
    """KPSS statistic of level stationarity: squared partial sums of residuals over the long-run variance.

    The long-run variance is Newey and West's, with Bartlett weights.

    >>> round(kpss(np.arange(40.0)), 2), round(kpss(np.array([1.0, 1.0, -1.0, -1.0] * 10)), 2)
    (2.08, 0.04)
    """
    residuals = values - values.mean()
    n = len(residuals)
    lags = int(3 * math.sqrt(n) / 13)
    variance = float(residuals @ residuals)
    for k in range(1, lags + 1):
        variance += 2 * (1 - k / (lags + 1)) * float(residuals[k:] @ residuals[:-k])
    partial_sums = np.cumsum(residuals)
    return float(partial_sums @ partial_sums) / (n * variance) if variance > 0 else 0.0


def difference_order(values: Array) -> int:
    """The order d of differencing: 0, 1 or 2, by KPSS tests.

    2 only if the second difference reduces the variance. Differencing a random walk twice increases it, and the
    resulting forecast would be an arbitrary straight line.

    >>> ramp = np.arange(40.0)
    >>> difference_order(np.array([5.0, 5.0, 6.0, 6.0] * 10)), difference_order(ramp), difference_order(ramp**2)
    (0, 1, 2)
    """
    if kpss(values) <= KPSS_CRITICAL:
        return 0
    first, second = np.diff(values), np.diff(values, 2)
    return 2 if kpss(first) > KPSS_CRITICAL and second.var() < first.var() else 1


def lag_matrix(series: Array, lags: int, begin: int) -> Array:
    """Column k holds lag k + 1 of each value from index `begin` on.

    >>> lag_matrix(np.array([1.0, 2.0, 3.0, 4.0]), lags=2, begin=2)
    array([[2., 1.],
           [3., 2.]])
    """
    return np.stack([series[begin - k - 1 : len(series) - k - 1] for k in range(lags)], axis=1)


def fit_arima(values: Array, d: int, p: int, q: int) -> ArimaModel | None:
    """None if there are too few values, or the fit is not stable or not invertible.

    >>> model = fit_arima(np.array([5.0, 6.0] * 30), d=0, p=1, q=0)
    >>> [round(weight, 3) for weight in model.ar], round(model.constant, 3)  # x[t] = 11 - x[t-1]
    ([-1.0], 11.0)
    """
    w = np.diff(values, d)
    begin = LONG_ORDER + MAX_ORDER
    rows = len(w) - begin
    count = p + q + (d == 0)
    if rows < 2 * count + 5:
        return None
    scale = float(np.abs(w).max()) or 1.0
    w = w / scale
    columns = [lag_matrix(w, p, begin)] if p else []
    if q:
        columns.append(lag_matrix(innovations(w), q, begin))
    if d == 0:
        columns.append(np.ones((rows, 1)))
    regressors = np.hstack(columns) if columns else np.zeros((rows, 0))
    weights = least_squares(regressors, w[begin:])
    ar, ma = tuple(weights[:p].tolist()), tuple(weights[p : p + q].tolist())
    if not (is_stable(ar, MAX_AR_ROOT) and is_stable(tuple(-weight for weight in ma), MAX_MA_ROOT)):
        return None
    residuals = w[begin:] - regressors @ weights
    criterion = aicc(float(residuals @ residuals), rows, count + 1)
    return ArimaModel(d, ar, ma, scale * float(weights[-1]) if d == 0 else 0.0, criterion)


def innovations(w: Array) -> Array:
    """Residuals of a long autoregression; zero for the first values, which have too few lags."""
    regressors = np.hstack((lag_matrix(w, LONG_ORDER, LONG_ORDER), np.ones((len(w) - LONG_ORDER, 1))))
    residuals = w[LONG_ORDER:] - regressors @ least_squares(regressors, w[LONG_ORDER:])
    return np.concatenate((np.zeros(LONG_ORDER), residuals))


def least_squares(regressors: Array, target: Array) -> Array:
    """Least squares with a tiny ridge, so that collinear columns can be solved."""
    if not regressors.shape[1]:
        return np.zeros(0)
    gram = regressors.T @ regressors
    gram[np.diag_indices_from(gram)] += 1e-9 * float(np.trace(gram)) + 1e-12
    return np.asarray(np.linalg.solve(gram, regressors.T @ target))


def is_stable(weights: tuple[float, ...], bound: float) -> bool:
    """Whether all roots of x[t] = sum of weights[k] * x[t-k-1] have a modulus below `bound`.

    >>> is_stable((0.5,), 0.995), is_stable((1.2,), 0.995), is_stable((0.5, 0.6), 0.995)
    (True, False, False)
    """
    if not weights:
        return True
    companion = np.eye(len(weights), k=-1)
    companion[0] = weights
    return bool(np.abs(np.linalg.eigvals(companion)).max() < bound)


def aicc(squares: float, rows: int, count: int) -> float:
    """Akaike's information criterion, corrected for small samples; `count` includes the variance.

    >>> round(aicc(10.0, rows=20, count=3), 3)  # 20 * ln(10 / 20) + 6 + 24 / 16
    -6.363
    """
    return rows * math.log(squares / rows + 1e-12) + 2 * count + 2 * count * (count + 1) / (rows - count - 1)


def forecast_arima(values: Array, model: ArimaModel, horizon: int) -> Array:
    """The next values. Future innovations are zero; past ones are computed from the last `WARM_UP` values.

    >>> model = ArimaModel(d=1, ar=(0.5,), ma=(), constant=0.0, aicc=0.0)
    >>> forecast_arima(np.array([1.0, 2.0, 4.0]), model, 2)  # + 1, + 0.5
    array([5. , 5.5])
    """
    tail = values[-WARM_UP - model.d :]
    w = np.diff(tail, model.d) if model.d else tail
    path = np.array(_forecast_arma(w, model, horizon))
    for k in range(model.d, 0, -1):
        path = np.diff(tail, k - 1)[-1] + np.cumsum(path)
    return path


def _forecast_arma(w: Array, model: ArimaModel, horizon: int) -> list[float]:
    """The next values of the differenced series. State lists hold the latest value first, like the weights."""
    ar, ma, order = model.ar, model.ma, max(len(model.ar), len(model.ma))
    # actual minus the AR part; the first values have no lags
    ar_residuals = w[order:] - model.constant
    for k, weight in enumerate(ar, 1):
        ar_residuals = ar_residuals - weight * w[order - k : max(order, len(w)) - k]
    shocks = [0.0] * len(ma)
    for residual in ar_residuals.tolist() if ma else ():
        shocks = [residual - sum(map(mul, ma, shocks)), *shocks[:-1]]
    lags, path = [*w[: -len(ar) - 1 : -1].tolist(), *[0.0] * len(ar)][: len(ar)], []
    for _ in range(horizon):
        value = sum(map(mul, ar, lags), model.constant) + sum(map(mul, ma, shocks))
        path.append(value)
        lags, shocks = [value, *lags[:-1]], [0.0, *shocks[:-1]]
    return path
