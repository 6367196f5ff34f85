"""Running statistics. Only `update` changes their state."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter

_value = itemgetter(1)


@dataclass(slots=True)
class Mean:
    """Arithmetic mean.

    >>> m = Mean()
    >>> for x in (1, 2, 6): m.update(x)
    >>> m.value
    3.0
    """

    count: int = 0
    value: float = 0.0

    def update(self, x: float) -> None:
        self.count += 1
        self.value += (x - self.value) / self.count


@dataclass(slots=True)
class Var:
    """Sample variance by Welford's algorithm; None before the second value.

    >>> v = Var()
    >>> for x in (2, 4, 6): v.update(x)
    >>> v.value
    4.0
    """

    mean: Mean = field(default_factory=Mean)
    squares: float = 0.0

    def update(self, x: float) -> None:
        previous_mean = self.mean.value
        self.mean.update(x)
        self.squares += (x - previous_mean) * (x - self.mean.value)

    @property
    def value(self) -> float | None:
        return self.squares / (self.mean.count - 1) if self.mean.count > 1 else None


@dataclass(slots=True)
class Line:
    """Simple linear regression of y on x, updated one point at a time.

    >>> line = Line()
    >>> for x in range(4): line.update(x, 3 * x + 1)
    >>> line.slope, line.at(10)
    (3.0, 31.0)
    """

    count: int = 0
    #: means, and centred sums of squares and products
    x: float = 0.0
    y: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def update(self, x: float, y: float) -> None:
        deviation = x - self.x
        self.count += 1
        self.x += deviation / self.count
        self.y += (y - self.y) / self.count
        self.squares += deviation * (x - self.x)
        self.products += deviation * (y - self.y)

    @property
    def slope(self) -> float | None:
        return self.products / self.squares if self.squares > 0 else None

    def at(self, x: float) -> float | None:
        slope = self.slope
        return None if slope is None else self.y + slope * (x - self.x)


@dataclass(slots=True)
class Window:
    """Values of the last `age` seconds; a value that is exactly `age` old is excluded.

    A value that is not newer than the last one is ignored, so that repeated samples and clock jumps do no harm.

    >>> w = Window(age=10)
    >>> for t, x in [(0, 5.0), (6, 1.0), (12, 3.0)]: w.update(t, x)
    >>> w.mean, w.max
    (2.0, 3.0)
    """

    age: float
    items: deque[tuple[float, float]] = field(default_factory=deque)

    def update(self, time: float, x: float) -> None:
        items, oldest = self.items, time - self.age
        if items and time <= items[-1][0]:
            return
        items.append((time, x))
        while items[0][0] <= oldest:
            items.popleft()

    @property
    def mean(self) -> float | None:
        return math.fsum(map(_value, self.items)) / len(self.items) if self.items else None

    @property
    def max(self) -> float | None:
        return max(map(_value, self.items), default=None)

    @property
    def slope(self) -> float | None:
        line = Line()
        for time, x in self.items:
            line.update(time, x)
        return line.slope


@dataclass(slots=True)
class Means:
    """Sliding-window means of several figures for each of several names.

    A name missing from an update is dropped, and so is a figure without values for a whole window.

    >>> means = Means()
    >>> means.update(0, 15, {"map": {"busy": 0.5, "queue": None}})
    >>> means.update(5, 15, {"map": {"busy": 0.7}})
    >>> means.of("map", "busy"), means.of("map", "queue")
    (0.6, None)
    """

    _windows: dict[str, dict[str, Window]] = field(default_factory=dict)

    def update(self, time: float, age: float, figures: Mapping[str, Mapping[str, float | None]]) -> None:
        if not self._windows.keys() <= figures.keys():
            self._windows = {name: windows for name, windows in self._windows.items() if name in figures}
        oldest = time - age
        for name, values in figures.items():
            windows = self._windows.setdefault(name, {})
            for figure, value in values.items():
                window = windows.get(figure)
                if window is None:
                    window = windows[figure] = Window(age)
                items, window.age = window.items, age
                if items and not oldest < items[-1][0] <= time:
                    items.clear()  # no values for a whole window, or the clock went back
                if value is not None and not (items and items[-1][0] == time):  # Window.update, inlined for speed
                    items.append((time, value))
                    while items[0][0] <= oldest:
                        items.popleft()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._windows)

    def values(self, figure: str) -> list[float]:
        """Means of a figure for all names that have one."""
        means = [windows[figure].mean for windows in self._windows.values() if figure in windows]
        return [mean for mean in means if mean is not None]

    def of(self, name: str, figure: str) -> float | None:
        """Mean of a figure for one name; None if it has no values."""
        windows = self._windows.get(name)
        window = None if windows is None else windows.get(figure)
        return None if window is None else window.mean
