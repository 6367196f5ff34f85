"""How long a query needs to be up to date again after it stood still, for any capacity model and any forecast.

Two papers, two ways to the same number. Daedalus (3.4, figure 6) adds up the capacity that is left over from the
moment the query runs again until it has worked off what waits. Phoebe (III-B) follows a sequence: the time to process
what came while it stood still, then the time for what came meanwhile, and so on. Both see the worst case, a failure
just before the next checkpoint. Beyond its horizon a forecast is taken to stay at its last value, so that a query that
will never catch up is told as `inf`, not cut off.
"""

from __future__ import annotations

import math

from tidegate.core import Forecast

#: shortest term of Phoebe's sequence, s
SHORTEST = 1.0


def offered(forecast: Forecast, begin: float, end: float) -> float:
    """Records that are expected between two moments from now.

    >>> offered(Forecast(10, (5.0, 7.0)), 5, 15), offered(Forecast(10, (5.0, 7.0)), 15, 40)
    (60.0, 175.0)
    """
    if end <= begin:
        return 0.0
    total, horizon = 0.0, forecast.seconds
    first, last = int(min(begin, horizon) // forecast.step), math.ceil(min(end, horizon) / forecast.step)
    for k in range(first, last):
        overlap = min(end, (k + 1) * forecast.step) - max(begin, k * forecast.step)
        total += forecast.mean[k] * max(0.0, overlap)
    return total + forecast.mean[-1] * max(0.0, end - max(begin, horizon))


def by_spare_capacity(capacity: float, forecast: Forecast, waiting: float, downtime: float) -> float:
    """Seconds from now until a query with `waiting` records, which stands still for `downtime`, has caught up.

    `waiting` is what waits already: the lag, and what must be done again since the last checkpoint (Daedalus: all that
    came in a checkpoint interval). Spare capacity that the load leaves over counts only where there is some.

    >>> by_spare_capacity(capacity=100, forecast=Forecast(60, (60.0,)), waiting=1000, downtime=10)
    50.0
    >>> by_spare_capacity(capacity=50, forecast=Forecast(60, (60.0,)), waiting=0, downtime=10)
    inf
    """
    # 1000 wait, 60 x 10 come while it stands still: 1600, worked off by 100 - 60 a second: 40 s after the 10 s
    left, time = waiting + offered(forecast, 0.0, downtime), downtime
    step, mean, horizon = forecast.step, forecast.mean, forecast.seconds
    while time < horizon:
        k = int(time // step)
        span = (k + 1) * step - time
        spare = max(0.0, capacity - mean[k])
        if left <= spare * span:
            return time + (left / spare if spare else 0.0)
        left, time = left - spare * span, time + span
    spare = capacity - mean[-1]
    return time + left / spare if spare > 0 else (time if left <= 0 else math.inf)


def by_terms(capacity: float, forecast: Forecast, before: float, downtime: float) -> float:
    """Phoebe's R = D + Σ c(n), with `before` the records between the last checkpoint and now.

    >>> by_terms(capacity=100, forecast=Forecast(1000, (50.0,)), before=500, downtime=10)
    29.375
    """
    # c(0) = (500 + 50 x 10) / 100 = 10; then each term is half the one before: 5, 2.5, 1.25, 0.625; 10 + 19.375
    if capacity <= 0:
        return math.inf
    term = (before + offered(forecast, 0.0, downtime)) / capacity
    begin, total = downtime, downtime + term
    while term >= SHORTEST:
        if begin >= forecast.seconds:  # from here on the terms are a geometric sequence
            ratio = forecast.mean[-1] / capacity
            return total + term * ratio / (1 - ratio) if ratio < 1 else math.inf
        begin, term = begin + term, offered(forecast, begin, begin + term) / capacity
        total += term
    return total
