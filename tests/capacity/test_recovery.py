import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.recovery import by_spare_capacity, by_terms, expected_records
from tidegate.capacity.watch import RecoveryWatch
from tidegate.core import Forecast, Observation

RISING = Forecast(15, (60.0, 80.0, 100.0, 100.0))


def test_the_backlog_is_processed_with_the_spare_capacity() -> None:
    # 30 s down: 15 x 60 + 15 x 80 = 2100 more to the 400; then (120 - 100) x 30 = 600 until the forecast's end
    # at 60 s, and 1900 left at 20/s: 95 s more
    assert by_spare_capacity(120, RISING, waiting=400, downtime=30) == pytest.approx(60 + 1900 / 20)
    # nothing to do and no downtime: recovered at once
    assert by_spare_capacity(120, RISING, waiting=0, downtime=0) == 0


def test_spare_capacity_is_never_negative() -> None:
    falling = Forecast(10, (200.0, 50.0))
    # a backlog of 100; no spare capacity for 10 s, then 50/s: 2 s
    assert by_spare_capacity(100, falling, waiting=100, downtime=0) == pytest.approx(12)


def test_a_query_that_never_catches_up_takes_infinite_time() -> None:
    assert by_spare_capacity(100, RISING, waiting=5000, downtime=10) == math.inf
    assert by_terms(100, RISING, before=0, downtime=30) == math.inf
    assert by_terms(0, RISING, before=0, downtime=30) == math.inf


def test_phoebe_s_terms_beyond_the_forecast_are_a_geometric_sequence() -> None:
    level = Forecast(10, (50.0,))
    # c0 = (0 + 50 x 10) / 100 = 5; the next begins at 10 s, the end of the forecast: 5 x 0.5 / (1 - 0.5) = 5; 10 + 10
    assert by_terms(100, level, before=0, downtime=10) == pytest.approx(20)


def test_both_methods_agree_under_constant_load() -> None:
    level = Forecast(3600, (60.0,))
    # 1000 + 60 x 20 = 2200 at 40/s: 55 s after the 20
    assert by_spare_capacity(100, level, waiting=1000, downtime=20) == pytest.approx(75)
    # the terms stop below one second: at most 0.6 / (1 - 0.6) of one short
    assert 75 - 1.5 <= by_terms(100, level, before=1000, downtime=20) <= 75


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=20),
    st.floats(0, 1e6),
    st.floats(0, 600),
    st.floats(1, 1e6),
    st.floats(1, 2),
)
def test_more_capacity_never_recovers_later(
    mean: list[float], waiting: float, downtime: float, capacity: float, more: float
) -> None:
    ahead = Forecast(15, tuple(mean))
    for method in (by_spare_capacity, by_terms):
        slow, fast = method(capacity, ahead, waiting, downtime), method(capacity * more, ahead, waiting, downtime)
        # terms end below a second: that much may be left out
        assert downtime <= fast or method is by_spare_capacity
        assert fast <= slow + 2 + 1e-6 * min(slow, 1e12)


def test_a_backlog_may_end_within_the_forecast() -> None:
    # 10 s down: 600; then 5 s at 120 - 60: 300, and 15 s at 120 - 80: 600, of which 300 are needed: 7.5 s
    assert by_spare_capacity(120, RISING, waiting=0, downtime=10) == pytest.approx(15 + 7.5)
    # 300 are just what 5 s can do
    assert by_spare_capacity(120, Forecast(15, (60.0, 500.0)), waiting=-300, downtime=10) == pytest.approx(15)
    # nothing left after a downtime beyond the forecast, and no spare capacity
    assert by_spare_capacity(100, Forecast(10, (100.0,)), waiting=-1000, downtime=10) == 10


def test_at_full_capacity_only_nothing_is_worked_off() -> None:
    full = Forecast(10, (100.0,))
    assert by_spare_capacity(100, full, waiting=0, downtime=0) == 0
    assert by_spare_capacity(100, full, waiting=-999.5, downtime=10) == math.inf  # half a record is left
    assert by_terms(0.5, Forecast(1000, (0.0,)), before=1, downtime=0) == 2  # however small the capacity


def test_phoebe_s_terms_end_below_a_second() -> None:
    level = Forecast(1000, (50.0,))
    assert by_terms(100, level, before=100, downtime=0) == 1.5  # 1 and 0.5
    assert by_terms(100, level, before=99, downtime=0) == 0.99
    # at full capacity the terms stay as they are, beyond the forecast for ever
    assert by_terms(100, Forecast(10, (100.0,)), before=100, downtime=10) == math.inf


def test_expected_records_between_two_times() -> None:
    assert expected_records(RISING, 0, 60) == 15 * (60 + 80 + 100 + 100)
    assert expected_records(RISING, 10, 20) == 5 * 60 + 5 * 80
    assert expected_records(RISING, 90, 100) == 10 * 100  # beyond the horizon: the last value
    assert expected_records(RISING, 20, 10) == 0


def observe(watch: RecoveryWatch, begin: int, end: int, processed: float) -> None:
    for t in range(begin, end):
        watch.update(Observation(t, 1, 1, arrival_rate=100 + 4 * (t % 2), processing_rate=processed))


def test_catching_up_is_an_anomaly_too() -> None:
    watch = RecoveryWatch()
    observe(watch, 0, 100, 102)  # -2 and +2 about a mean of 0: a deviation of 2
    watch.begin(100)
    observe(watch, 100, 110, 0)
    observe(watch, 110, 130, 150)
    assert watch.running
    assert watch.measured is None
    observe(watch, 130, 200, 102)
    assert not watch.running
    # -48 of second 129 is in the means until second 138: (9 x ~0 - 48) / 10 is beyond 2; 38 s after second 100
    assert watch.measured == 38


def test_the_backlog_reveals_what_throughput_hides() -> None:
    watch = RecoveryWatch()

    def run(begin: int, end: int, backlog: float) -> None:
        for t in range(begin, end):
            jitter = 100.0 + 40 * (t % 4 - 1.5)  # throughput in steps: a deviation of 45/s
            obs = Observation(t, 1, 1, arrival_rate=100.0, processing_rate=jitter, backlog=backlog + 50 * (t % 4))
            watch.update(obs)

    run(0, 100, backlog=400)  # 4 to 5.5 s of arrivals, a deviation of 0.56 s
    watch.begin(100)
    run(100, 125, backlog=900)
    run(125, 200, backlog=400)
    # one second of 9 s or more among ten lifts their mean by 0.5 s, two by 1 s, which is more than 0.56 s: the last ten
    # with two of them are 123 to 132
    assert watch.measured == 32


def test_without_a_normal_state_there_are_no_anomalies() -> None:
    watch = RecoveryWatch()
    watch.begin(0)
    observe(watch, 0, 40, 0)
    assert watch.measured == 0


def test_an_hour_is_waited_for_a_recovery() -> None:
    watch = RecoveryWatch()
    observe(watch, 0, 100, 102)
    watch.begin(100)
    for time, running in [(3699.0, True), (3700.0, False)]:
        watch.update(Observation(time, 1, 1, arrival_rate=100.0, processing_rate=0.0))
        assert watch.running == running
    assert watch.measured is None


def test_thirty_quiet_seconds_end_a_recovery() -> None:
    watch = RecoveryWatch()
    observe(watch, 0, 100, 102)
    watch.begin(100)
    observe(watch, 100, 130, 102)
    assert watch.running
    observe(watch, 130, 131, 102)
    assert (watch.running, watch.measured) == (False, 0)


@pytest.mark.parametrize(("samples", "known"), [(29, False), (30, True)])
def test_what_is_normal_is_known_from_thirty_observations(samples: int, known: bool) -> None:
    watch = RecoveryWatch()
    observe(watch, 0, samples, 102)
    watch.begin(samples)
    observe(watch, samples, samples + 20, 0)
    observe(watch, samples + 20, samples + 100, 102)
    assert (watch.measured == 0) != known


def test_a_measurement_without_recovery_is_abandoned() -> None:
    watch = RecoveryWatch(patience=50)
    observe(watch, 0, 100, 102)
    watch.begin(100)
    observe(watch, 100, 160, 0)
    assert not watch.running
    assert watch.measured is None
