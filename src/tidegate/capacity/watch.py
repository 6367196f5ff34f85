"""Measures the actual recovery time after a rescale, by anomaly detection (Daedalus, 3.5).

In normal operation the mean and variance of (arrival rate - processing rate) are learned from every observation. After
a rescale, a difference of more than one standard deviation from the mean is an anomaly, and the query has recovered
when there are no more anomalies. One normal sample in three deviates that much, so the mean of the last ten seconds is
compared instead of single samples (the released code compares samples, and extends each anomaly by half a minute).

The throughput of micro-batches is a step function, in which a batch that took a few seconds longer is hardly visible.
It is visible in the backlog, so that the backlog in seconds of arrivals is a second signal: an unusually high one is an
anomaly too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tidegate.core import Observation
from tidegate.stats import Var, Window

#: observations before the normal mean and variance are used
MIN_OBSERVATIONS = 30
#: seconds over which a signal is averaged
SMOOTHING = 10.0


@dataclass(slots=True)
class Signal:
    """A signal's statistics in normal operation, and its recent values."""

    normal: Var = field(default_factory=Var)
    recent: Window = field(default_factory=lambda: Window(SMOOTHING))

    def update(self, time: float, value: float, *, learn: bool) -> None:
        self.recent.update(time, value)
        if learn:
            self.normal.update(value)

    def z_score(self) -> float:
        """Recent mean minus normal mean, in standard deviations; 0 while the normal state is unknown."""
        mean, variance = self.recent.mean, self.normal.value
        if mean is None or variance is None or self.normal.mean.count < MIN_OBSERVATIONS:
            return 0.0
        deviation = mean - self.normal.mean.value
        if variance > 0:
            return deviation / math.sqrt(variance)
        return math.copysign(math.inf, deviation) if deviation else 0.0


@dataclass(slots=True)
class RecoveryWatch:
    """Call `begin` at every rescale and `update` with every observation; `measured` is the last recovery time.

    >>> watch = RecoveryWatch()
    >>> for t in range(60): watch.update(Observation(t, 1, 1, arrival_rate=100 + t % 3, processing_rate=101))
    >>> watch.begin(60)
    >>> for t in range(60, 140):
    ...     watch.update(Observation(t, 2, 2, arrival_rate=101, processing_rate=0 if t < 75 else 101))
    >>> watch.measured  # no output until second 74, and its effect on the ten-second mean
    23
    """

    #: seconds without an anomaly that end a recovery
    quiet: float = 30.0
    #: seconds after which a recovery is abandoned
    patience: float = 3600.0
    #: arrival rate minus processing rate, and the backlog in seconds of arrivals
    _apart: Signal = field(default_factory=Signal)
    _waiting: Signal = field(default_factory=Signal)
    _begun: float | None = None
    _anomaly: float | None = None
    _measured: float | None = None

    @property
    def measured(self) -> float | None:
        """Seconds; None before the first recovery has ended."""
        return self._measured

    def begin(self, time: float) -> None:
        self._begun = self._anomaly = time

    @property
    def running(self) -> bool:
        return self._begun is not None

    def update(self, obs: Observation) -> None:
        if obs.arrival_rate is None or obs.processing_rate is None:
            return
        normal = self._begun is None
        self._apart.update(obs.time, obs.arrival_rate - obs.processing_rate, learn=normal)
        if obs.backlog is not None and obs.arrival_rate > 0:
            self._waiting.update(obs.time, obs.backlog / obs.arrival_rate, learn=normal)
        if self._begun is not None:
            self._follow(obs.time, self._begun)

    def _follow(self, time: float, begun: float) -> None:
        if self._anomalous():
            self._anomaly = time
        last = self._anomaly if self._anomaly is not None else begun
        if not 0 <= time - begun < self.patience:
            self._begun = None  # the clock jumped, or no recovery in sight: abandon the measurement
        elif time - last >= self.quiet:
            self._measured, self._begun = last - begun, None

    def _anomalous(self) -> bool:
        return abs(self._apart.z_score()) > 1 or self._waiting.z_score() > 1
