import pytest

from tidegate.capacity import Usl
from tidegate.planner.measurement import Measurement
from tidegate.planner.usl_candidate import UslCandidate


def test_a_law_is_recovered_together_with_the_effect_of_memory() -> None:
    # twice the memory: 2 ** 0.5 of the rate. The law holds for the geometric mean of memory, sqrt(512 * 2048) = 1024
    law = Usl(100.0, 0.1, 0.001)
    points = [Measurement(s, m, law.at(s) * (m / 1024) ** 0.5) for s in (1, 4, 16) for m in (512.0, 2048.0)]
    fit = UslCandidate().fit(points)
    assert fit.memory.exponent == pytest.approx(0.5)
    assert fit.predict(16, 4096) == pytest.approx(2 * law.at(16))


def test_capacity_stays_at_its_peak() -> None:
    # the peak is at sqrt((1 - 0.19) / 0.01) = 9 slots, with 900 / (1 + 8 * (0.19 + 0.09)) = 277.78
    law = Usl(100.0, 0.19, 0.01)
    fit = UslCandidate().fit([Measurement(s, 512, law.at(s)) for s in (1, 3, 6, 9, 12)])
    assert fit.predict(9, 512) == pytest.approx(900 / 3.24)
    assert fit.predict(1000, 512) == pytest.approx(900 / 3.24)
