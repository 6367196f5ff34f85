"""What the oracle is told of an engine and of the rules of the game. Seconds, records, records per second."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.core import InvalidInput, Limits
from tidegate.score.trace import Array


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """How fast an engine can be, and what a change of scale costs it. Each figure the best that the engine can do.

    Either executors are added while the job runs (`startup`, `warm`), or the job stops and starts again (`outage`).
    """

    #: with 0, 1, 2 … executors; where more are slower it is taken as if they were as fast as fewer
    capacity: tuple[float, ...]
    #: from asking for executors to having them
    startup: float = 0.0
    #: as long as this a new executor does nothing
    warm: float = 0.0
    #: as long as this nothing is done after a change, whether up or down
    outage: float = 0.0
    #: the least time that any record takes
    floor: float = 0.0

    def __post_init__(self) -> None:
        told = (*self.capacity, self.startup, self.warm, self.outage, self.floor)
        if not all(math.isfinite(value) and value >= 0 for value in told):
            raise InvalidInput(f"a plant's figures must be finite and at least 0, got {self}")
        if self.outage > 0 and (self.startup > 0 or self.warm > 0):
            raise InvalidInput(f"a plant with an outage has neither startup nor warm, got {self}")

    def rates(self, limits: Limits) -> Array:
        """With minimum to maximum executors, never falling."""
        if len(self.capacity) <= limits.maximum:
            known = len(self.capacity) - 1
            raise InvalidInput(f"need the capacity of 0 to {limits.maximum} executors, got it of 0 to {known}")
        return np.maximum.accumulate(np.array(self.capacity))[limits.minimum : limits.maximum + 1]

    def ahead(self, step: float) -> float:
        """How long executors work in the step in which they are asked for.

        >>> [EngineLimits((0, 1), startup=startup, warm=2).ahead(15) for startup in (0, 4, 15, 20)]
        [13, 9, 0.0, 0.0]
        """
        return max(0.0, step - self.startup - self.warm)

    def paid(self, plan: Array, step: float) -> float:
        """Worker-seconds of a plan: executors are paid from the tick at which they are asked for.

        >>> EngineLimits((0, 1, 2)).paid(np.array([1.0, 2.0, 1.0, 1.0]), 10)
        50.0
        """
        most = plan[:-1] if self.outage > 0 else np.maximum(plan[:-1], plan[1:])
        return float(most.sum()) * step

    def steps_down(self, step: float) -> int:
        """Ticks from a change to the first that sees what it added; 0 where the job never stops.

        Executors that start to work at a tick are seen by the next one: so the simulated operators do it.

        >>> [EngineLimits((0, 1), outage=outage).steps_down(15) for outage in (0, 10, 15, 40)]
        [0, 1, 2, 3]
        """
        return math.floor(self.outage / step + 1e-9) + 1 if self.outage > 0 else 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What every policy has to keep to: limits, the executors it starts with, the SLO, seconds from tick to tick."""

    limits: Limits
    initial: int
    slo: float
    step: float = 15.0

    def __post_init__(self) -> None:
        if not self.limits.minimum <= self.initial <= self.limits.maximum:
            raise InvalidInput(f"need {self.limits.minimum} <= initial <= {self.limits.maximum}, got {self.initial}")
        if not (math.isfinite(self.slo) and self.slo >= 0 and math.isfinite(self.step) and self.step > 0):
            raise InvalidInput(f"need slo >= 0 and step > 0, got {self.slo}, {self.step}")
