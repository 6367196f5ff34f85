"""The effect of memory on capacity, for laws that are formulated in slots only: a power of memory.

rate = law(slots) * (memory / mean) ** exponent        mean: the geometric mean of what was measured
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidegate.planner.measurement import Array


@dataclass(frozen=True, slots=True)
class MemoryEffect:
    """
    >>> effect = MemoryEffect.fit(np.array([1.0, 4.0]), np.array([0.5, 2.0]))
    >>> effect.exponent, effect.factor(8)
    (1.0, 4.0)
    """

    mean: float = 1.0
    exponent: float = 0.0

    def factor(self, memory: float) -> float:
        return math.exp(self.exponent * math.log(memory / self.mean))

    @classmethod
    def fit(cls, memory: Array, ratio: Array) -> MemoryEffect:
        """Regresses measured over predicted rates on memory, both as logarithms."""
        x = np.log(memory)
        deviations = x - x.mean()
        spread = float(deviations @ deviations)
        if spread < 1e-12:
            return cls(math.exp(float(x.mean())))
        return cls(math.exp(float(x.mean())), float(deviations @ np.log(ratio)) / spread)
