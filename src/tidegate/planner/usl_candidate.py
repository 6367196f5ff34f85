"""The universal scalability law as a candidate: proportional growth, less contention and coherency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidegate.capacity import Usl
from tidegate.planner.measurement import Array, Measurement, columns
from tidegate.planner.memory_effect import MemoryEffect


@dataclass(frozen=True, slots=True)
class UslFit:
    """Increases up to `law.peak` slots and stays there: slots beyond the peak need not be used."""

    law: Usl
    memory: MemoryEffect

    def predict(self, slots: float, memory: float) -> float:
        return self.law.at(min(slots, self.law.peak)) * self.memory.factor(memory)


@dataclass(frozen=True, slots=True)
class UslCandidate:
    """
    >>> law = Usl(single=100.0, contention=0.1, coherency=0.01)
    >>> fit = UslCandidate().fit([Measurement(s, 512, law.at(s)) for s in (1, 2, 4, 8)])
    >>> round(fit.predict(4, 512), 6) == round(law.at(4), 6), fit.predict(9, 512) < fit.predict(50, 512)
    (True, True)
    >>> fit.predict(50, 512) == fit.predict(500, 512)
    True
    """

    name: str = "usl"

    def fit(self, measurements: Sequence[Measurement]) -> UslFit:
        slots, memory, rate = columns(measurements, purpose=f"model {self.name}")
        effect = MemoryEffect.fit(memory, rate / _at(_law(slots, rate), slots))
        return UslFit(_law(slots, rate / np.array([effect.factor(m) for m in memory])), effect)


def _law(slots: Array, rate: Array) -> Usl:
    return Usl.fit(list(zip(slots.tolist(), rate.tolist(), strict=True)))


def _at(law: Usl, slots: Array) -> Array:
    return np.array([law.at(n) for n in slots])
