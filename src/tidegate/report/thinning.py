"""Bounded samples of unbounded sequences: a report of a month costs no more to draw than one of an hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
Values = tuple[float | None, ...]

#: most points of a line; more than a screen has pixels in a row
POINTS = 2000


@dataclass(slots=True)
class Sampled(Generic[Item]):
    """At most `most` of the items added, evenly spread over all of them. `count` is how many were added.

    >>> few = Sampled(most=4)
    >>> for number in range(10):
    ...     few.add(number)
    >>> few.items, few.count
    ([0, 4, 8], 10)
    """

    most: int
    items: list[Item] = field(default_factory=list)
    count: int = 0
    _every: int = 1

    def add(self, item: Item) -> None:
        if self.count % self._every == 0:
            self.items.append(item)
        self.count += 1
        if len(self.items) > self.most:
            self.items, self._every = self.items[::2], 2 * self._every


@dataclass(frozen=True, slots=True)
class Samples:
    """Columns over common times. `width` is the length in seconds of the intervals they were reduced to, or None."""

    times: tuple[float, ...]
    columns: tuple[Values, ...]
    width: float | None = None


@dataclass(slots=True)
class _Interval:
    """Lowest and highest value of each column, with the time at which it was reached."""

    first: float
    last: float
    low: list[tuple[float, float] | None]
    high: list[tuple[float, float] | None]

    def take(self, time: float, values: Values) -> None:
        self.first, self.last = min(self.first, time), max(self.last, time)
        for column, value in enumerate(values):
            if value is not None:
                self._extend(column, (value, time), (value, time))

    def merge(self, other: _Interval) -> None:
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        for column, (low, high) in enumerate(zip(other.low, other.high, strict=True)):
            if low is not None and high is not None:
                self._extend(column, low, high)

    def _extend(self, column: int, low: tuple[float, float], high: tuple[float, float]) -> None:
        lowest, highest = self.low[column], self.high[column]
        if lowest is None or low[0] < lowest[0]:
            self.low[column] = low
        if highest is None or high[0] > highest[0]:
            self.high[column] = high

    def rows(self) -> Iterator[tuple[float, Values]]:
        """Its extremes in the order in which they were reached: two rows, or one for a single time."""
        pairs = [_in_order(low, high) for low, high in zip(self.low, self.high, strict=True)]
        yield self.first, tuple(before for before, _ in pairs)
        if self.last > self.first:
            yield self.last, tuple(after for _, after in pairs)


def _in_order(
    low: tuple[float, float] | None, high: tuple[float, float] | None
) -> tuple[float, float] | tuple[None, None]:
    if low is None or high is None:
        return None, None
    return (low[0], high[0]) if low[1] <= high[1] else (high[0], low[0])


@dataclass(slots=True)
class Thinning:
    """Reduces columns over time to at most `points` points while they are added. Up to that many are kept as they are;
    beyond, of every interval of time the lowest and the highest value are, so that no peak is lost.

    >>> thinning = Thinning(columns=1, points=4)
    >>> for time, value in enumerate((1, 1, 9, 1, 1, 1, 0, 1)):
    ...     thinning.add(float(time), (float(value),))
    >>> thinning.samples()
    Samples(times=(0.0, 3.0, 4.0, 7.0), columns=((1.0, 9.0, 1.0, 0.0),), width=4.0)
    """

    columns: int
    points: int = POINTS
    _rows: list[tuple[float, Values]] = field(default_factory=list)
    _intervals: dict[int, _Interval] = field(default_factory=dict)
    _start: float = 0.0
    _width: float | None = None

    def add(self, time: float, values: Values) -> None:
        if self._width is not None:
            self._put(time, values)
            return
        self._rows.append((time, values))
        if len(self._rows) > self.points:
            self._begin()

    def samples(self) -> Samples:
        rows = self._rows
        if self._width is not None:
            rows = [row for _, interval in sorted(self._intervals.items()) for row in interval.rows()]
        columns = list(zip(*(values for _, values in rows), strict=True)) or [()] * self.columns
        return Samples(tuple(time for time, _ in rows), tuple(columns), self._width)

    def _begin(self) -> None:
        times = [time for time, _ in self._rows]
        self._start = min(times)
        self._width = max((max(times) - self._start) / max(1, self.points // 2 - 1), 1e-3)
        rows, self._rows = self._rows, []
        for time, values in rows:
            self._put(time, values)

    def _put(self, time: float, values: Values) -> None:
        # a clock that was set back leads into the first interval
        number = max(0, int((time - self._start) // (self._width or 1.0)))
        while number >= self.points // 2:
            number //= 2
            self._double()
        if (interval := self._intervals.get(number)) is None:
            nothing = self.columns
            interval = self._intervals[number] = _Interval(time, time, [None] * nothing, [None] * nothing)
        interval.take(time, values)

    def _double(self) -> None:
        self._width = 2 * (self._width or 1.0)
        intervals: dict[int, _Interval] = {}
        for number, interval in sorted(self._intervals.items()):
            if (before := intervals.setdefault(number // 2, interval)) is not interval:
                before.merge(interval)
        self._intervals = intervals
