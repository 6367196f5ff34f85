import math

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.measurement import Measurement, columns


@pytest.mark.parametrize(
    ("slots", "memory", "rate", "sentence"),
    [
        (0, 512, 1.0, "measurement: need a whole number of slots >= 1, got 0"),
        (1.5, 512, 1.0, "measurement: need a whole number of slots >= 1, got 1.5"),
        (4, -1, 1.0, "measurement at 4 slots: need a finite memory > 0, got -1"),
        (4, 512, 0.0, "measurement at 4 slots: need a finite rate > 0, got 0"),
        (4, 512, math.inf, "measurement at 4 slots: need a finite rate > 0, got inf"),
        (4, 512, math.nan, "measurement at 4 slots: need a finite rate > 0, got nan"),
    ],
)
def test_impossible_measurements_are_refused(slots: int, memory: float, rate: float, sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Measurement(slots, memory, rate)
    assert str(error.value) == sentence


def test_too_few_measurements_are_refused_with_the_purpose() -> None:
    with pytest.raises(InvalidInput, match="model linear: need at least 1 measurement, got 0"):
        columns([], purpose="model linear")
