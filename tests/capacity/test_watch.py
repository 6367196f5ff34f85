"""Measured recovery times: what counts as an observation, and when a measurement ends."""

from tidegate.capacity.watch import RecoveryWatch
from tidegate.core import Observation


def normal(watch: RecoveryWatch, seconds: int = 60, start: int = 0) -> None:
    """Rates that are apart by -1, 0 or 1."""
    for t in range(start, start + seconds):
        watch.update(Observation(t, 1, 1, arrival_rate=100 + t % 3, processing_rate=101))


def test_observations_without_a_rate_say_nothing() -> None:
    watch = RecoveryWatch()
    normal(watch)
    watch.begin(60)
    for t in range(60, 200):
        watch.update(Observation(t, 1, 1, arrival_rate=100.0))
        watch.update(Observation(t, 1, 1, processing_rate=100.0, backlog=5000.0))
    assert watch.running
    assert watch.measured is None


def test_a_recovery_without_an_anomaly_takes_no_time_and_ends_after_the_quiet() -> None:
    watch = RecoveryWatch()
    normal(watch)
    watch.begin(60)
    normal(watch, 30, start=60)
    assert watch.running  # until 89 s
    normal(watch, 1, start=90)
    assert (watch.running, watch.measured) == (False, 0)


def test_fewer_observations_than_thirty_are_no_normal_state() -> None:
    for seconds, measured in ((29, 0), (30, 23)):
        watch = RecoveryWatch()
        normal(watch, seconds)
        watch.begin(seconds)
        for t in range(seconds, seconds + 90):
            rate = 0 if t < seconds + 15 else 101
            watch.update(Observation(t, 1, 1, arrival_rate=101, processing_rate=rate))
        assert watch.measured == measured


def test_a_high_backlog_is_an_anomaly_and_a_low_one_is_not() -> None:
    for backlog, measured in ((9000.0, 48), (0.0, 0)):
        watch = RecoveryWatch()
        for t in range(60):
            rate = 100.0 + t % 3
            watch.update(Observation(t, 1, 1, arrival_rate=rate, processing_rate=101, backlog=1000.0 + t % 5))
        watch.begin(60)
        for t in range(60, 200):
            now = backlog if t < 100 else 1002.0  # that of 99 s counts until 108 s
            watch.update(Observation(t, 1, 1, arrival_rate=101, processing_rate=101, backlog=now))
        assert watch.measured == measured
