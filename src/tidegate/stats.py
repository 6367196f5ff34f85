"""Small running statistics: `update` takes a value in, everything else only looks."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Mean:
    """
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
    """Sample variance by Welford's recurrence; unknown before the second value.

    >>> v = Var()
    >>> for x in (2, 4, 6): v.update(x)
    >>> v.value
    4.0
    """

    mean: Mean = field(default_factory=Mean)
    squares: float = 0.0

    def update(self, x: float) -> None:
        before = self.mean.value
        self.mean.update(x)
        self.squares += (x - before) * (x - self.mean.value)

    @property
    def value(self) -> float | None:
        return self.squares / (self.mean.count - 1) if self.mean.count > 1 else None


@dataclass(slots=True)
class Line:
    """Least squares of y on x, one point at a time.

    >>> line = Line()
    >>> for x in range(4): line.update(x, 3 * x + 1)
    >>> line.slope, line.at(10)
    (3.0, 31.0)
    """

    x: Var = field(default_factory=Var)
    y: Mean = field(default_factory=Mean)
    products: float = 0.0

    def update(self, x: float, y: float) -> None:
        before = self.x.mean.value
        self.x.update(x)
        self.y.update(y)
        self.products += (x - before) * (y - self.y.value)

    @property
    def slope(self) -> float | None:
        return self.products / self.x.squares if self.x.squares > 0 else None

    def at(self, x: float) -> float | None:
        slope = self.slope
        return None if slope is None else self.y.value + slope * (x - self.x.mean.value)


@dataclass(slots=True)
class Ewma:
    """Mean that forgets with a half-life in seconds, whatever the spacing of the values.

    >>> e = Ewma(half_life=10)
    >>> e.update(0, 8); e.update(10, 0)
    >>> e.value
    4.0
    """

    half_life: float
    value: float | None = None
    time: float = 0.0

    def update(self, time: float, x: float) -> None:
        if self.value is None:
            self.value = x
        else:
            kept = 0.5 ** (max(0.0, time - self.time) / self.half_life)
            self.value = kept * self.value + (1 - kept) * x
        self.time = time


@dataclass(slots=True)
class Window:
    """The values of the last `age` seconds, the newest included, one that is exactly `age` old not.

    A value whose time is not after the last one's is ignored: clocks jump, and asking twice must not count twice.

    >>> w = Window(age=10)
    >>> for t, x in [(0, 5.0), (6, 1.0), (12, 3.0)]: w.update(t, x)
    >>> w.mean, w.max
    (2.0, 3.0)
    """

    age: float
    items: deque[tuple[float, float]] = field(default_factory=deque)

    def update(self, time: float, x: float) -> None:
        if self.items and time <= self.items[-1][0]:
            return
        self.items.append((time, x))
        while self.items[0][0] <= time - self.age:
            self.items.popleft()

    @property
    def mean(self) -> float | None:
        return math.fsum(x for _, x in self.items) / len(self.items) if self.items else None

    @property
    def max(self) -> float | None:
        return max((x for _, x in self.items), default=None)

    @property
    def slope(self) -> float | None:
        line = Line()
        for time, x in self.items:
            line.update(time, x)
        return line.slope


@dataclass(slots=True)
class Means:
    """Means of figures by name over the last seconds. What is no longer named, or silent for that long, is forgotten.

    >>> means = Means()
    >>> means.update(0, 15, {"map": {"busy": 0.5, "queue": None}})
    >>> means.update(5, 15, {"map": {"busy": 0.7}})
    >>> means.of("map", "busy"), means.of("map", "queue")
    (0.6, None)
    """

    _windows: dict[str, dict[str, Window]] = field(default_factory=dict)

    def update(self, time: float, age: float, figures: Mapping[str, Mapping[str, float | None]]) -> None:
        for name in set(self._windows) - set(figures):
            del self._windows[name]
        for name, values in figures.items():
            windows = self._windows.setdefault(name, {})
            for figure, value in values.items():
                window = windows.setdefault(figure, Window(age))
                window.age = age
                if window.items and not time - age < window.items[-1][0] <= time:
                    window.items.clear()  # silent for too long, or the clock went back
                if value is not None:
                    window.update(time, value)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._windows)

    def of(self, name: str, figure: str) -> float | None:
        window = self._windows.get(name, {}).get(figure)
        return None if window is None else window.mean
