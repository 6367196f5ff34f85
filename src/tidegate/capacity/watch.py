"""Measures how long a rescale really took to recover from, by anomaly detection (Daedalus, 3.5).

In normal times what arrives and what is processed differ little: mean and variance of the difference are learned with
every observation. After a rescale a difference further than one standard deviation from the mean is an anomaly, and
the query has recovered when there are none any more. One normal sample in three lies outside one deviation, so single
samples would never fall silent: the mean of the last ten seconds is compared instead (the released code compares
samples, and lets each anomaly last for half a minute).

Throughput of micro-batches comes in steps, and a batch that took a few seconds longer hardly shows in it. What waits
shows it: the backlog, in seconds of arrivals, is a second signal, and more than usual of it is an anomaly too.
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
class Signal:
    """A figure in normal times, and lately."""

    normal: Var = field(default_factory=Var)
    recent: Window = field(default_factory=lambda: Window(SMOOTHING))

    def update(self, time: float, value: float, *, learn: bool) -> None:
        self.recent.update(time, value)
        if learn:
            self.normal.update(value)

    def away(self) -> float:
        """How many standard deviations it lately is from its mean; 0 where that is not known yet."""
        mean, variance = self.recent.mean, self.normal.value
        if mean is None or variance is None or self.normal.mean.count < ENOUGH:
            return 0.0
        apart = mean - self.normal.mean.value
        return apart / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, apart) if apart else 0.0


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
    #: arrivals minus throughput, and seconds of arrivals that wait
    _apart: Signal = field(default_factory=Signal)
    _waiting: Signal = field(default_factory=Signal)
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
            self._begun = None  # the clock jumped, or it never recovers: nothing was measured
        elif time - last >= self.quiet:
            self._measured, self._begun = last - begun, None

    def _anomalous(self) -> bool:
        return abs(self._apart.away()) > 1 or self._waiting.away() > 1
