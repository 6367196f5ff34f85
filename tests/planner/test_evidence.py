import math

import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.planner.evidence import Beliefs, Evidence, Unevenness

BELIEFS = Beliefs(noise=0.05, noise_weight=4.0)


def evidence(logs: list[float], slots: list[float], unevenness: float = 0.0) -> Evidence:
    memory = np.zeros(len(logs))
    return Evidence.of(np.array(logs), np.array(slots), memory, BELIEFS, Unevenness(unevenness, 1.0))


def test_evidence_is_how_well_each_measurement_was_predicted_from_those_before() -> None:
    # The first sets the level. The second is then a Student's t with 4 degrees of freedom around the curve, and the
    # scale sqrt(2) * 0.05. A proportional curve is right on ln 2, a constant is ln 2 away: (1 + x^2 / 4) ** (5/2) less.
    proportional, constant = np.array([0.0, math.log(2)]), np.zeros(2)
    given = evidence([0.0, math.log(2)], [1, 2]).given(np.array([proportional, constant]))
    x = math.log(2) / (math.sqrt(2) * 0.05)
    assert given.log_evidence[0] - given.log_evidence[1] == pytest.approx(2.5 * math.log(1 + x**2 / 4))


def test_noise_is_learnt_from_belief_and_residuals() -> None:
    # 4 * 0.05^2 believed, residuals of 0.1 and -0.1 around their mean: (0.01 + 0.02) / (4 + 2 - 1)
    given = evidence([0.1, -0.1], [1, 2]).given(np.zeros((1, 2)))
    assert given.variances[0] == pytest.approx(0.006)


def test_repetition_does_not_average_out_unevenness() -> None:
    # variance of a mean of 4: 1 / 4 of the noise, and all of the unevenness that the same slots share
    assert evidence([0.0] * 4, [8] * 4, unevenness=1.0).covariance[0, 0] == pytest.approx(0.25 + 1)
    assert evidence([0.0] * 4, [8, 9, 10, 11], unevenness=1.0).covariance[0, 0] == pytest.approx(0.25 * 2)


def test_beliefs_have_bounds() -> None:
    with pytest.raises(InvalidInput, match="beliefs about measurements: need 0 < noise <= 1, got 0"):
        Beliefs(noise=0.0)
