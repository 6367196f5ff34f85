"""When a warm-up is over: throughput stays, and state has stopped growing or grows with the records.

Code is compiled and state built up during the first minutes, so throughput drifts. Windows are compared in groups,
because a single one varies with the machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from tidegate.planner.estimator.phases import Measurement


def is_steady(windows: Sequence[Measurement], group: int, change: float, errors: float = 1.0) -> bool:
    """Whether the last `group` windows differ from as many before them by at most `change`, in throughput and state.

    They may also differ by `errors` standard errors, as on a noisy machine they always do; something that grows evenly
    differs by 3.7 of them or more. Windows in which no batch finished do not count, and one in which nothing was
    processed is not steady. State is only looked at if all windows know it.

    >>> windows = [Measurement(15.0, processed_rate=rate) for rate in (60.0, 80.0, 95.0, 99.0, 100.0, 101.0)]
    >>> is_steady(windows[:4], 2, 0.05), is_steady(windows, 2, 0.05)  # 70 -> 97, then 97 -> 100.5
    (False, True)
    """
    measured = [window for window in windows if window.processed_rate is not None]
    rates = [window.processed_rate or 0.0 for window in measured[-2 * group :]]
    if len(rates) < 2 * group or not all(rates):
        return False
    allowed = Allowed(change, errors)
    return allowed.between(rates[:group], rates[group:]) and _state_is_steady(measured, group, allowed)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A difference of means that counts as none: a share of the earlier one, or so many standard errors."""

    change: float
    errors: float

    def between(self, before: Sequence[float], after: Sequence[float]) -> bool:
        most = max(self.change * abs(fmean(before)), self.errors * _standard_error(before, after))
        return abs(fmean(after) - fmean(before)) <= most


def _standard_error(before: Sequence[float], after: Sequence[float]) -> float:
    """Of the difference of two means; 0 if a single window says nothing about it."""
    if len(before) < 2:
        return 0.0
    return math.sqrt((variance(before) + variance(after)) / len(before))


def _state_is_steady(windows: Sequence[Measurement], group: int, allowed: Allowed) -> bool:
    rows = [window.state_rows for window in windows if window.state_rows is not None]
    if len(rows) < len(windows):
        return True
    same = allowed.between(rows[-2 * group : -group], rows[-group:])
    return same or _grows_with_records(windows, rows, group, allowed.change)


def _grows_with_records(windows: Sequence[Measurement], rows: Sequence[float], group: int, change: float) -> bool:
    """Whether the last two groups of windows added as much state per record as the two before them.

    This takes twice as many windows as the rest, as a time window that fills up also grows evenly until it is full.
    """
    if len(windows) <= 4 * group:
        return False
    before, after = windows[-4 * group : -2 * group], windows[-2 * group :]
    added_before = rows[-2 * group - 1] - rows[-4 * group - 1]
    added_after = rows[-1] - rows[-2 * group - 1]
    return _close(added_before * _records(after), added_after * _records(before), change)


def _records(windows: Sequence[Measurement]) -> float:
    return sum((window.processed_rate or 0.0) * window.seconds for window in windows)


def _close(before: float, after: float, change: float) -> bool:
    return abs(after - before) <= change * abs(before)
