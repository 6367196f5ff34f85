"""Recovery time: how long a query takes to catch up after a stop, for any capacity and any forecast.

Two papers compute it in different ways. Daedalus (3.4, figure 6) sums up the spare capacity from the restart until the
backlog is processed. Phoebe (III-B) sums up a sequence: the time to process what arrived during the downtime, then the
time to process what arrived during that time, and so on. Both assume the worst case, a failure just before the next
checkpoint. Beyond its horizon a forecast is continued with its last value, and a query that never catches up has a
recovery time of `inf`.
"""

from __future__ import annotations

import math

from tidegate.core import Forecast

#: seconds; Phoebe's sequence ends at the first term below it
SHORTEST = 1.0


def expected_records(forecast: Forecast, begin: float, end: float) -> float:
    """Forecast arrivals between `begin` and `end`, in seconds from now.

    >>> expected_records(Forecast(10, (5.0, 7.0)), 5, 15), expected_records(Forecast(10, (5.0, 7.0)), 15, 40)
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
    """Seconds from now until a query with a backlog of `waiting` records, down for `downtime` seconds, has caught up.

    `waiting` includes the records to be reprocessed since the last checkpoint (in Daedalus, the arrivals of one
    checkpoint interval). Periods in which the load exceeds the capacity do not add to the backlog.

    >>> by_spare_capacity(capacity=100, forecast=Forecast(60, (60.0,)), waiting=1000, downtime=10)
    50.0
    >>> by_spare_capacity(capacity=50, forecast=Forecast(60, (60.0,)), waiting=0, downtime=10)
    inf
    """
    # 1000 + 60 x 10 during the downtime = 1600 records, at 100 - 60 a second: 40 s after the 10 s
    left, time = waiting + expected_records(forecast, 0.0, downtime), downtime
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
    """Phoebe's R = D + Σ c(n); `before` are the records since the last checkpoint.

    >>> by_terms(capacity=100, forecast=Forecast(1000, (50.0,)), before=500, downtime=10)
    29.375
    """
    # c(0) = (500 + 50 x 10) / 100 = 10, and each term is half the previous one: 5, 2.5, 1.25, 0.625; 10 + 19.375
    if capacity <= 0:
        return math.inf
    term = (before + expected_records(forecast, 0.0, downtime)) / capacity
    begin, total = downtime, downtime + term
    while term >= SHORTEST:
        if begin >= forecast.seconds:  # constant load: the remaining terms are a geometric series
            ratio = forecast.mean[-1] / capacity
            return total + term * ratio / (1 - ratio) if ratio < 1 else math.inf
        begin, term = begin + term, expected_records(forecast, begin, begin + term) / capacity
        total += term
    return total
