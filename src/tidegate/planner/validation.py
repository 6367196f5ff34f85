"""A run between testbed and target, against what was predicted for it.

The laws cannot know a limit that the testbed did not reach: a driver, a network, a hot key. A run at a few times the
testbed's slots is the only test of an extrapolation, and `AveragedCapacity.with_measurement` also learns from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.planner.averaging import LEVEL, AveragedCapacity, Interval
from tidegate.planner.measurement import Measurement
from tidegate.units import count


@dataclass(frozen=True, slots=True)
class Validation:
    """`predicted` is where 90 % of measurements were expected, noise included."""

    measurement: Measurement
    predicted: Interval

    @property
    def agrees(self) -> bool:
        return self.predicted.low <= self.measurement.rate <= self.predicted.high

    @property
    def sentence(self) -> str:
        side = "within" if self.agrees else "below" if self.measurement.rate < self.predicted.low else "above"
        return (
            f"the run with {self.measurement.slots:,} slots reached {count(self.measurement.rate)} records/s, {side} "
            f"the {count(self.predicted.low)} to {count(self.predicted.high)} that were predicted"
        )


def validate(capacity: AveragedCapacity, measurement: Measurement) -> Validation:
    """The measurement must not be among those that the capacity was learnt from.

    >>> from tidegate.planner.averaging import average
    >>> capacity = average([Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16, 32)])
    >>> validate(capacity, Measurement(128, 512, 90_000.0)).sentence
    'the run with 128 slots reached 90 k records/s, below the 118 k to 137 k that were predicted'
    """
    levels = ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
    return Validation(measurement, Interval(*capacity.outcomes(measurement.slots, levels, measurement.memory)))
