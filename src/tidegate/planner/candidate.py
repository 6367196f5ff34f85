"""What a candidate capacity model is: something that is fitted to measurements and then predicts f(slots, memory)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidegate.planner.measurement import Measurement


class Capacity(Protocol):
    """A fitted model."""

    def predict(self, slots: float, memory: float) -> float:
        """Records per second. A model may predict less than nothing where it was never meant to be used."""


class Candidate(Protocol):
    @property
    def name(self) -> str: ...

    def fit(self, measurements: Sequence[Measurement]) -> Capacity:
        """Raises `InvalidInput` where the measurements are too few for the model."""
