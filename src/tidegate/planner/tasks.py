"""Effective slots: what a number of slots is worth once tasks are dealt out to them.

A stage with k tasks takes ceil(k / s) waves on s slots, and is not over before its largest task. In slots that are busy
until the end, s slots are therefore worth

    effective(s) = min(k / ceil(k / s), k / (1 + skew))        skew: the largest task over the mean, less 1

The number of partitions is configuration and the skew is in the figures of any run, so this part of a capacity curve is
arithmetic: laws are learnt in effective slots, and a staircase far beyond the testbed is known before it is reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import InvalidInput, check, parameter


@dataclass(frozen=True, slots=True)
class Tasks:
    """Without `partitions` every slot counts, as if there were always as many tasks as wanted.

    >>> tasks = Tasks(partitions=12)
    >>> [tasks.effective(s) for s in (4, 5, 6, 11, 12, 99)]
    [4.0, 4.0, 6.0, 6.0, 12.0, 12.0]
    >>> Tasks(partitions=12, skew=0.5).effective(12), Tasks().effective(99)
    (8.0, 99.0)
    """

    partitions: int | None = None
    skew: float = parameter(0.0, "share", "by how much the largest task exceeds the mean", least=0)

    def __post_init__(self) -> None:
        check(self, "tasks")
        if self.partitions is not None and self.partitions < 1:
            raise InvalidInput(f"tasks: need partitions >= 1, got {self.partitions}")

    def effective(self, slots: int) -> float:
        if self.partitions is None:
            return float(slots)
        waves = math.ceil(self.partitions / slots)
        return self.partitions / max(waves, 1 + self.skew)

    @property
    def most(self) -> float:
        """The number of slots beyond which more of them stay idle; infinite if unlimited."""
        return math.inf if self.partitions is None else float(self.partitions)

    def partitions_for(self, effective: float) -> int:
        """The fewest partitions with which some number of slots is worth that much.

        >>> Tasks(partitions=12, skew=0.5).partitions_for(16)
        24
        """
        return math.ceil(effective * (1 + self.skew) - 1e-9)
