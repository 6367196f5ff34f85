"""The series of a cell on one time axis, and its latencies at the same shares: one tooltip can then tell them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tidegate.report.compare.columns import Record

#: half the size of a double in the file, and seven digits are more than a chart shows
Array = npt.NDArray[np.float32]
#: of the records, finer where the slow ones are
SHARES = np.concatenate([np.arange(0, 0.99, 0.01), np.arange(0.99, 1.0, 0.001), [1.0]])
#: latencies below are drawn as this: an axis of powers of ten has no zero
SHORTEST = 1e-3


def over_time(series: Mapping[str, Record], keys: Mapping[str, str]) -> dict[str, Array]:
    """Columns for a chart: `time`, `offered`, `oracle`, and of each policy `w` and `l` (workers, latency) with its key.

    >>> one = {"times": [0, 10], "offered": [5, 6], "executors": [1, 2], "latency": [0.5, None], "oracle": None}
    >>> {name: column.tolist() for name, column in over_time({"ds2": one}, {"ds2": "0"}).items()}
    {'time': [0.0, 10.0], 'floor': [0.0, 0.0], 'offered': [5.0, 6.0], 'w0': [1.0, 2.0], 'l0': [0.5, nan]}
    """
    times = np.asarray(max((one["times"] for one in series.values()), key=len), dtype=np.float64)
    columns = {"time": times.astype(np.float32), "floor": np.zeros(len(times), dtype=np.float32)}
    for shared in ("offered", "oracle"):
        if (told := next((one for one in series.values() if one.get(shared)), None)) is not None:
            columns[shared] = _at(times, told, shared)
    for policy, one in series.items():
        columns[f"w{keys[policy]}"] = _at(times, one, "executors")
        columns[f"l{keys[policy]}"] = _raised(_at(times, one, "latency"))
    return columns


def _at(times: npt.NDArray[np.float64], series: Record, key: str) -> Array:
    """A value holds until the next one; a run that ended early has none after its end."""
    own, values = np.asarray(series["times"], dtype=np.float64), _numbers(series.get(key))
    count = min(len(own), len(values))
    if not count:
        return np.full(len(times), np.nan, dtype=np.float32)
    places = np.searchsorted(own[:count], times, side="right") - 1
    last = own[count - 1] + (np.diff(own[:count]).max() if count > 1 else 0.0)
    return np.where((places >= 0) & (times <= last), values[places], np.nan).astype(np.float32)


def _numbers(values: Sequence[float | None] | None) -> npt.NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values or ()], dtype=np.float64)


def _raised(values: Array) -> Array:
    return np.maximum(values, np.float32(SHORTEST))


def over_shares(series: Mapping[str, Record], keys: Mapping[str, str]) -> dict[str, Array]:
    """Columns for a chart: `share`, and of each policy `e` with its key, the latency that so many stay within."""
    columns = {"share": SHARES.astype(np.float32)}
    for policy, one in series.items():
        if one.get("ecdf"):
            columns[f"e{keys[policy]}"] = latencies(one["ecdf"])
    return columns


def latencies(ecdf: Sequence[Sequence[float]]) -> Array:
    """The latencies at `SHARES`; none for shares that the records never reached.

    >>> [round(float(value), 2) for value in latencies([[1.0, 0.0], [2.0, 0.5]])[[0, 25, 50, 51]]]
    [1.0, 1.5, 2.0, nan]
    """
    points = np.asarray(ecdf, dtype=np.float64)
    # shares computed in floating point may end a hair below 1
    found = np.interp(SHARES - 1e-9, points[:, 1], points[:, 0], right=np.nan)
    return _raised(found.astype(np.float32))


def extent(columns: Mapping[str, Array], prefix: str, *others: float | None) -> tuple[float, float] | None:
    """The lowest and highest value of the columns with a prefix, and of others; None where there are no values."""
    values: list[Any] = [column[np.isfinite(column)] for name, column in columns.items() if name.startswith(prefix)]
    if not any(len(part) for part in values):
        return None
    joined = np.concatenate([*values, [other for other in others if other is not None]])
    return float(joined.min()), float(joined.max())
