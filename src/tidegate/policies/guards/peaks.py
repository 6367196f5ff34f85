"""The largest values of some last seconds, by name, in as few numbers as that takes.

Of a window only those values are kept that may yet be its largest: a value goes when a larger one, or the same, comes
after it. So what is kept falls from the oldest to the newest, and its length is bounded by how many values there are.
"""

from __future__ import annotations

from collections import deque

#: times and values, newest last
Peaks = deque[tuple[float, int]]


def largest(kept: dict[str, Peaks], name: str, value: int, time: float, age: float) -> int:
    """The largest of the last `age` seconds and `value`, which is remembered unless something of that time already is.

    Asked twice at one time, the answer is the same. An age of 0 is no window: the value itself.

    >>> kept: dict[str, Peaks] = {}
    >>> [largest(kept, "map", value, time, age=30) for time, value in [(0, 4), (10, 3), (20, 2), (31, 2), (41, 2)]]
    [4, 4, 4, 3, 2]
    >>> kept
    {'map': deque([(41, 2)])}
    """
    if age <= 0:
        return value
    forget(kept, time, age)
    peaks = kept.setdefault(name, deque())
    if not peaks or peaks[-1][0] != time:
        while peaks and peaks[-1][1] <= value:
            peaks.pop()
        peaks.append((time, value))
    return max(value, peaks[0][1])


def forget(kept: dict[str, Peaks], time: float, age: float) -> None:
    """Drop what is too old, or lies in the future because the clock went back; and names with nothing left."""
    oldest = time - age
    for name, peaks in list(kept.items()):
        while peaks and peaks[0][0] <= oldest:
            peaks.popleft()
        while peaks and peaks[-1][0] > time:
            peaks.pop()
        if not peaks:
            del kept[name]
