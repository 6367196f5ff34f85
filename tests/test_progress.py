"""Rates, backlog and latency from batches; by hand, with the arithmetic beside it."""

import pytest

from tidegate.core import Batch
from tidegate.progress import ProgressLog


def batch(planned: float, finished: float, begin: float, end: float, id: int = 0) -> Batch:
    return Batch(id, planned, finished, begin, end)


def planned(log: ProgressLog, *points: tuple[float, float | None]) -> ProgressLog:
    for time, arrived in points:
        log.plan(time, arrived)
    return log


def test_the_arrival_rate_needs_two_points() -> None:
    log = ProgressLog()
    assert log.arrival_rate is None
    assert planned(log, (0, 100)).arrival_rate is None
    assert planned(log, (2, 300)).arrival_rate == 100


def test_the_arrival_rate_is_over_the_youngest_span_that_is_as_long_as_the_window() -> None:
    log = planned(ProgressLog(window=5), (0, 0), (7, 700), (10, 1300), (15, 3000))
    assert log.arrival_rate == 340  # from 10 s, exactly 5 s before: (3000 - 1300) / 5
    planned(log, (16, 3100))
    assert log.arrival_rate == 300  # from 10 s, since 15 s is too near: (3100 - 1300) / 6


def test_rates_are_over_five_and_fifteen_seconds_by_default() -> None:
    log = planned(ProgressLog(), (0, 0), (5, 100), (10, 1100))
    assert log.arrival_rate == 200  # from 5 s: 1000 / 5
    log.finish(batch(0, 5, 0, 500))
    log.finish(batch(5, 20, 500, 2000, id=1))
    assert log.processing_rate == 100  # from 5 s: 1500 / 15
    log.finish(batch(20, 21, 2000, 2016, id=2))
    assert log.processing_rate == 94.75  # still from 5 s, since 20 s is too near: 1516 / 16


def test_the_arrival_rate_is_over_all_there_is_where_that_is_shorter_than_the_window() -> None:
    assert planned(ProgressLog(window=5), (1, 50), (2, 100), (4, 350)).arrival_rate == 100  # (350 - 50) / 3


def test_a_planning_that_does_not_know_what_arrived_leaves_everything_as_it_is() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (12, None))
    assert log.arrival_rate == 100
    log.finish(batch(10, 11, 0, 1000))
    assert log.backlog(12) == 200  # 2 s at 100/s since 10 s


def test_two_plannings_at_one_time_count_once() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (10, 4000))
    assert log.arrival_rate == 100


def test_a_single_report_of_fewer_records_is_not_believed() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (20, 700))
    assert log.arrival_rate == 0  # 1000 at 10 s and at 20 s
    planned(log, (30, 1500))
    assert log.arrival_rate == 50  # (1500 - 1000) / 10


def test_a_report_far_ahead_is_dropped_once_two_reports_contradict_it() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (20, 9_000_000), (30, 3000), (40, 4000))
    assert log.arrival_rate == 100  # 1000 at 10 s, 4000 at 40 s; what was doubted once is left out
    planned(log, (50, 5000))
    assert log.arrival_rate == 100
    planned(log, (60, 4800))
    assert log.arrival_rate == 0  # the doubt begins anew: a single report is not believed


def test_a_time_far_ahead_is_dropped_once_two_reports_contradict_it() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (9e9, 2000), (20, 2000), (30, 3000))
    assert log.arrival_rate == 100  # 1000 at 10 s, 3000 at 30 s


def test_two_doubts_must_follow_each_other() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (20, 900), (30, 3000), (40, 2900))
    assert log.arrival_rate == 0  # 3000 at 30 s and at 40 s


def test_an_idle_time_ends_the_rate_before_it() -> None:
    log = planned(ProgressLog(window=5), (0, 0), (10, 1000))
    log.idle = 20
    assert log.arrival_rate == 0  # 1000 at 10 s and at 20 s
    log.idle = 12
    assert log.arrival_rate == pytest.approx(1000 / 12)  # from 0 s: 10 s is too near
    planned(log, (30, 2000))
    assert log.idle is None
    # 1000 at 12 s, when the source was seen to have nothing more
    assert log.arrival_rate == pytest.approx(1000 / 18)


def test_an_idle_time_that_is_over_or_not_reached_changes_nothing() -> None:
    log = planned(ProgressLog(window=5), (0, 0), (10, 1000))
    log.idle = 5  # before the last planning
    assert log.arrival_rate == 100
    log.idle = 40
    planned(log, (20, 2000))  # planned before that
    assert log.arrival_rate == 100


def test_a_source_that_was_only_seen_idle_has_a_rate_of_none_arriving() -> None:
    log = planned(ProgressLog(), (0, 500))
    log.idle = 0
    assert log.arrival_rate is None  # no time has passed
    log.idle = 4
    assert log.arrival_rate == 0


def test_the_processing_rate_is_from_the_first_planning_to_the_last_end_over_the_smoothing() -> None:
    log = ProgressLog(smoothing=10)
    assert log.processing_rate is None
    log.finish(batch(2, 4, 100, 500))
    assert log.processing_rate == 200  # 400 in the 2 s of the only batch
    log.finish(batch(4, 8, 500, 1300))
    assert log.processing_rate == 200  # (1300 - 100) / 6
    log.finish(batch(8, 14, 1300, 2500))
    assert log.processing_rate == 200  # from 4 s: (2500 - 500) / 10
    log.finish(batch(14, 20, 2500, 6500))
    assert log.processing_rate == pytest.approx(5200 / 12)  # from 8 s, as 14 s is too near


def test_of_batches_that_end_at_one_time_the_later_counts() -> None:
    log = ProgressLog()
    log.finish(batch(0, 10, 0, 1000))
    log.finish(batch(5, 10, 1000, 3000, id=1))
    assert log.processing_rate == 300  # 3000 in 10 s
    assert log.batch is not None
    assert log.batch.id == 1


def test_after_a_clock_that_was_set_back_the_rate_is_of_what_came_since() -> None:
    log = ProgressLog()
    log.finish(batch(0, 10, 0, 1000))
    log.finish(batch(9000, 9010, 1000, 2000, id=1))
    log.finish(batch(20, 30, 2000, 4000, id=2))
    assert log.trigger is None  # unknown, not negative
    assert log.processing_rate == 150  # 1000 at 10 s, 4000 at 30 s


def test_after_a_clock_that_was_set_back_before_all_that_is_known_the_last_batch_stands_alone() -> None:
    log = ProgressLog()
    log.finish(batch(9000, 9010, 0, 1000))
    log.finish(batch(20, 30, 1000, 3000, id=1))
    assert log.processing_rate == 200  # 2000 in the 10 s from its planning


def test_a_count_that_went_back_is_followed() -> None:
    log = ProgressLog()
    log.finish(batch(0, 10, 0, 1000))
    log.finish(batch(10, 20, 1000, 9000, id=1))
    log.finish(batch(20, 30, 1000, 3000, id=2))
    assert log.processing_rate == 100  # 1000 at 10 s, 3000 at 30 s


def test_the_pause_is_from_the_end_of_a_batch_to_the_planning_of_the_next() -> None:
    log = ProgressLog()
    log.finish(batch(10, 13, 0, 100, id=4))
    assert log.pause is None
    log.finish(batch(20, 24, 100, 200, id=5))
    assert log.pause == 7
    log.finish(batch(23, 29, 200, 300, id=6))
    assert log.pause == 0  # not -1: clocks are good to a fraction of a second
    log.finish(batch(40, 44, 300, 400, id=8))
    assert log.pause is None  # the one before it was missed


def test_the_trigger_is_from_planning_to_planning_and_the_cycle_at_least_as_long_as_the_batch() -> None:
    log = ProgressLog()
    assert log.cycle is None
    log.finish(batch(10, 13, 0, 100))
    assert (log.trigger, log.duration, log.cycle) == (None, 3, 3)
    log.finish(batch(18, 20, 100, 200, id=1))
    assert (log.trigger, log.duration, log.cycle) == (8, 2, 8)
    log.finish(batch(20, 29, 200, 300, id=2))
    assert (log.trigger, log.duration, log.cycle) == (2, 9, 9)
    log.finish(batch(20, 20, 300, 300, id=3))
    assert (log.trigger, log.duration, log.cycle) == (None, 0, None)


def test_a_duration_that_is_known_better_than_by_the_clock_is_taken() -> None:
    log = ProgressLog()
    log.finish(batch(10, 13, 0, 100), took=2.5)
    assert (log.duration, log.cycle) == (2.5, 2.5)


def test_the_backlog_is_unknown_until_something_was_planned_and_finished() -> None:
    log = planned(ProgressLog(), (10, 1000))
    assert log.backlog(10) is None
    log.finish(batch(10, 12, 0, 400))
    assert log.backlog(10) == 600
    assert log.backlog(15) == 600  # at what rate more arrive is not known
    alone = ProgressLog()
    alone.finish(batch(10, 12, 0, 400))
    assert alone.backlog(10) is None


def test_the_backlog_grows_at_the_arrival_rate_or_at_one_that_is_given() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000))
    log.finish(batch(0, 5, 0, 700))
    assert log.backlog(9) == log.backlog(10) == 300
    assert log.backlog(13) == 600  # 3 s at 100/s
    assert log.backlog(13, rate=10.0) == 330
    assert log.backlog(13, rate=0.0) == 300


def test_the_backlog_of_a_query_that_waits_for_records_is_none_from_then_on() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000))
    log.finish(batch(10, 12, 0, 1000))
    log.idle = 20
    assert log.backlog(18, rate=50.0) == 0
    assert log.backlog(22, rate=50.0) == 100  # 2 s since it was seen idle
    log.idle = 5
    assert log.backlog(12, rate=50.0) == 100  # an idle time before the planning is over


def test_the_backlog_is_never_negative() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000))
    log.finish(batch(10, 12, 0, 1500))  # more than had arrived when it was planned
    assert log.backlog(10) == 0
    assert log.backlog(12) == 0  # 1000 + 200 - 1500
    assert log.backlog(17) == 200  # 1000 + 700 - 1500


def test_latency_is_by_the_arrivals_between_which_the_first_record_came() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (20, 3000), (30, 3000))
    log.finish(batch(30, 34, 500, 900))
    assert log.latency == 29  # record 500 came at 5 s
    log.finish(batch(30, 36, 1500, 1600, id=1))
    assert log.latency == 23.5  # record 1500 came at 12.5 s
    log.finish(batch(30, 36, 1000, 1600, id=2))
    assert log.latency == 26  # record 1000 is the first after 10 s
    log.finish(batch(30, 37, 3000, 3100, id=3))
    assert log.latency == 7  # record 3000 came after 30 s at the earliest, as far as is known
    log.finish(batch(30, 38, 3050, 3100, id=4))
    assert log.latency == 8


def test_a_record_from_before_the_first_point_is_as_old_as_that() -> None:
    log = planned(ProgressLog(), (10, 1000), (20, 2000))
    log.finish(batch(20, 25, 200, 900))
    assert log.latency == 15


def test_latency_of_no_records_is_unknown_and_of_a_clock_ahead_is_none() -> None:
    log = planned(ProgressLog(), (10, 1000))
    assert log.latency is None
    log.finish(batch(10, 12, 400, 400))
    assert log.latency is None
    log.finish(Batch(1, 12, 14, 400, 500, times=(15.0, 16.0)))
    assert log.latency == 0
    log.finish(Batch(2, 14, 18, 500, 600, times=(15.5, 16.0)))
    assert log.latency == 2.5
    log.finish(batch(4, 6, 1000, 1100, id=3))  # finished before anything had arrived
    assert log.latency == 0


def test_the_oldest_arrivals_are_forgotten() -> None:
    log = planned(ProgressLog(window=100, points=3), (0, 0), (10, 1000), (20, 4000), (30, 7000))
    assert log.arrival_rate == 300  # from 10 s: (7000 - 1000) / 20
    log.finish(batch(30, 31, 500, 1000))
    assert log.latency == 21  # record 500 counts as come at 10 s, the oldest that is known


def test_five_thousand_arrivals_and_five_hundred_ends_are_kept_by_default() -> None:
    log = ProgressLog(window=1e9, smoothing=1e9)
    for second in range(5001):
        log.plan(second, second or -1e6)
        log.finish(batch(second, second + 1, second, second + 1, id=second))
    assert log.arrival_rate == 1  # the first point has just been forgotten
    assert len(log._arrived) == 5000
    assert len(log._finished) == 500


def test_what_is_forgotten_leaves_nothing_behind() -> None:
    log = planned(ProgressLog(), (0, 0), (10, 1000), (20, 900))
    log.finish(batch(10, 12, 0, 400))
    log.idle = 30
    log.forget()
    assert log == ProgressLog()
    assert (log.arrival_rate, log.processing_rate, log.backlog(99), log.latency, log.cycle) == (None,) * 5
