"""The search space of an exploration: numbers of slots and amounts of memory that the testbed can offer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tidegate.core import InvalidInput
from tidegate.planner.measurement import Array


@dataclass(frozen=True, slots=True)
class Configuration:
    slots: int
    memory: float


@dataclass(frozen=True, slots=True)
class Space:
    """A grid; either side may have a single value. Values are kept in ascending order, without duplicates.

    >>> space = Space.of(slots=[4, 2, 2], memory=[512])
    >>> space.slots, space.corners
    ((2, 4), (Configuration(slots=2, memory=512), Configuration(slots=4, memory=512)))
    """

    slots: tuple[int, ...]
    memory: tuple[float, ...]

    @classmethod
    def of(cls, slots: Sequence[int], memory: Sequence[float]) -> Space:
        if not slots or not memory:
            raise InvalidInput(f"exploration: need slots and memory to choose from, got {len(slots)} and {len(memory)}")
        if min(slots) < 1 or any(s != int(s) for s in slots):
            raise InvalidInput(f"exploration: need whole numbers of slots >= 1, got {', '.join(map(str, slots))}")
        if not all(m > 0 and math.isfinite(m) for m in memory):
            raise InvalidInput(f"exploration: need finite memory > 0, got {', '.join(f'{m:g}' for m in memory)}")
        return cls(tuple(sorted(set(slots))), tuple(sorted(set(memory))))

    def __iter__(self) -> Iterator[Configuration]:
        return (Configuration(slots, memory) for slots in self.slots for memory in self.memory)

    def __len__(self) -> int:
        return len(self.slots) * len(self.memory)

    @property
    def corners(self) -> tuple[Configuration, ...]:
        """Combinations of the fewest and most slots and memory: four, two or one."""
        slots, memory = (sorted({side[0], side[-1]}) for side in (self.slots, self.memory))
        return tuple(Configuration(int(s), m) for m in memory for s in slots)

    def position(self, configuration: Configuration) -> Array:
        """In the unit square.

        >>> Space.of(slots=[2, 4], memory=[512, 1024, 2048]).position(Configuration(4, 1024)).tolist()
        [1.0, 0.3333333333333333]
        """
        sides = ((self.slots, configuration.slots), (self.memory, configuration.memory))
        return np.array([(value - side[0]) / (side[-1] - side[0]) if len(side) > 1 else 0.0 for side, value in sides])
