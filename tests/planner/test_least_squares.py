"""StreamBed's models."""

import math

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.least_squares import LINEAR, LOG1P, LOGARITHM, SQUARE_ROOT, LeastSquares
from tidegate.planner.measurement import Measurement


@pytest.mark.parametrize(
    ("model", "transform"),
    [(LINEAR, float), (LOGARITHM, math.log), (LOG1P, math.log1p), (SQUARE_ROOT, math.sqrt)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_coefficients_are_recovered(model: LeastSquares, transform: type[float]) -> None:
    # rate = 100 g(slots) + 3 g(memory) + 50
    points = [
        Measurement(s, m, 100 * transform(s) + 3 * transform(m) + 50) for s in (1, 4, 16) for m in (512.0, 4096.0)
    ]
    fit = model.fit(points)
    assert (fit.slots, fit.memory, fit.intercept) == pytest.approx((100, 3, 50))
    assert fit.predict(64, 1024) == pytest.approx(100 * transform(64) + 3 * transform(1024) + 50)


def test_least_squares_in_the_natural_scale() -> None:
    # through (1, 1), (2, 2) and (3, 6): slope (6 - 1) / 2 = 2.5, mean 3 at 2
    fit = LINEAR.fit([Measurement(s, 512, r) for s, r in ((1, 1.0), (2, 2.0), (3, 6.0))])
    assert fit.predict(2, 512) == pytest.approx(3)
    assert fit.predict(10, 512) == pytest.approx(3 + 2.5 * 8)


def test_a_single_amount_of_memory_has_no_coefficient() -> None:
    fit = LINEAR.fit([Measurement(s, 512, 10.0 * s) for s in (1, 2, 3)])
    assert fit.memory == 0
    assert fit.predict(4, 9999) == fit.predict(4, 512)


def test_no_measurement_is_refused() -> None:
    with pytest.raises(InvalidInput, match="model square root: need at least 1 measurement, got 0"):
        SQUARE_ROOT.fit([])
