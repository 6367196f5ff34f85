import json
from collections.abc import Sequence
from itertools import count

import pytest

from tidegate.core import Decision, ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall
from tidegate.policies.flink_operator import DelayedScaleDown, Evaluation, FlinkOperator


def short(**others: float) -> FlinkOperator:
    """Decides 60 s after a rescale, about the 60 s since; without restarts, and gives back at once."""
    durations = {"metrics_window": 60.0, "stabilization_interval": 0.0, "restart_time": 0.0, "scale_down_interval": 0.0}
    return FlinkOperator(**{**durations, **others})  # type: ignore[arg-type]


def seen(
    time: float, rate: float | None, busy: Sequence[float | None], *, lag: float = 0, arrival: float | None = None
) -> Observation:
    samples = tuple(ExecutorSample(str(k), busy=share) for k, share in enumerate(busy))
    n = len(busy)
    return Observation(time, n, n, arrival, rate, lag, per_executor=samples)


def decided(policy: FlinkOperator, shown: Sequence[Observation]) -> Decision:
    for obs in shown:
        policy.observe(obs)
    return policy.decide(shown[-1])


def steady(rate: float, busy: Sequence[float], *, lag: float = 0, until: int = 60) -> list[Observation]:
    return [seen(second, rate, busy, lag=lag) for second in range(until + 1)]


def test_executors_are_needed_capacity_over_true_rate() -> None:
    # true rate 1000 / 0.5 = 2000, capacity(0.7) = 1000 / 0.7 = 1429, factor 0.714, ceil(0.714 * 4) = 3;
    # the bounds are capacity(1.0) = 1000 and capacity(0.4) = 2500, and 2000 lies between
    wish = decided(short(), steady(1000, [0.5] * 4))
    assert (wish.executors, wish.reason) == (4, "hold: 1000 of 2000 records/s, 50%, which is within bounds")
    # true rate 1000 / 0.2 = 5000, which is above 2500: factor 0.286, but 0.4 at least; ceil(0.4 * 4) = 2
    wish = decided(short(), steady(1000, [0.2] * 4))
    assert (wish.executors, wish.reason) == (2, "1000 of 5000 records/s, 20%: 4 -> 2")
    assert wish.evidence == pytest.approx({"target_rate": 1000, "lag": 0, "utilisation": 0.2, "true_rate": 5000})
    # where everything may be given back at once: ceil(0.286 * 4) = 2 as well, and of 8 ceil(2.29) = 3
    assert decided(short(scale_down_max_factor=1.0), steady(1000, [0.2] * 8)).executors == 3


def test_the_busiest_executor_counts_unless_told_otherwise() -> None:
    uneven = steady(1000, [1.0, 0.5])
    # rate 1000 + 1800/1800 for the lag is beyond any true rate of 1000: capacity(0.7) = 1429, ceil(1.43 * 2) = 3
    late = [seen(second, 1000, [1.0, 0.5], lag=1800) for second in range(61)]
    assert decided(short(), late).executors == 3
    assert decided(short(), uneven).evidence["true_rate"] == pytest.approx(1000)
    other = FlinkOperator(metrics_window=60, stabilization_interval=0, busy_aggregator="avg")
    assert decided(other, uneven).evidence["true_rate"] == pytest.approx(1000 / 0.75)


def test_lag_and_restart_are_to_be_caught_up_in_time() -> None:
    policy = FlinkOperator(catch_up_duration=1800, restart_time=300)
    # 36000/1800 + 900*300/1800 + 900/0.9
    assert policy.capacity(900, 36_000, 0.9) == pytest.approx(20 + 150 + 1000)
    assert policy.capacity(900, 36_000, 0.9, restart=False) == pytest.approx(20 + 1000)
    assert FlinkOperator(catch_up_duration=0).capacity(900, 36_000, 0.9) == pytest.approx(1000)
    assert policy.capacity(900, 0, 1.3) == pytest.approx(150 + 900)  # no more than all of the time
    assert policy.capacity(900, 0, 0.0) == float("inf")


def test_the_target_rate_is_what_is_processed_and_what_the_lag_grows() -> None:
    # 1000/s processed, the lag grows by 500/s: 1500/s; from the first part's beginning at 1 s to 60 s
    growing = [seen(second, 1000, [1.0] * 2, lag=500 * second) for second in range(61)]
    wish = decided(short(catch_up_duration=0), growing)
    assert wish.evidence["target_rate"] == pytest.approx(1500)
    assert wish.executors == 5  # true rate 1000: factor 1500/0.7/1000 = 2.14, ceil(4.29)
    shrinking = [seen(second, 1000, [1.0] * 2, lag=90_000 - 1500 * second) for second in range(61)]
    assert decided(short(), shrinking).evidence["target_rate"] == 0


def test_the_arrival_rate_stands_for_it_where_it_is_known() -> None:
    shown = [seen(second, 1000, [1.0] * 2, lag=500 * (second % 10), arrival=1200) for second in range(61)]
    assert decided(short(), shown).evidence["target_rate"] == pytest.approx(1200)


def test_under_a_lag_the_observed_rate_replaces_a_busy_time_that_tells_too_little() -> None:
    # busy time says 1000 / 0.5 = 2000, more than 1.15 * 1000, under a lag of 30 s
    behind = steady(1000, [0.5] * 2, lag=30_000)
    assert decided(short(), behind).evidence["true_rate"] == pytest.approx(1000)
    assert decided(short(), steady(1000, [0.5] * 2, lag=29_999)).evidence["true_rate"] == pytest.approx(2000)
    # 1000 / 0.9 = 1111 is less than 1150
    assert decided(short(), steady(1000, [0.9] * 2, lag=30_000)).evidence["true_rate"] == pytest.approx(1111.1, abs=0.1)
    assert decided(short(min_observations=61), behind).evidence["true_rate"] == pytest.approx(2000)  # 60 are kept
    assert decided(short(min_observations=60), behind).evidence["true_rate"] == pytest.approx(1000)


def test_with_a_lag_threshold_of_zero_the_observed_rate_is_always_the_true_rate() -> None:
    # busy time says 1000 / 0.5 = 2000, more than 1.15 * 1000; a lag of 0 s is one already
    wish = decided(short(lag_threshold=0.0), steady(1000, [0.5] * 2))
    assert wish.evidence["true_rate"] == pytest.approx(1000)


def test_a_backlog_is_in_seconds_of_what_is_processed() -> None:
    def backlog(lag: float, rate: float) -> float:
        return Evaluation(workers=1, rate=rate, rate_out=0.0, true_rate=9.0, target_rate=9.0, lag=lag).backlog

    assert (backlog(1.0, 2.0), backlog(0.0, 0.0), backlog(-5.0, 2.0)) == (0.5, 0, 0)
    assert backlog(1.0, 0.0) == float("inf")


def test_what_was_never_busy_could_do_anything() -> None:
    wish = decided(short(), steady(1000, [0.0] * 4))
    assert "true_rate" not in wish.evidence
    assert wish.executors == 2  # as few as may be at once


def test_what_waits_within_a_cycle_of_batches_is_no_lag() -> None:
    shown = [
        Observation(s, 1, 1, 1000.0, 1000.0, 85_000.0, trigger=30, batch_duration=25, per_executor=(busy,))
        for s in range(61)
        for busy in [ExecutorSample("1", busy=0.5)]
    ]
    # 85 s of input wait, but 55 s always do under this trigger: 30 s are a lag, and one record less would be none
    assert decided(short(), shown).evidence["true_rate"] == pytest.approx(1000)
    less = [
        Observation(o.time, 1, 1, 1000.0, 1000.0, 84_999.0, None, 30, 25, per_executor=o.per_executor) for o in shown
    ]
    assert decided(short(), less).evidence["true_rate"] == pytest.approx(2000)


def test_while_a_backlog_is_worked_off_nothing_is_given_back() -> None:
    # 301 s of input wait: bounds 0 and 1, and 1000/0.2 = 5000 is no reason to go down
    policy = short(lag_threshold=1e9)
    wish = decided(policy, steady(1000, [0.2] * 4, lag=301_000))
    assert (wish.executors, wish.reason) == (
        4,
        "hold: 1000 of 5000 records/s, 20%, 301 s behind, which is within bounds",
    )
    # 300 s are no reason yet: 0.4 * 4, as above
    assert decided(short(lag_threshold=1e9), steady(1000, [0.2] * 4, lag=300_000)).executors == 2
    # capacity(1.0) = 301000/1800 + 1000 = 1167 is more than the true rate 1000/1: up, to ceil(2 * (167 + 1429) / 1000)
    assert decided(short(), steady(1000, [1.0] * 2, lag=301_000)).executors == 4


def test_nothing_is_decided_before_the_window_is_full_and_a_rescale_starts_it_anew() -> None:
    policy = FlinkOperator(metrics_window=60, stabilization_interval=30, scale_down_interval=0)
    for second in range(90):
        obs = seen(second, 1000, [0.1] * 4)
        policy.observe(obs)
    assert policy.decide(obs).reason == "hold: the metrics window is full in 1 s"
    later = seen(90, 1000, [0.1] * 4)
    assert decided(policy, [later]).executors == 2
    assert decided(policy, [seen(91, 1000, [0.2] * 2)]).reason == "hold: the metrics window is full in 90 s"


def test_fewer_are_taken_after_an_hour_of_wishes_and_then_the_most_of_them() -> None:
    policy = short(scale_down_interval=100.0, metrics_window=10.0)
    # the window is full at 10 s: wishes 2 of 8 (0.4 * 8 is 4 at least), with a wish for 5 in between
    shown = [seen(s, 1000, [0.1 if s < 50 or s >= 70 else 0.4] * 8) for s in range(110)]
    wish = decided(policy, shown)
    assert wish.executors == 8
    assert wish.reason == "hold: 1000 of 10000 records/s, 10%, fewer wished for 99 of 100 s"
    # 1000/0.4 = 2500, factor 1429/2500 = 0.571, ceil(4.57) = 5 at 60..69 s, within the last 100 s
    assert decided(policy, [seen(110, 1000, [0.1] * 8)]).executors == 5
    # at 180 s all wishes of the last 100 s were for 4
    assert decided(policy, [seen(s, 1000, [0.1] * 8) for s in range(111, 181)]).executors == 4


def test_a_wish_for_as_many_ends_the_wait() -> None:
    policy = short(scale_down_interval=100.0, metrics_window=10.0)
    wish = decided(policy, [seen(s, 1000, [0.1 if s != 50 else 5.0] * 8) for s in range(115)])
    # the second of 500 % makes the window's mean (9 * 0.1 + 5) / 10 = 0.59 from 50 to 59 s: factor 0.84, ceil(6.7) = 7
    assert wish.executors == 7
    policy = short(scale_down_interval=100.0, metrics_window=10.0)
    wish = decided(policy, [seen(s, 1000, [0.1 if s != 50 else 9.0] * 8) for s in range(115)])
    # (9 * 0.1 + 9) / 10 = 0.99: factor 1.41, so nothing fewer until 60 s
    assert wish.reason == "hold: 1000 of 10000 records/s, 10%, fewer wished for 54 of 100 s"


def test_a_wish_for_exactly_as_many_ends_the_wait_too() -> None:
    policy = short(scale_down_interval=100.0, metrics_window=10.0)
    # 1000/0.69 = 1449: factor 0.986, ceil(7.9) = 8, which is what there is; at 70 s, ceil(7.2) still is
    wish = decided(policy, [seen(s, 1000, [0.69 if 50 <= s < 70 else 0.1] * 8) for s in range(115)])
    assert wish.reason == "hold: 1000 of 10000 records/s, 10%, fewer wished for 43 of 100 s"


def test_a_delayed_scale_down_keeps_the_largest_wishes_only() -> None:
    delay = DelayedScaleDown(since=0)
    for time, workers in [(0, 3), (1, 5), (2, 2), (3, 4), (4, 1)]:
        delay.add(time, workers, age=10)
    assert list(delay.peaks) == [(1, 5), (3, 4), (4, 1)]
    delay.add(12, 1, age=10)  # 1 is 11 s ago
    assert list(delay.peaks) == [(3, 4), (12, 1)]


def test_without_input_as_much_is_given_back_as_allowed() -> None:
    wish = decided(short(), steady(0, [0.0] * 8))
    assert (wish.executors, wish.reason) == (4, "no input: 8 -> 4")  # the true rate has no bound: ceil(0.4 * 8)


def test_the_scalability_coefficient_asks_for_more() -> None:
    policy = short(scalability_observations=2)
    clock = count()
    for size, rate in [(2, 1000.0), (4, 1800.0)]:
        for _ in range(62):
            policy.observe(seen(next(clock), rate, [1.0] * size))
    shown = [seen(next(clock), 2400.0, [1.0] * 6, arrival=2600) for _ in range(62)]
    # seen (2, 1000) and (4, 1800): (2*1000 + 4*1800) / ((4 + 16) * 500) = 9200 / 10000 = 0.92
    # 2600/0.7/2400 = 1.548; / 0.92 = 1.682; ceil(6 * 1.682) = 11, without the coefficient ceil(9.29) = 10
    assert decided(policy, shown).executors == 11


def test_isolated_operators_get_workers_of_their_own() -> None:
    def job(time: float) -> Observation:
        stages = (
            OperatorSample("read", (), 2, rate_in=1000, rate_out=1000, busy=1.0, backpressured=0.0),
            OperatorSample("map", ("read",), 2, rate_in=1000, rate_out=500, busy=2.0),
            OperatorSample("count", ("map",), 4, rate_in=500, rate_out=0, busy=0.4),
        )
        return Observation(time, 8, 8, processing_rate=1000, backlog=100 * time, operators=stages, isolated=True)

    wish = decided(short(catch_up_duration=0), [job(second) for second in range(61)])
    # target rates 1000 + 100 of lag = 1100, 1100 * 1000/1000, 1100 * 500/1000 = 550
    # true rates 1000/(1.0/2) = 2000, 1000/(2.0/2) = 1000, 500/(0.4/4) = 5000; read 1571/2000 = 0.786: ceil(1.57) = 2,
    # map 1571/1000: ceil(3.14) = 4, count 786/5000 = 0.157, 0.4 at least: ceil(1.6) = 2
    assert wish.per_operator == {"read": 2, "map": 4, "count": 2}
    assert (wish.executors, wish.reason) == (8, "map: 1100 of 1000 records/s, 110%: count, map change")


def test_joins_take_what_their_inputs_put_out() -> None:
    def job(time: float) -> Observation:
        stages = (
            OperatorSample("a", (), 1, rate_in=100, rate_out=50, busy=0.5),
            OperatorSample("b", (), 1, rate_in=300, rate_out=300, busy=0.5),
            OperatorSample("join", ("a", "b"), 1, rate_in=350, busy=0.7),
        )
        return Observation(time, 3, 3, processing_rate=400, backlog=40 * time, operators=stages, isolated=True)

    # the lag grows by 40/s, 10 of it at a and 30 at b: 110 * 50/100 + 330 * 300/300 = 385 of 350/0.7 = 500
    wish = decided(short(catch_up_duration=0), [job(second) for second in range(61)])
    assert wish.evidence["target_rate"] == pytest.approx(385)
    assert wish.evidence["true_rate"] == pytest.approx(500)


def test_unknown_figures_mean_hold() -> None:
    policy = short()
    unknown = [seen(second, None, [None]) for second in range(61)]
    assert decided(policy, unknown).reason == "hold: rate or busy time is not known"
    none = [Observation(second, 0, 2, processing_rate=5.0) for second in range(61)]
    assert decided(short(), none).reason == "hold: rate or busy time is not known"


def test_executors_that_are_all_gone_mean_hold_although_one_was_busy() -> None:
    busy = ExecutorSample("1", busy=0.5)
    gone = [Observation(second, 0, 2, processing_rate=1000.0, per_executor=(busy,)) for second in range(61)]
    wish = decided(short(), gone)
    assert (wish.executors, wish.reason) == (2, "hold: rate or busy time is not known")


def test_the_window_is_kept_in_sixty_parts_however_often_it_is_observed() -> None:
    # 120 s in parts of 2 s: those from 122 s to 240 s
    policy = short(metrics_window=120.0)
    decided(policy, steady(1000, [0.5] * 2, until=240))
    assert [part.time for part in policy._parts["query"]] == [2.0 * k for k in range(61, 121)]


def test_figures_older_than_the_window_are_forgotten() -> None:
    policy = short(scale_down_interval=100.0)
    decided(policy, steady(1000, [0.2] * 4, until=100))
    gap = [seen(second, None, [0.2] * 4) for second in range(101, 161)]
    assert decided(policy, gap).reason == "hold: rate or busy time is not known"
    again = decided(policy, [seen(second, 1000, [0.2] * 4) for second in range(161, 200)])
    assert again.reason == "hold: 1000 of 5000 records/s, 20%, fewer wished for 38 of 100 s"  # from 161 on


def test_the_busy_time_of_stages_stands_in_for_that_of_executors() -> None:
    stages = (OperatorSample("stage 0", busy=0.6), OperatorSample("stage 1", busy=0.4))
    shown = [Observation(s, 4, 4, processing_rate=1000, operators=stages) for s in range(61)]
    assert decided(short(), shown).evidence["true_rate"] == pytest.approx(4000)  # (0.6 + 0.4) / 4 = 0.25


def test_a_clock_that_jumps_starts_the_window_anew() -> None:
    for jump in (-1000.0, 1000.0):
        policy = short()
        assert decided(policy, steady(1000, [0.2] * 4)).executors == 2
        wish = decided(policy, [seen(60 + jump, 1000, [0.2] * 4)])
        assert wish.reason == "hold: the metrics window is full in 60 s"


def test_its_memory_goes_through_json_and_stays_small() -> None:
    policy = FlinkOperator(stabilization_interval=0, scalability_observations=3)
    for second in range(10_000):
        policy.observe(seen(second, 1000, [0.1 + second % 7 / 10] * (2 + (second > 5000)), lag=second))
    text = json.dumps(memory(policy))
    assert len(text) < 20_000
    assert recall(FlinkOperator(stabilization_interval=0, scalability_observations=3), json.loads(text)) == policy


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"policy flink-operator: need 0 < target <= 1, got 7"):
        FlinkOperator(target=7)
    with pytest.raises(InvalidInput, match=r"need 0 < scalability-minimum <= 1, got 1\.5"):
        FlinkOperator(scalability_minimum=1.5)
    with pytest.raises(InvalidInput, match=r"need busy-aggregator to be one of max, avg, min, got 'mean'"):
        FlinkOperator(busy_aggregator="mean")
