import numpy as np
import pytest

from tidegate.forecast import Chooser, wape
from tidegate.forecast.error_tracker import ErrorTracker


def constant_paths(*rates):
    return np.array([[rate] * 60 for rate in rates])


def test_losses_are_errors_over_the_root_of_the_mean_error():
    tracker = ErrorTracker.of(2)
    tracker.update(0.0, constant_paths(108.0, 124.0))
    tracker.update(100.0, constant_paths(100.0, 100.0))  # errors 8 and 24, mean 16, root 4: losses 2 and 6
    assert tracker.losses[2] == pytest.approx([2.0, 6.0])
    assert tracker.weights(power=2) == pytest.approx([0.9, 0.1])  # 1 and (2 / 6) ** 2 = 1 / 9
    assert tracker.ratio() == 0.5  # 2 * 8 / (8 + 24)


def test_a_path_without_errors_gets_all_the_weight():
    tracker = ErrorTracker.of(2)
    tracker.update(0.0, constant_paths(100.0, 101.0))
    tracker.update(100.0, constant_paths(100.0, 101.0))
    assert tracker.weights(power=6) == pytest.approx([1.0, 0.0])


def test_weights_are_equal_before_the_first_error():
    tracker = ErrorTracker.of(4)
    assert tracker.weights(power=6).tolist() == [0.25] * 4
    assert tracker.ratio() == 1.0


def test_errors_older_than_half_an_hour_are_forgotten():
    tracker = ErrorTracker.of(2)
    for _ in range(100):
        tracker.update(100.0, constant_paths(100.0, 200.0))
    for _ in range(180):  # 60 until the last bad path has expired, then 120 that are kept
        tracker.update(100.0, constant_paths(150.0, 100.0))
    assert tracker.weights(power=6) == pytest.approx([0.0, 1.0])


def test_a_ramp_and_a_wave_are_distinguished_from_a_level():
    ramp, wave = Chooser(), Chooser()
    for k in range(240):
        ramp.update(1000.0 + 10 * k)
        wave.update(1000.0 + 500 * np.sin(2 * np.pi * k / 120))
    ahead = np.arange(240, 300)
    assert wape(1000.0 + 10 * ahead, ramp.forecast(60).mean) < 0.01
    assert wape(1000.0 + 500 * np.sin(2 * np.pi * ahead / 120), wave.forecast(60).mean) < 0.02


def test_after_a_jump_no_further_jump_is_forecast():
    chooser = Chooser()
    noise = np.random.default_rng(4).normal(1.0, 0.003, size=120)
    for k in range(120):
        chooser.update(float(noise[k]) * (1000.0 if k < 80 else 2000.0))
    assert chooser.forecast(60).mean == pytest.approx([2000.0] * 60, rel=0.05)


def test_on_noise_the_full_combination_is_not_fully_trusted():
    chooser, noise = Chooser(), np.random.default_rng(5).normal(1000.0, 200.0, size=240)
    for rate in noise:
        chooser.update(float(rate))
    assert 0 <= chooser.trust < 1
    assert chooser.forecast(60).mean == pytest.approx([1000.0] * 60, rel=0.1)


def test_the_daily_profile_joins_after_a_day():
    chooser = Chooser(step=900.0)
    day = np.where(np.arange(96) % 16 < 8, 1000.0, 200.0)  # twelve steps a day, too abrupt for any other member
    for rate in np.tile(day, 2):
        chooser.update(float(rate))
    assert chooser.seasonal.ready
    assert wape(day[:60], chooser.forecast(60).mean) < 0.2
