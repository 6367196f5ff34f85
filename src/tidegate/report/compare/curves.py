"""The curves of a cell on a common time axis, and its latencies at common shares: one tooltip can show them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tidegate.compare.curves import RunCurves

#: half the size of a double in the file, and its seven digits are more than a chart shows
Array = npt.NDArray[np.float32]
#: shares of the records, denser where the slow ones are
SHARES = np.concatenate([np.arange(0, 0.99, 0.01), np.arange(0.99, 1.0, 0.001), [1.0]])
#: shorter latencies are drawn as this one: a logarithmic axis has no zero
SHORTEST = 1e-3


def over_time(curves: Mapping[str, RunCurves], keys: Mapping[str, str]) -> dict[str, Array]:
    """Columns for a chart: `time`, `offered`, `oracle`, and for each policy `w` (workers) and `l` (latency) + its key.

    >>> run = RunCurves("r", "q1", "steps", "ds2", 0, (0, 10), (5, 6), (1, 2), (0.5, float("nan")), (0, 0))
    >>> {name: column.tolist() for name, column in over_time({"ds2": run}, {"ds2": "p0"}).items()}
    {'time': [0.0, 10.0], 'floor': [0.0, 0.0], 'offered': [5.0, 6.0], 'wp0': [1.0, 2.0], 'lp0': [0.5, nan]}
    """
    times = np.asarray(max((run.times for run in curves.values()), key=len), dtype=np.float64)
    columns = {"time": times.astype(np.float32), "floor": np.zeros(len(times), dtype=np.float32)}
    if (with_load := next((run for run in curves.values() if run.offered), None)) is not None:
        columns["offered"] = _resampled(times, with_load, with_load.offered)
    if (with_oracle := next((run for run in curves.values() if run.oracle), None)) is not None:
        columns["oracle"] = _resampled(times, with_oracle, with_oracle.oracle or ())
    for policy, run in curves.items():
        columns[f"w{keys[policy]}"] = _resampled(times, run, run.executors)
        columns[f"l{keys[policy]}"] = _raised(_resampled(times, run, run.latency))
    return columns


def _resampled(times: npt.NDArray[np.float64], run: RunCurves, curve: Sequence[float]) -> Array:
    """A value holds until the next one; a run that ended early has no values after its end."""
    own, values = np.asarray(run.times, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    count = min(len(own), len(values))
    if not count:
        return np.full(len(times), np.nan, dtype=np.float32)
    places = np.searchsorted(own[:count], times, side="right") - 1
    last = own[count - 1] + (np.diff(own[:count]).max() if count > 1 else 0.0)
    return np.where((places >= 0) & (times <= last), values[places], np.nan).astype(np.float32)


def _raised(values: Array) -> Array:
    return np.maximum(values, np.float32(SHORTEST))


def over_shares(curves: Mapping[str, RunCurves], keys: Mapping[str, str]) -> dict[str, Array]:
    """Columns for a chart: `share`, and for each policy `e` + its key, the latency that this share stays within."""
    columns = {"share": SHARES.astype(np.float32)}
    for policy, run in curves.items():
        if run.ecdf:
            columns[f"e{keys[policy]}"] = latencies(run.ecdf)
    return columns


def latencies(ecdf: Sequence[tuple[float, float]]) -> Array:
    """The latencies at `SHARES`; NaN for shares that the records never reached.

    >>> [round(float(value), 2) for value in latencies([(1.0, 0.0), (2.0, 0.5)])[[0, 25, 50, 51]]]
    [1.0, 1.5, 2.0, nan]
    """
    points = np.asarray(ecdf, dtype=np.float64)
    # shares are sums of floats, which may end slightly below 1
    values = np.interp(SHARES - 1e-9, points[:, 1], points[:, 0], right=np.nan)
    return _raised(values.astype(np.float32))


def extent(columns: Mapping[str, Array], prefix: str, *others: float | None) -> tuple[float, float] | None:
    """The lowest and highest of `others` and the values in columns with a prefix; None if these have no values."""
    values: list[Any] = [column[np.isfinite(column)] for name, column in columns.items() if name.startswith(prefix)]
    if not any(len(part) for part in values):
        return None
    joined = np.concatenate([*values, [other for other in others if other is not None]])
    return float(joined.min()), float(joined.max())
