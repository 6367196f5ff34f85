"""What an observation of a micro-batch engine shows, from whole batches.

Records are finished in lumps. Counting those of a fixed time would depend on whether its last batch ends a moment
before or after it, so a batch's time is counted from its planning to the planning of the next: that includes waiting
for the trigger, and is exactly the trigger interval while the query keeps up.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tidegate.core import Batch
from tidegate.planner.estimator.phases import Measurement


def measurement(batches: Sequence[Batch], begin: float, end: float, offered_rate: float) -> Measurement:
    """Of the batches that were planned and finished between two times; if these are fewer than two, of the last two.

    The processed rate is None if no batch finished, or only one ever did. `seconds` is that of the observation.

    >>> planned = [Batch(k, 10.0 * k, 10.0 * k + 9, begin=500.0 * k, end=500.0 * (k + 1), arrived=500.0 * (k + 1))
    ...            for k in range(5)]
    >>> result = measurement(planned, begin=5.0, end=50.0, offered_rate=50.0)
    >>> result.processed_rate, result.backlog_end, result.latency_end  # each has waited for 10 s, and takes 9 s
    (50.0, 500.0, 19.0)
    """
    inside = _inside(batches, begin, end)
    if len(inside) < 2:
        return Measurement(end - begin, offered_rate)
    first, last = inside[0], inside[-1]
    if last.planned <= first.planned:
        return Measurement(end - begin, offered_rate)
    half = len(inside) // 2
    return Measurement(
        end - begin,
        offered_rate,
        (last.begin - first.begin) / (last.planned - first.planned),
        _waiting(first),
        _waiting(last),
        _mean_latency(inside[:half], offered_rate),
        _mean_latency(inside[half:], offered_rate),
    )


def _inside(batches: Sequence[Batch], begin: float, end: float) -> Sequence[Batch]:
    finished = [batch for batch in batches if batch.finished <= end]
    if not finished or finished[-1].finished <= begin:
        return ()
    inside = [batch for batch in finished if batch.planned >= begin]
    return inside if len(inside) >= 2 else finished[-2:]


def _waiting(batch: Batch) -> float | None:
    """Records that waited when it was planned, its own included."""
    return None if batch.arrived is None else batch.arrived - batch.begin


def _mean_latency(batches: Sequence[Batch], offered_rate: float) -> float | None:
    """Age of the oldest record of a batch when it finished, in the mean."""
    ages = [_latency(batch, offered_rate) for batch in batches]
    known = [age for age in ages if age is not None]
    return fmean(known) if known else None


def _latency(batch: Batch, offered_rate: float) -> float | None:
    waiting = _waiting(batch)
    if waiting is None or offered_rate <= 0:
        return None
    return waiting / offered_rate + batch.finished - batch.planned
