"""StreamBed's selection among candidates (DEBS'24, section 6), with the rules of the released code as parameters.

* The error of a candidate is its leave-one-out error: root mean square in the paper. The released code computes the
  mean absolute error under that name.
* The candidate is chosen that extrapolates best: fitted to the half of the measurements with the fewest slots, it must
  predict the other half. The released code splits at half the largest number of slots instead.
* The released code then keeps, for each candidate, the first 5 to 20 measurements with the smallest error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidegate.core import InvalidInput
from tidegate.planner.candidate import Candidate
from tidegate.planner.measurement import Array, Measurement

ERRORS = ("rmse", "mae")
SPLITS = ("half", "slots")


def loo_error(candidate: Candidate, measurements: Sequence[Measurement], error: str = "rmse") -> float:
    """Leave-one-out error, in records/s.

    >>> from tidegate.planner.least_squares import LINEAR
    >>> points = [Measurement(s, 512, rate) for s, rate in ((1, 10.0), (2, 20.0), (3, 33.0))]
    >>> round(loo_error(LINEAR, points, error="mae"), 6)  # 33 - 30, 21.5 - 20, 10 - 7
    2.5
    """
    if len(measurements) < 2:
        raise InvalidInput(f"leave-one-out error: need at least 2 measurements, got {len(measurements)}")
    residuals = [
        candidate.fit([*measurements[:k], *measurements[k + 1 :]]).predict(m.slots, m.memory) - m.rate
        for k, m in enumerate(measurements)
    ]
    return _summary(np.array(residuals), error)


def extrapolation_error(
    candidate: Candidate, measurements: Sequence[Measurement], split: str = "half", error: str = "rmse"
) -> float:
    """Error on the measurements with many slots of a fit to those with few."""
    few, many = split_by_slots(measurements, split)
    fit = candidate.fit(few)
    return _summary(np.array([fit.predict(m.slots, m.memory) - m.rate for m in many]), error)


def split_by_slots(
    measurements: Sequence[Measurement], split: str = "half"
) -> tuple[list[Measurement], list[Measurement]]:
    """Measurements with few and with many slots; of an odd number, the middle one has few.

    `split="slots"` is the released rule: few are less than half the largest number of slots, rounded down.
    """
    if split not in SPLITS:
        raise InvalidInput(f"model selection: need split to be one of {', '.join(SPLITS)}, got {split!r}")
    ranked = sorted(measurements, key=lambda m: m.slots)
    few = (len(ranked) + 1) // 2
    if split == "slots":
        middle = max((m.slots for m in ranked), default=0) // 2
        few = sum(m.slots < middle for m in ranked)
    if not 0 < few < len(ranked):
        raise InvalidInput(
            f"model selection: need measurements with few and with many slots, got {len(ranked)} "
            f"at {', '.join(map(str, sorted({m.slots for m in ranked}))) or 'no'} slots"
        )
    return ranked[:few], ranked[few:]


def select(
    candidates: Sequence[Candidate], measurements: Sequence[Measurement], split: str = "half", error: str = "rmse"
) -> Candidate:
    """The candidate that extrapolates best; of equally good ones the first. It is to be fitted to all measurements.

    >>> from tidegate.planner.least_squares import PAPER
    >>> select(PAPER, [Measurement(s, 512, 100.0 * s**0.5) for s in (1, 2, 4, 8, 16)]).name
    'square root'
    """
    return min(candidates, key=lambda candidate: extrapolation_error(candidate, measurements, split, error))


def best_prefix(
    candidate: Candidate,
    measurements: Sequence[Measurement],
    shortest: int = 5,
    longest: int = 20,
    error: str = "mae",
) -> Sequence[Measurement]:
    """The first measurements, in the order in which they were made, with the smallest leave-one-out error."""
    lengths = range(min(shortest, len(measurements)), min(longest, len(measurements)) + 1)
    best = min(lengths, key=lambda length: loo_error(candidate, measurements[:length], error))
    return measurements[:best]


def _summary(residuals: Array, error: str) -> float:
    if error not in ERRORS:
        raise InvalidInput(f"model selection: need error to be one of {', '.join(ERRORS)}, got {error!r}")
    return float(np.abs(residuals).mean() if error == "mae" else np.sqrt((residuals**2).mean()))
