"""Measurements that contradict all others: a run that failed without saying so.

A robust curve (least absolute deviations: the logarithm of the rate, quadratic in the logarithm of slots) is laid
through the measurements. What is further from it than four times the usual distance, and than a factor of two, is
left out. StreamBed's q11 has one: 0.32 M/s with 48 slots, where seven other runs reached 1.84 to 2.35 M/s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidegate.planner.measurement import Array, Measurement, columns

#: with fewer measurements, or fewer different numbers of slots, nothing is left out
LEAST, LEAST_SLOTS = 7, 4
#: in standard deviations, estimated from the median distance; and as a ratio
FAR, FAR_RATIO = 4.0, 2.0
#: at most this share is left out
MOST = 0.2
ROUNDS = 50


def contradictions(measurements: Sequence[Measurement]) -> list[int]:
    """Indexes of the measurements to leave out, the worst first.

    >>> rates = [10.0, 20.0, 40.0, 8.0, 80.0, 100.0, 160.0]  # 8 records/s where 40 are expected
    >>> contradictions([Measurement(s, 512, r) for s, r in zip((1, 2, 4, 4, 8, 10, 16), rates)])
    [3]
    """
    if len(measurements) < LEAST or len({m.slots for m in measurements}) < LEAST_SLOTS:
        return []
    slots, _, rate = columns(measurements)
    distance = _distances(np.log(slots), np.log(rate))
    # 1.4826: from the median distance to the standard deviation of a normal distribution
    limit = max(FAR * 1.4826 * float(np.median(distance)), float(np.log(FAR_RATIO)))
    far = [int(k) for k in np.argsort(-distance, kind="stable") if distance[k] > limit]
    return far[: int(MOST * len(measurements))]


def _distances(x: Array, y: Array) -> Array:
    """Absolute deviations from the curve with the least sum of them, by iteratively reweighted least squares."""
    terms = np.column_stack([np.ones_like(x), x, x**2])
    distance = np.ones_like(x)
    for _ in range(ROUNDS):
        root = 1 / np.sqrt(np.maximum(distance, 1e-6))
        coefficients = np.linalg.lstsq(terms * root[:, None], y * root, rcond=None)[0]
        distance = np.abs(y - terms @ coefficients)
    return distance
