"""Measured capacities, the training data of every capacity model of the planner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidegate.core import InvalidInput

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The sustainable rate of a query, in records/s, measured with a number of slots and an amount of memory.

    Memory may be in any unit and per slot or per executor, as long as all measurements and questions agree: the models
    of the paper are not invariant to it under `log1p`.

    >>> Measurement(slots=4, memory=1024, rate=0)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: measurement at 4 slots: need a finite rate > 0, got 0
    """

    slots: int
    memory: float
    rate: float

    def __post_init__(self) -> None:
        if isinstance(self.slots, bool) or self.slots != int(self.slots) or self.slots < 1:
            raise InvalidInput(f"measurement: need a whole number of slots >= 1, got {self.slots}")
        for name, value in (("memory", self.memory), ("rate", self.rate)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidInput(f"measurement at {self.slots} slots: need a finite {name} > 0, got {value:g}")


def columns(measurements: Sequence[Measurement], least: int = 1, purpose: str = "a capacity model") -> list[Array]:
    """Slots, memory and rates as arrays; raises `InvalidInput` with fewer than `least` measurements.

    >>> [column.tolist() for column in columns([Measurement(2, 512, 30.0), Measurement(4, 512, 50.0)])]
    [[2.0, 4.0], [512.0, 512.0], [30.0, 50.0]]
    """
    if len(measurements) < least:
        raise InvalidInput(f"{purpose}: need at least {least} measurement{'s' * (least > 1)}, got {len(measurements)}")
    return [
        np.array(column, dtype=float)
        for column in zip(*((m.slots, m.memory, m.rate) for m in measurements), strict=True)
    ]
