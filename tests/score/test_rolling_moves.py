"""Rescales of an attached run: decisions that were carried out, and no others."""

import pytest

from tidegate.core import Decision, Observation, Step, Tick
from tidegate.score import RollingScore
from tidegate.score.folding import Bounds


def decided(time: float, wish: int, *, acted: bool) -> Tick:
    return Tick(Observation(time, 2, 2), (Step("policy", Decision(wish, "busy")),), acted)


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(kept=200)], ids=["kept", "folded"])
def test_a_decision_that_was_not_carried_out_is_no_rescale(bounds: Bounds) -> None:
    score = RollingScore(slo=10.0, bounds=bounds)
    for second in range(100):
        score.take(decided(second, 3, acted=False))  # as in monitor mode
    rescales = score.figures().rescales
    assert (rescales.up, rescales.down) == (0, 0)
    score.take(decided(100, 3, acted=True))
    score.take(decided(101, 1, acted=True))
    score.take(decided(102, 1, acted=True))
    rescales = score.figures().rescales
    assert (rescales.up, rescales.down) == (1, 2)
