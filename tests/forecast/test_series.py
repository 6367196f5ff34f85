import json
import math

from tidegate.forecast import Arima, LastValue, Linear, Outlook, wape
from tidegate.memory import memory, recall


class RecordingForecaster:
    """Records its values."""

    step = 15.0

    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)

    def forecast(self, horizon):
        return None


def observed(*samples, gap=600.0):
    outlook = Outlook(RecordingForecaster(), gap=gap)
    for time, rate in samples:
        outlook.observe(time, rate)
    return outlook


def test_wape_is_relative_to_the_sum_of_actual_values():
    assert wape([10.0, 90.0], [20.0, 80.0]) == 0.2  # (10 + 10) / 100
    assert wape([10.0, 90.0, 5.0], [10.0, 80.0]) == 0.1  # the overlap alone
    assert wape([0.0], [3.0]) is None


def test_steps_are_means_of_their_samples():
    outlook = observed((100.0, 10.0), (105.0, 20.0), (114.9, 30.0), (115.0, 99.0), (131.0, 5.0))
    assert outlook.forecaster.values == [20.0, 99.0]  # (10 + 20 + 30) / 3; the third step is open


def test_unknown_rates_are_ignored():
    outlook = observed((0.0, 10.0), (5.0, None), (6.0, math.nan), (math.nan, 7.0), (15.0, 1.0))
    assert outlook.forecaster.values == [10.0]


def test_a_sample_shown_twice_counts_once():
    outlook = observed((0.0, 10.0), (5.0, 40.0), (5.0, 40.0), (15.0, 1.0))
    assert outlook.forecaster.values == [25.0]


def test_negative_rates_count_as_zero():
    assert observed((0.0, -10.0), (5.0, 10.0), (15.0, 1.0)).forecaster.values == [5.0]


def test_a_gap_is_filled_with_the_last_mean():
    assert observed((0.0, 10.0), (61.0, 50.0), (75.0, 0.0)).forecaster.values == [10.0] * 4 + [50.0]


def test_after_a_long_gap_the_forecaster_is_reset():
    outlook = Outlook(Linear(window=30.0), gap=60.0)
    for time in range(0, 60, 5):
        outlook.observe(float(time), float(time))
    assert outlook.ahead(15) is not None
    outlook.observe(131.0, 7.0)  # the last sample was at 55 s
    assert outlook.ahead(15) is None
    assert outlook.forecaster == Linear(window=30.0)
    outlook.observe(146.0, 7.0)
    assert outlook.ahead(15).mean == (7.0,)


def test_a_clock_that_goes_back_drops_the_open_step_only():
    outlook = observed((1000.0, 10.0), (1015.0, 20.0), (1016.0, 30.0), (500.0, 5.0), (510.0, 7.0), (515.0, 1.0))
    assert outlook.forecaster.values == [10.0, 6.0]
    assert outlook.recent(60.0) == (5.0 + 7.0 + 1.0) / 3


def test_recent_is_the_mean_of_the_last_samples():
    outlook = observed((0.0, 10.0), (5.0, 20.0), (10.0, 60.0))
    assert outlook.recent(10.0) == 40.0  # (20 + 60) / 2: a sample exactly ten seconds old is excluded
    assert outlook.recent(0.0) == 60.0
    assert Outlook(LastValue()).recent(10.0) is None


def test_ahead_covers_the_seconds():
    outlook = Outlook(LastValue())
    assert outlook.ahead(60) is None
    for time in (0.0, 15.0):
        outlook.observe(time, 8.0)
    assert len(outlook.ahead(61).mean) == 5
    assert len(outlook.ahead(0).mean) == 1


def test_retrain_is_passed_on_to_forecasters_that_have_it():
    outlook = Outlook(Arima())
    for time in range(0, 3000, 15):
        outlook.observe(float(time), 100.0 + time % 50)
    outlook.retrain()
    assert outlook.forecaster._search is not None
    Outlook(LastValue()).retrain()


def test_memory_keeps_samples_and_forecaster():
    outlook, restored = Outlook(), Outlook()
    for time in range(700):
        outlook.observe(float(time), 100.0 + time % 30)
    recall(restored, json.loads(json.dumps(memory(outlook))))
    for time in range(700, 900):
        outlook.observe(float(time), 50.0)
        restored.observe(float(time), 50.0)
    assert outlook.ahead(900) == restored.ahead(900)
    assert outlook.recent(60) == restored.recent(60)
