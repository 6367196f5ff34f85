"""How unevenly the records of a stage are distributed over its tasks, and what other numbers of tasks would change.

More partitions divide what a partition gets by chance, but not a single key. Which of the two made a partition large
cannot be seen from shares. A partition that exceeds the mean of the others by a factor of three is taken to hold one
hot key; below that, the largest partition is expected to exceed the mean by as much with any number of partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

#: the largest partition over the mean of the others, from which on it is taken to hold a hot key
HOT = 3.0


@dataclass(frozen=True, slots=True)
class Skew:
    """`largest` is the share of the largest of `partitions`, in the mean of several batches.

    >>> hot = Skew(partitions=5, largest=0.6)  # the others have 0.1 each: a key has 0.5 more
    >>> hot.key, hot.share_of_largest(50)
    (0.5, 0.51)
    >>> mild = Skew(partitions=5, largest=0.3)
    >>> mild.key, round(mild.share_of_largest(50), 3)
    (0.0, 0.03)
    """

    partitions: int
    largest: float

    @classmethod
    def of(cls, looks: Iterable[Sequence[float]]) -> Skew | None:
        """From the shares of several batches; None without any. Only those of the last number of partitions count.

        >>> Skew.of([(0.5, 0.5), (), (0.2, 0.2, 0.6), (0.4, 0.3, 0.3)])
        Skew(partitions=3, largest=0.5)
        """
        shares = [look for look in looks if look]
        if not shares:
            return None
        count = len(shares[-1])
        return cls(count, fmean(max(look) for look in shares if len(look) == count))

    @property
    def over_mean(self) -> float:
        """By how much the largest partition exceeds the mean, as a share of the mean."""
        return max(0.0, self.largest * self.partitions - 1)

    @property
    def key(self) -> float:
        """The share of all records that a hot key has; 0 without a hot key."""
        if self.partitions < 2:
            return 0.0
        others = (1 - self.largest) / (self.partitions - 1)
        return self.largest - others if self.largest > HOT * others else 0.0

    def share_of_largest(self, partitions: int) -> float:
        """Expected with another number of partitions."""
        if self.key:
            return self.key + (1 - self.key) / partitions
        return min(1.0, (1 + self.over_mean) / partitions)
