import numpy as np
import pytest

from tidegate.forecast import Chooser, wape
from tidegate.forecast.judge import Judge


def drawn(*rates):
    return np.array([[rate] * 60 for rate in rates])


def test_losses_are_errors_over_the_root_of_the_usual_error():
    judge = Judge.of(2)
    judge.update(0.0, drawn(108.0, 124.0))
    judge.update(100.0, drawn(100.0, 100.0))  # errors 8 and 24, mean 16, root 4: losses 2 and 6
    assert judge.losses[2] == pytest.approx([2.0, 6.0])
    assert judge.weights(power=2) == pytest.approx([0.9, 0.1])  # 1 and (2 / 6) ** 2 = 1 / 9
    assert judge.ratio() == 0.5  # 2 * 8 / (8 + 24)


def test_who_never_missed_gets_everything():
    judge = Judge.of(2)
    judge.update(0.0, drawn(100.0, 101.0))
    judge.update(100.0, drawn(100.0, 101.0))
    assert judge.weights(power=6) == pytest.approx([1.0, 0.0])


def test_nobody_is_better_before_anything_came():
    judge = Judge.of(4)
    assert judge.weights(power=6).tolist() == [0.25] * 4
    assert judge.ratio() == 1.0


def test_errors_older_than_half_an_hour_are_forgotten():
    judge = Judge.of(2)
    for _ in range(100):
        judge.update(100.0, drawn(100.0, 200.0))
    for _ in range(180):  # sixty until the last bad path is over, 120 that count
        judge.update(100.0, drawn(150.0, 100.0))
    assert judge.weights(power=6) == pytest.approx([0.0, 1.0])


def test_it_knows_a_ramp_and_a_wave_from_a_level():
    ramp, wave = Chooser(), Chooser()
    for k in range(240):
        ramp.update(1000.0 + 10 * k)
        wave.update(1000.0 + 500 * np.sin(2 * np.pi * k / 120))
    ahead = np.arange(240, 300)
    assert wape(1000.0 + 10 * ahead, ramp.forecast(60).mean) < 0.01
    assert wape(1000.0 + 500 * np.sin(2 * np.pi * ahead / 120), wave.forecast(60).mean) < 0.02


def test_after_a_jump_it_does_not_expect_the_next():
    chooser = Chooser()
    noise = np.random.default_rng(4).normal(1.0, 0.003, size=120)
    for k in range(120):
        chooser.update(float(noise[k]) * (1000.0 if k < 80 else 2000.0))
    assert chooser.forecast(60).mean == pytest.approx([2000.0] * 60, rel=0.05)


def test_noise_is_not_trusted_to_a_mixture():
    chooser, noise = Chooser(), np.random.default_rng(5).normal(1000.0, 200.0, size=240)
    for rate in noise:
        chooser.update(float(rate))
    assert 0 <= chooser.trust < 1
    assert chooser.forecast(60).mean == pytest.approx([1000.0] * 60, rel=0.1)


def test_a_season_has_a_say_only_when_it_was_seen():
    chooser = Chooser(step=300.0)
    day = np.where(np.arange(288) % 48 < 24, 1000.0, 200.0)  # six turns a day, too sudden for any other member
    for rate in np.tile(day, 2):
        chooser.update(float(rate))
    assert chooser.seasonal.ready
    assert wape(day[:60], chooser.forecast(60).mean) < 0.2
