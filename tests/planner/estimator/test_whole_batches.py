import pytest

from tidegate.core import Batch
from tidegate.planner.estimator.phases import Measurement
from tidegate.planner.estimator.whole_batches import measurement


def steady(number: int, took: float = 3.0) -> Batch:
    """Every 4 s the 400 records of the last 4 s."""
    return Batch(number, 4.0 * number, 4.0 * number + took, 400.0 * (number - 1), 400.0 * number, 400.0 * number)


def test_a_query_that_keeps_up_shows_exactly_the_offered_rate() -> None:
    # durations vary, and the last batch has just ended
    batches = [steady(k, took) for k, took in enumerate([3.0, 2.5, 3.5, 2.0, 3.9, 3.0], start=1)]
    result = measurement(batches, begin=4.0, end=27.0, offered_rate=100.0)
    assert result.processed_rate == 100
    assert (result.backlog_begin, result.backlog_end) == (400, 400)
    assert result.seconds == 23
    # waited 4 s: (7 + 6.5 + 7.5) / 3 and (6 + 7.9 + 7) / 3
    assert result.latency_begin == pytest.approx(7)
    assert result.latency_end == pytest.approx(20.9 / 3)


def test_of_an_overload_what_was_processed_and_what_waits() -> None:
    # 500 records in 5 s each, of 200 that arrive in a second
    batches = [Batch(k, 5.0 * k, 5.0 * k + 5, 500.0 * k, 500.0 * (k + 1), 1000.0 * k + 500) for k in range(6)]
    result = measurement(batches, begin=0.0, end=30.0, offered_rate=200.0)
    assert result.processed_rate == 100
    # 500 in the first batch; 5500 - 2500 before the last
    assert (result.backlog_begin, result.backlog_end) == (500, 3000)
    assert result.latency_end == pytest.approx(((2000 + 2500 + 3000) / 200 + 15) / 3)


def test_only_batches_within_the_observation_count() -> None:
    batches = [Batch(0, 0.0, 1.0, 0.0, 9000.0, 9000.0), *[steady(k) for k in range(24, 30)]]
    assert measurement(batches, begin=100.0, end=111.5, offered_rate=100.0).processed_rate == 100
    # one that has not ended is not seen
    assert measurement(batches, begin=100.0, end=107.1, offered_rate=100.0).backlog_end == 400


def test_long_batches_are_measured_from_the_one_before() -> None:
    batches = [Batch(0, 0.0, 40.0, 0.0, 4000.0, 4000.0), Batch(1, 40.0, 70.0, 4000.0, 7000.0, 8000.0)]
    # 4000 records in the 40 s from planning to planning
    assert measurement(batches, begin=60.0, end=75.0, offered_rate=100.0).processed_rate == 100


def test_without_a_batch_that_ended_nothing_is_known() -> None:
    batches = [steady(1), steady(2)]
    assert measurement(batches, begin=20.0, end=30.0, offered_rate=100.0) == Measurement(10.0, 100.0)
    assert measurement(batches[:1], begin=0.0, end=10.0, offered_rate=100.0) == Measurement(10.0, 100.0)
    assert measurement([], begin=0.0, end=10.0, offered_rate=100.0) == Measurement(10.0, 100.0)


def test_arrivals_may_be_unknown() -> None:
    batches = [Batch(k, 4.0 * k, 4.0 * k + 3, 400.0 * k, 400.0 * (k + 1)) for k in range(5)]
    result = measurement(batches, begin=0.0, end=20.0, offered_rate=100.0)
    assert result.processed_rate == 100
    assert (result.backlog_begin, result.backlog_end, result.latency_begin, result.latency_end) == (None,) * 4


def test_two_batches_of_the_same_time_show_no_rate() -> None:
    batches = [Batch(0, 5.0, 6.0, 0.0, 10.0), Batch(1, 5.0, 7.0, 10.0, 20.0)]
    assert measurement(batches, begin=0.0, end=10.0, offered_rate=2.0).processed_rate is None
