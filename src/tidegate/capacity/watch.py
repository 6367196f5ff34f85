"""Measures how long a rescale really took to recover from, by anomaly detection (Daedalus, 3.5).

In normal times what arrives and what is processed differ little: mean and variance of the difference are learned with
every observation. After a rescale a difference further than one standard deviation from the mean is an anomaly, and
the query has recovered when there are none any more. One normal sample in three lies outside one deviation, so single
samples would never fall silent: the mean of the last ten seconds is compared instead (the released code compares
samples, and lets each anomaly last for half a minute).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tidegate.core import Observation
from tidegate.stats import Var, Window

#: until the normal difference is known, observations
ENOUGH = 30
#: over which differences are averaged, s
SMOOTHING = 10.0


@dataclass(slots=True)
class RecoveryWatch:
    """`begin` with every rescale, `update` with every observation; `measured` is the last recovery that ended.

    >>> watch = RecoveryWatch()
    >>> for t in range(60): watch.update(Observation(t, 1, 1, arrival_rate=100 + t % 3, processing_rate=101))
    >>> watch.begin(60)
    >>> for t in range(60, 140):
    ...     watch.update(Observation(t, 2, 2, arrival_rate=101, processing_rate=0 if t < 75 else 101))
    >>> watch.measured  # nothing until second 74; the ten seconds after it still have some of that in their mean
    23
    """

    #: without an anomaly for so long, it is over
    quiet: float = 30.0
    patience: float = 3600.0
    _normal: Var = field(default_factory=Var)
    _recent: Window = field(default_factory=lambda: Window(SMOOTHING))
    _begun: float | None = None
    _anomaly: float | None = None
    _measured: float | None = None

    @property
    def measured(self) -> float | None:
        return self._measured

    def begin(self, time: float) -> None:
        self._begun = self._anomaly = time

    @property
    def running(self) -> bool:
        return self._begun is not None

    def update(self, obs: Observation) -> None:
        if obs.arrival_rate is None or obs.processing_rate is None:
            return
        apart = obs.arrival_rate - obs.processing_rate
        self._recent.update(obs.time, apart)
        if self._begun is None:
            self._normal.update(apart)
        else:
            self._follow(obs.time, self._begun)

    def _follow(self, time: float, begun: float) -> None:
        if self._anomalous():
            self._anomaly = time
        last = self._anomaly if self._anomaly is not None else begun
        if not 0 <= time - begun < self.patience:
            self._begun = None  # the clock jumped, or it never recovers: nothing was measured
        elif time - last >= self.quiet:
            self._measured, self._begun = last - begun, None

    def _anomalous(self) -> bool:
        mean, variance = self._recent.mean, self._normal.value
        if mean is None or variance is None or self._normal.mean.count < ENOUGH:
            return False
        return abs(mean - self._normal.mean.value) > math.sqrt(variance)
