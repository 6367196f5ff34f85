import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.recovery import by_spare_capacity, by_terms, offered
from tidegate.capacity.watch import RecoveryWatch
from tidegate.core import Forecast, Observation

RISING = Forecast(15, (60.0, 80.0, 100.0, 100.0))


def test_what_waits_is_worked_off_by_the_capacity_that_the_load_leaves_over() -> None:
    # 30 s down: 15 x 60 + 15 x 80 = 2100 more to the 400; then (120 - 100) x 30 = 600 until the forecast's end
    # at 60 s, and 1900 left at 20/s: 95 s more
    assert by_spare_capacity(120, RISING, waiting=400, downtime=30) == pytest.approx(60 + 1900 / 20)
    # nothing to do and no downtime: recovered at once
    assert by_spare_capacity(120, RISING, waiting=0, downtime=0) == 0


def test_spare_capacity_of_a_moment_does_not_go_negative() -> None:
    falling = Forecast(10, (200.0, 50.0))
    # 100 wait; for 10 s the load is above capacity: nothing is left over; then 50/s: 2 s
    assert by_spare_capacity(100, falling, waiting=100, downtime=0) == pytest.approx(12)


def test_never_is_infinite_and_not_cut_off() -> None:
    assert by_spare_capacity(100, RISING, waiting=5000, downtime=10) == math.inf
    assert by_terms(100, RISING, before=0, downtime=30) == math.inf
    assert by_terms(0, RISING, before=0, downtime=30) == math.inf


def test_phoebe_s_terms_beyond_the_forecast_are_a_geometric_sequence() -> None:
    level = Forecast(10, (50.0,))
    # c0 = (0 + 50 x 10) / 100 = 5; the next begins at 10 s, the end of the forecast: 5 x 0.5 / (1 - 0.5) = 5; 10 + 10
    assert by_terms(100, level, before=0, downtime=10) == pytest.approx(20)


def test_both_ways_agree_where_the_load_is_level() -> None:
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
    for way in (by_spare_capacity, by_terms):
        slow, fast = way(capacity, ahead, waiting, downtime), way(capacity * more, ahead, waiting, downtime)
        # terms end below a second: that much may be left out
        assert downtime <= fast or way is by_spare_capacity
        assert fast <= slow + 2 + 1e-6 * min(slow, 1e12)


def test_records_offered_between_two_moments() -> None:
    assert offered(RISING, 0, 60) == 15 * (60 + 80 + 100 + 100)
    assert offered(RISING, 10, 20) == 5 * 60 + 5 * 80
    assert offered(RISING, 90, 100) == 10 * 100  # beyond the end: as at the end
    assert offered(RISING, 20, 10) == 0


def watched(watch: RecoveryWatch, begin: int, end: int, processed: float) -> None:
    for t in range(begin, end):
        watch.update(Observation(t, 1, 1, arrival_rate=100 + 4 * (t % 2), processing_rate=processed))


def test_catching_up_is_as_unusual_as_standing_still() -> None:
    watch = RecoveryWatch()
    watched(watch, 0, 100, 102)  # -2 and +2 about a mean of 0: a deviation of 2
    watch.begin(100)
    watched(watch, 100, 110, 0)
    watched(watch, 110, 130, 150)
    assert watch.running
    assert watch.measured is None
    watched(watch, 130, 200, 102)
    assert not watch.running
    # -48 of second 129 is in the means until second 138: (9 x ~0 - 48) / 10 is beyond 2; 38 s after second 100
    assert watch.measured == 38


def test_what_waits_tells_what_the_steps_of_throughput_hide() -> None:
    watch = RecoveryWatch()

    def seen(begin: int, end: int, backlog: float) -> None:
        for t in range(begin, end):
            jitter = 100.0 + 40 * (t % 4 - 1.5)  # throughput in steps: a deviation of 45/s
            now = Observation(t, 1, 1, arrival_rate=100.0, processing_rate=jitter, backlog=backlog + 50 * (t % 4))
            watch.update(now)

    seen(0, 100, backlog=400)  # 4 to 5.5 s of arrivals, a deviation of 0.56 s
    watch.begin(100)
    seen(100, 125, backlog=900)
    seen(125, 200, backlog=400)
    # one second of 9 s or more among ten lifts their mean by 0.5 s, two by 1 s, which is more than 0.56 s: the last ten
    # with two of them are 123 to 132
    assert watch.measured == 32


def test_without_a_normal_state_nothing_is_unusual() -> None:
    watch = RecoveryWatch()
    watch.begin(0)
    watched(watch, 0, 40, 0)
    assert watch.measured == 0


def test_it_gives_up_where_the_clock_jumps_or_nothing_recovers() -> None:
    watch = RecoveryWatch(patience=50)
    watched(watch, 0, 100, 102)
    watch.begin(100)
    watched(watch, 100, 160, 0)
    assert not watch.running
    assert watch.measured is None
