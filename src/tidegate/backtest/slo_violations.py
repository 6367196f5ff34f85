"""When records were late: the stretches of time in which those arrived that missed the objective."""

from __future__ import annotations

from typing import Any

import numpy as np

from tidegate.score.latency import everything
from tidegate.score.trace import Array, RunTrace

#: stretches that are told
WORST = 3
#: what is at least so close together is one stretch, in seconds: batches end now in time, now late
TOGETHER = 60.0
#: seconds that a stretch has at least
SHORT = 1.0


def stretches(trial: RunTrace, slo: float, most: int = WORST) -> list[dict[str, Any]]:
    """The longest ones: from the arrival of their first late record, for so many seconds until that of their last.
    Those of less than a second are left out.

    Records that were never done count with the age they had at the end.
    """
    begins, ends = _late(trial, slo)
    if not len(begins):
        return []
    apart = begins[1:] - np.maximum.accumulate(ends)[:-1] > max(TOGETHER, slo)
    firsts = np.flatnonzero(np.concatenate([[True], apart]))
    starts, stops = begins[firsts], np.maximum.reduceat(ends, firsts)
    order = np.argsort(starts - stops, kind="stable")[:most]
    found = [(float(starts[k]), float(stops[k] - starts[k])) for k in order]
    return [{"start": round(at, 1), "seconds": round(length, 1)} for at, length in found if length >= SHORT]


def _late(trial: RunTrace, slo: float) -> tuple[Array, Array]:
    """For each portion with late records: when the first and the last of these arrived, in the order of arrival."""
    done = everything(trial)
    first = trial.arrivals.when(done.begins)
    last = np.minimum(trial.arrivals.when(done.ends), done.times - slo)
    held = (last > first) & (done.ends > done.begins)
    order = np.argsort(first[held], kind="stable")
    return first[held][order], last[held][order]
