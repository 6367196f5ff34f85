"""Sliding maxima by name, stored in as few values as possible.

Of a window, only the values that can still become its maximum are stored: a value is dropped when an equal or larger
one follows. The stored values therefore fall from the oldest to the newest, and there are at most as many as there are
distinct values.
"""

from __future__ import annotations

from collections import deque

#: times and values, newest last
Peaks = deque[tuple[float, int]]


def largest(windows: dict[str, Peaks], name: str, value: int, time: float, age: float) -> int:
    """The maximum of `value` and the last `age` seconds. `value` is stored unless there already is one of that time.

    Calling it twice at the same time gives the same result. An age of 0 means no window: the result is the value.

    >>> windows: dict[str, Peaks] = {}
    >>> [largest(windows, "map", value, time, age=30) for time, value in [(0, 4), (10, 3), (20, 2), (31, 2), (41, 2)]]
    [4, 4, 4, 3, 2]
    >>> windows
    {'map': deque([(41, 2)])}
    """
    if age <= 0:
        return value
    forget(windows, time, age)
    peaks = windows.setdefault(name, deque())
    if not peaks or peaks[-1][0] != time:
        while peaks and peaks[-1][1] <= value:
            peaks.pop()
        peaks.append((time, value))
    return max(value, peaks[0][1])


def forget(windows: dict[str, Peaks], time: float, age: float) -> None:
    """Drop values that are too old, or in the future because the clock went back, and names without any value left."""
    oldest = time - age
    for name, peaks in list(windows.items()):
        while peaks and peaks[0][0] <= oldest:
            peaks.popleft()
        while peaks and peaks[-1][0] > time:
            peaks.pop()
        if not peaks:
            del windows[name]
