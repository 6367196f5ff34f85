import numpy as np

from tidegate.score import Cumulative, Finished, RunTrace
from tidegate.score.recovery import Recovering, Recovery, normal, recovery

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


def test_normal_is_what_was_finished_in_the_five_minutes_before() -> None:
    times, ages = np.array([99.9, 100.0, 250.0, 399.9, 400.0]), np.array([90.0, 4.0, 6.0, 8.0, 90.0])
    assert normal(times, ages, failure=400.0) == 1.5 * 6.0
    assert normal(times[1:2], ages[1:2], failure=400.0) == 6.0
    # nothing before, or nothing slow
    assert normal(times[:1], ages[:1], failure=400.0) == normal(times, np.zeros(5), failure=400.0) == 2.0


def spell(due: float, finished: float, limit: float = 5.0) -> tuple[Finished, np.ndarray]:
    """A portion whose first record is overdue from `due` until it is finished."""
    return Finished(np.array([finished]), np.zeros(1), np.ones(1)), np.array([due - limit])


def test_what_gets_overdue_later_has_another_reason() -> None:
    failed = Recovering.of(100.0, limit=5.0)
    # until 20 s after a record that came at the failure would be overdue, and then until 20 s after the last that was
    assert failed.after(*spell(125.0, 140.0)).recovered == 140.0
    assert failed.after(*spell(125.1, 140.0)).recovered == 100.0
    assert failed.after(*spell(110.0, 140.0)).after(*spell(160.0, 170.0)).recovered == 170.0
    assert failed.after(*spell(110.0, 140.0)).after(*spell(160.1, 170.0)).recovered == 140.0
    # the end of an earlier portion takes nothing back
    assert failed.after(*spell(110.0, 140.0)).after(*spell(112.0, 120.0)).recovered == 140.0


def test_what_was_finished_by_the_failure_or_in_time_is_not_overdue() -> None:
    failed = Recovering.of(100.0, limit=5.0)
    assert failed.after(*spell(90.0, 100.0)).recovered == 100.0
    assert failed.after(*spell(110.0, 110.0)).recovered == 100.0
    assert failed.after(*spell(90.0, 101.0)).recovered == 101.0


def test_it_must_stay_normal_for_20_seconds() -> None:
    recovering = Recovering.of(100.0, limit=5.0).after(*spell(110.0, 140.0))
    assert [recovering.by(end).seconds for end in (159.9, 160.0, 300.0)] == [None, 40.0, 40.0]


def test_it_is_over_when_no_record_to_come_can_be_late_because_of_it() -> None:
    failed = Recovering.of(100.0, limit=5.0)
    # overdue by 125 s at the latest; five minutes later that is certain
    assert [failed.after(*spell(due, due)).over for due in (425.0, 425.1)] == [False, True]
    over = failed.after(*spell(500.0, 500.0))
    assert over.after(*spell(110.0, 140.0)) is over
