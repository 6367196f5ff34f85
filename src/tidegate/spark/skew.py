"""Skew: one state partition has so many records that its executor is the last to finish, however many there are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.core import Event

#: per state partition, an executor reads this many times as much as the others, in so many batches in a row
FACTOR, BATCHES = 3.0, 3
#: fewest records of a batch for each partition: a few are never even
ENOUGH = 20


@dataclass(slots=True)
class SkewMeter:
    """Watches what executors read from a shuffle for each state partition they hold. Records, not time: a slow executor
    is no skew.

    `ceiling` is the number of executors beyond which more have nothing to do while one of them works on; None if the
    records are spread evenly enough.

    >>> meter = SkewMeter()
    >>> for batch in range(3):
    ...     events = meter.read(batch, {"1": 900, "2": 50, "3": 50}, {"1": 1, "2": 1, "3": 1}, cores=1)
    >>> meter.ceiling, events[0].kind
    (2, 'StateSkewed')
    """

    ceiling: int | None = None
    _hot: str | None = None
    _batches: int = 0
    _reported: bool = False

    def read(self, now: float, records: Mapping[str, int], partitions: Mapping[str, int], cores: int) -> list[Event]:
        """Records of the last batch by executor, the partitions and the cores of each; an event when skew begins to
        show.
        """
        hot = _hottest({id: records.get(id, 0) / count for id, count in partitions.items() if count})
        whole = sum(records.get(id, 0) for id in partitions)
        if hot is None or whole < ENOUGH * sum(partitions.values()):
            self.forget()
            self._reported = False
            return []
        self._batches = self._batches + 1 if hot == self._hot else 1
        self._hot = hot
        if self._batches < BATCHES:
            return []
        others = sum(count for id, count in partitions.items() if id != hot)
        usual = (whole - records[hot]) / others
        share = (records[hot] - (partitions[hot] - 1) * usual) / whole
        self.ceiling = math.ceil(math.ceil(1 / share) / cores)
        if self._reported:
            return []
        self._reported = True
        text = f"a state partition of executor {hot} gets {share:.0%} of the records"
        count = "1 executor" if self.ceiling == 1 else f"{self.ceiling} executors"
        return [Event(now, "StateSkewed", f"{text}: more than {count} cannot help")]

    def forget(self) -> None:
        """The executors have changed, or state is on its way: what was counted no longer counts."""
        self._hot, self._batches, self.ceiling = None, 0, None


def _hottest(each: Mapping[str, float]) -> str | None:
    """The executor that reads far more per partition than the others; None if none does."""
    if len(each) < 2:
        return None
    hot = max(each, key=lambda executor: each[executor])
    others = [count for executor, count in each.items() if executor != hot]
    return hot if each[hot] > FACTOR * sum(others) / len(others) else None


def widest(stages: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    """Of the records that executors read in each stage, those of the stage that reads most.

    >>> widest([{"1": 5}, {"1": 30, "2": 20}])
    {'1': 30, '2': 20}
    """
    return max(stages, key=lambda read: sum(read.values()), default={})
