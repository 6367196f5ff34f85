"""The peak of a trace: the highest rate that it sustains for as long as it takes to matter.

A second above the capacity harms nobody: its records wait for a moment. If no window of N seconds has more records than
are processed in N seconds, a backlog that begins somewhere in it is gone after N seconds at the latest, so no record
waits for longer than N in addition to what it waits anyway: for a trigger, and for a batch of at most a trigger. So an
SLO absorbs N = SLO - 2 triggers. What is shorter than a trigger does not matter at all, as a batch takes it as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.core import InvalidInput
from tidegate.workloads import Shape, Steps

#: seconds between the windows that are looked at, where the load is not a table of levels
STEP = 1.0
#: triggers that a record of a query which keeps up takes at most
USUAL = 2.0


@dataclass(frozen=True, slots=True)
class Peak:
    """`start` is where the first window with this mean begins, in seconds from the beginning of the trace."""

    rate: float
    window: float
    start: float


def absorbed(trigger: float, slo: float | None = None) -> float:
    """Seconds for which a rate has to last until it counts.

    >>> absorbed(trigger=4.0, slo=30.0), absorbed(trigger=4.0, slo=10.0), absorbed(trigger=4.0)
    (22.0, 4.0, 4.0)
    """
    return max(trigger, 0.0 if slo is None else slo - USUAL * trigger)


def peak_of(load: Shape, window: float, place: str = "trace") -> Peak:
    """Exact for a table of levels, wherever a window begins.

    >>> peak_of(Steps(duration=40, levels=(10.0, 70.0, 90.0, 20.0)), window=15.0)  # 5 s of 70/s and 10 s of 90/s
    Peak(rate=83.33333333333333, window=15.0, start=15.0)
    >>> peak_of(Steps(duration=40, levels=(10.0, 70.0)), window=60.0)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: trace: need at least 60 s, for which a peak is to last, it has 40
    """
    if not (math.isfinite(window) and window > 0):
        raise InvalidInput(f"{place}: need a peak that lasts for more than 0 s, got {window:g}")
    if load.duration < window:
        raise InvalidInput(
            f"{place}: need at least {window:g} s, for which a peak is to last, it has {load.duration:g}"
        )
    step = load.duration / len(load.levels) if isinstance(load, Steps) else STEP
    edges = np.arange(math.ceil(load.duration / step) + 1) * step
    # the mean of a window changes at a constant pace until an edge enters or leaves it
    starts = np.unique(np.clip(np.concatenate([edges, edges - window]), 0.0, load.duration - window))
    means = (load.integrals(starts + window) - load.integrals(starts)) / window
    highest = int(np.argmax(means))
    if not means[highest] > 0:
        raise InvalidInput(f"{place}: need records for a peak, all rates are 0")
    return Peak(float(means[highest]), window, float(starts[highest]))
