import numpy as np

from tidegate.score import Cumulative, Finished, RunTrace
from tidegate.score.recovery import Recovery, recovery

#: 10 records/s, for as long as any test lasts
ARRIVALS = Cumulative(np.array([0.0, 10_000.0]), np.array([0.0, 100_000.0]))


def trace(finished: list[tuple[float, float]], failures: tuple[float, ...], until: float) -> RunTrace:
    """Portions by when they were done and how old their oldest record was; each ends where the next begins."""
    times, ages = np.array(finished, dtype=float).T
    begins = 10 * (times - ages)
    ends = np.append(begins[1:], 10 * until)
    ticks = np.array([0.0, until])
    return RunTrace(ARRIVALS, Finished(times, begins, ends), ticks, ticks, ticks, until, failures=failures)


def steady(begin: int, end: int, age: float = 10) -> list[tuple[float, float]]:
    """A portion every 5 s."""
    return [(time, age) for time in range(begin, end, 5)]


def test_an_outage_lasts_until_records_are_as_young_as_before() -> None:
    # normal is 1.5 x 10 s; nothing is done from 395 to 460, then 70, 40, 14 s: normal after what was done at 465
    run = trace([*steady(10, 400), (460, 70), (465, 40), *steady(470, 600, 14)], (400.0,), until=600)
    assert recovery(run) == [Recovery(at=400.0, seconds=65.0)]


def test_short_spells_are_bridged_and_longer_ones_end_it() -> None:
    # too old (30 s) at 430 and at 460: that record is overdue from 445 on, 15 s after 430, so still the same
    run = trace([*steady(10, 400), (430, 30), *steady(435, 460), (460, 30), *steady(465, 700)], (400.0,), until=700)
    assert recovery(run) == [Recovery(400.0, 60.0)]
    # at 490 the next: overdue from 475 on, 45 s after 430: another matter
    run = trace([*steady(10, 400), (430, 30), *steady(435, 490), (490, 30), *steady(495, 700)], (400.0,), until=700)
    assert recovery(run) == [Recovery(400.0, 30.0)]


def test_a_failure_that_nobody_notices_takes_no_time() -> None:
    assert recovery(trace(steady(10, 600), (400.0,), until=600)) == [Recovery(400.0, 0.0)]


def test_trouble_long_after_has_other_reasons() -> None:
    # overdue from 515 on; a failure at 400 would show by 400 + 15 + 20
    run = trace([*steady(10, 500), (550, 50), *steady(555, 700)], (400.0,), until=700)
    assert recovery(run) == [Recovery(400.0, 0.0)]


def test_up_to_two_seconds_are_normal() -> None:
    run = trace([*steady(10, 400, 0.5), (400, 1.9), *steady(405, 500, 0.5)], (399.0,), until=500)
    assert recovery(run) == [Recovery(399.0, 0.0)]


def test_no_recovery_before_the_next_failure_or_the_end() -> None:
    # 60 s at 450, when it fails again; 80 s at 500, well from then on
    run = trace([*steady(10, 400), (450, 60), (500, 80), *steady(505, 600)], (400.0, 450.0), until=600)
    assert recovery(run) == [Recovery(400.0, None), Recovery(450.0, 50.0)]
    assert recovery(trace([*steady(10, 400), (450, 60)], (400.0,), until=460)) == [Recovery(400.0, None)]


def test_what_is_never_done_is_never_well() -> None:
    times = np.arange(10.0, 400, 5)
    done = Finished(times, 10 * (times - 10), 10 * (times - 5))
    ticks = np.array([0.0, 1000.0])
    run = RunTrace(ARRIVALS, done, ticks, ticks, ticks, 1000.0, failures=(400.0,))
    assert recovery(run) == [Recovery(400.0, None)]


def test_lost_records_do_not_stand_in_the_way() -> None:
    run = trace(steady(50, 600), (400.0,), until=600)  # the first portion begins with record 400
    assert recovery(run) == [Recovery(400.0, 0.0)]


def test_without_failures_there_is_nothing_to_tell() -> None:
    assert recovery(trace(steady(10, 100), (), until=100)) == []
