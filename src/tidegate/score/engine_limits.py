"""What the oracle assumes about an engine, and the terms of a run. Seconds, records, records per second."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.core import InvalidInput, Limits
from tidegate.score.trace import Array


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """Best-case speed of an engine, and the best-case cost of a rescale.

    An engine either adds executors while the job runs (`startup`, `warm`) or restarts the job (`outage`).
    """

    #: with 0, 1, 2 … executors; where more executors are slower, the capacity of fewer is assumed
    capacity: tuple[float, ...]
    #: time from the request for executors until they are there
    startup: float = 0.0
    #: time in which a new executor processes nothing
    warm: float = 0.0
    #: time in which nothing is processed after a rescale, up or down
    outage: float = 0.0
    #: shortest possible latency of a record
    floor: float = 0.0

    def __post_init__(self) -> None:
        values = (*self.capacity, self.startup, self.warm, self.outage, self.floor)
        if not all(math.isfinite(value) and value >= 0 for value in values):
            raise InvalidInput(f"engine limits must be finite and at least 0, got {self}")
        if self.outage > 0 and (self.startup > 0 or self.warm > 0):
            raise InvalidInput(f"engine limits with an outage must have neither startup nor warm, got {self}")

    def rates(self, limits: Limits) -> Array:
        """Capacity with minimum to maximum executors, never decreasing."""
        if len(self.capacity) <= limits.maximum:
            highest = len(self.capacity) - 1
            raise InvalidInput(f"need the capacity of 0 to {limits.maximum} executors, got it of 0 to {highest}")
        return np.maximum.accumulate(np.array(self.capacity))[limits.minimum : limits.maximum + 1]

    def ahead(self, step: float) -> float:
        """Seconds that new executors work in the step in which they are requested.

        >>> [EngineLimits((0, 1), startup=startup, warm=2).ahead(15) for startup in (0, 4, 15, 20)]
        [13, 9, 0.0, 0.0]
        """
        return max(0.0, step - self.startup - self.warm)

    def paid(self, plan: Array, step: float) -> float:
        """Worker-seconds of a plan. Executors are paid from the tick at which they are requested.

        >>> EngineLimits((0, 1, 2)).paid(np.array([1.0, 2.0, 1.0, 1.0]), 10)
        50.0
        """
        executors = plan[:-1] if self.outage > 0 else np.maximum(plan[:-1], plan[1:])
        return float(executors.sum()) * step

    def steps_down(self, step: float) -> int:
        """Ticks from a rescale to the first tick that sees the added executors; 0 if the job never stops.

        As with the simulated operators, executors that start to work at a tick are seen at the next one.

        >>> [EngineLimits((0, 1), outage=outage).steps_down(15) for outage in (0, 10, 15, 40)]
        [0, 1, 2, 3]
        """
        return math.floor(self.outage / step + 1e-9) + 1 if self.outage > 0 else 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What every policy has to respect: limits, initial executors, the SLO, and the seconds between ticks."""

    limits: Limits
    initial: int
    slo: float
    step: float = 15.0

    def __post_init__(self) -> None:
        if not self.limits.minimum <= self.initial <= self.limits.maximum:
            raise InvalidInput(f"need {self.limits.minimum} <= initial <= {self.limits.maximum}, got {self.initial}")
        if not (math.isfinite(self.slo) and self.slo >= 0 and math.isfinite(self.step) and self.step > 0):
            raise InvalidInput(f"need slo >= 0 and step > 0, got {self.slo}, {self.step}")
