"""Where a query is held up, and how fast its lag grows."""

from dataclasses import replace

import pytest

from tidegate.core import Batch, Observation
from tidegate.policies.bottleneck import Lag, cycle, growth, ordinary, resized, roots, sources_lag
from tidegate.policies.operators import Operator


def op(name: str, *upstream: str, rate_in: float | None = None, rate_out: float | None = None) -> Operator:
    return Operator(name, upstream, 1.0, rate_in, rate_out, None, None, None, None)


def test_of_two_branches_the_longer_one_counts_for_the_depth() -> None:
    # a -> b -> d -> e and a -> c -> e: e is behind d, whichever way it is reached
    graph = [op("a"), op("b", "a"), op("c", "a"), op("d", "b"), op("e", "c", "d")]
    assert roots(graph, held_up={"a", "c", "d"}, lagging=()) == ("e", "b")
    assert roots(graph, held_up={"a"}, lagging={"a"}) == ("b", "c")  # a source that is held up is no root
    assert roots(graph, held_up=(), lagging={"a"}) == ("a",)


def test_a_cycle_ends() -> None:
    assert set(roots([op("a", "b"), op("b", "a")], held_up={"a"}, lagging=())) == {"b"}


def test_the_lag_is_split_by_what_sources_take_in() -> None:
    two = [op("a", rate_in=300.0), op("b", rate_out=100.0), op("c", "a")]
    assert sources_lag(two, (), 80.0) == {"a": 60, "b": 20}
    assert sources_lag([op("a", rate_in=0.0), op("b")], (), 80.0) == {"a": 40, "b": 40}  # nothing is known: evenly
    assert sources_lag(two, {"b"}, 80.0) == {}
    assert sources_lag(two, {"c"}, 80.0) == {"a": 60, "b": 20}


@pytest.mark.parametrize(
    ("trigger", "took", "isolated", "seconds"),
    [(5.0, 3.0, False, 5), (3.0, 5.0, False, 5), (None, 4.0, False, 4), (None, None, False, 0), (5.0, 3.0, True, 0)],
)
def test_a_cycle_is_the_longer_of_trigger_and_batch(
    trigger: float | None, took: float | None, isolated: bool, seconds: float
) -> None:
    obs = Observation(0, 1, 1, 100.0, trigger=trigger, batch_duration=took, isolated=isolated)
    assert cycle(obs) == seconds
    assert ordinary(obs) == pytest.approx(1.1 * 100 * seconds)
    assert ordinary(replace(obs, arrival_rate=None)) == 0


def seen(time: float, backlog: float | None, *, ended: float | None = None, rate: float = 10.0) -> Observation:
    """A batch every 5 s."""
    batches = () if ended is None else (Batch(0, ended - 5, ended, 0, 1),)
    return Observation(time, 1, 1, rate, 10.0, backlog, trigger=5.0, batch_duration=5.0, batches=batches)


def test_on_spark_the_lag_is_that_at_the_end_of_a_batch() -> None:
    lag = Lag()
    lag.update(seen(12, 120.0, ended=10), age=60)
    assert lag.last == 100  # 20 have arrived since
    lag.update(seen(13, 130.0), age=60)
    lag.update(seen(20, 200.0), age=60)  # ten seconds without an end are not long
    assert lag.last == 100
    lag.update(seen(20.5, 205.0), age=60)  # two cycles and more are
    assert lag.last == 205
    lag.update(seen(21, 300.0, ended=20), age=60)  # it ended before what was taken for it
    assert (lag.last, lag.slope) == (290, 19)  # (290 - 100) / 10


def test_a_lag_is_never_negative_and_an_unknown_one_is_left_out() -> None:
    lag = Lag()
    lag.update(seen(12, 5.0, ended=10), age=60)
    assert lag.last == 0
    lag.update(seen(17, None, ended=15), age=60)
    assert lag.last == 0


def test_a_batch_that_ends_later_than_now_has_just_ended() -> None:
    lag = Lag()
    lag.update(seen(10, 100.0, ended=12), age=60)
    assert lag.last == 100


def test_what_is_too_old_is_not_known_any_more() -> None:
    lag = Lag()
    lag.update(seen(10, 100.0, ended=10), age=60)
    lag.update(seen(69.9, None), age=60)
    assert lag.last == 100
    lag.update(seen(70, None), age=60)
    assert lag.last is None


def test_before_the_first_batch_every_observation_counts() -> None:
    lag = Lag()
    for time in (0, 3):
        lag.update(seen(time, 10.0 * time), age=60)
    assert lag.slope == 10


def test_what_was_seen_before_the_first_batch_does_not_count() -> None:
    lag = Lag()
    lag.update(seen(0, 500.0), age=60)
    assert lag.last == 500
    lag.update(seen(6, 100.0, ended=6), age=60)
    assert (lag.last, lag.slope) == (100, None)


def test_a_slope_is_over_three_batches_at_least() -> None:
    lag = Lag()
    for time, backlog in [(0, 1000.0), (5, 0.0), (10, 50.0), (15, 100.0)]:
        lag.update(seen(time, backlog, ended=time), age=1)
    assert lag.slope == 10  # of the last 15 s, in which the first is no more
    lag.update(seen(30, 7.0, ended=30), age=1)
    assert (lag.last, lag.slope) == (7, None)  # nothing for 15 s: from the beginning


def test_a_clock_that_goes_back_begins_anew() -> None:
    lag = Lag()
    lag.update(seen(100, 50.0, ended=100), age=60)
    lag.update(seen(10, 70.0, ended=10), age=60)
    assert (lag.last, lag.slope) == (70, None)


def test_before_the_second_sample_the_rates_tell() -> None:
    lag = Lag()
    assert growth(lag, Observation(0, 1, 1, arrival_rate=90.0, processing_rate=50.0)) == 40
    assert growth(lag, Observation(0, 1, 1, arrival_rate=90.0)) is None
    assert growth(lag, Observation(0, 1, 1, processing_rate=90.0)) is None
    for time in (0, 5):
        lag.update(seen(time, 20.0 * time, ended=time), age=60)
    assert growth(lag, Observation(5, 1, 1, arrival_rate=90.0, processing_rate=50.0)) == 20


@pytest.mark.parametrize(
    ("running", "requested", "factor", "wished"),
    [
        (4, 4, 1.5, 6),
        (4, 4, 1.0, 4),
        (4, 6, 1.5, None),  # 6 are on their way
        (4, 6, 1.25, None),
        (4, 6, 1.0, None),
        (4, 6, 1.75, 7),
        (4, 6, 0.75, 3),
        (6, 4, 1.0, None),
        (6, 4, 0.66, None),
        (6, 4, 0.5, 3),
        (6, 4, 1.1, 7),
    ],
)
def test_what_is_on_its_way_is_waited_for(running: int, requested: int, factor: float, wished: int | None) -> None:
    decision = resized(Observation(0, running, requested), factor, "growing", {})
    assert decision.executors == (requested if wished is None else wished)
    assert decision.reason.startswith("hold") == (wished is None)
